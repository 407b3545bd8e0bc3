package core_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/observer"
)

// canary has what encoders treat in their own way.
const canary = `CANARY-7f3a "q"&<x>é'z`

// watcher keeps everything that a screen would be given.
type watcher struct {
	collect
	mu   sync.Mutex
	live bytes.Buffer
}

func (w *watcher) Delta(_ int64, _ int, _, _, text string) { w.add([]byte(text)) }

func (w *watcher) Output(_ int64, _, _ int, _ string, chunk []byte) { w.add(chunk) }

func (w *watcher) add(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live.Write(p)
}

// talker streams its answers in small pieces before it gives them whole.
type talker struct{ *turns }

func (m talker) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	a, err := m.turns.Complete(ctx, req, call)
	for _, p := range a.Parts {
		text := p.Text + p.Arguments
		for at := 0; at < len(text); at += 3 {
			call.Delta(p.Kind, text[at:min(at+3, len(text))])
		}
	}
	return a, err
}

// denier denies every question with a reason that holds the secret.
type denier struct{}

func (denier) Surface() string { return "test" }
func (denier) Decide(context.Context, approval.Request) (approval.Decision, error) {
	return approval.Decision{Answer: approval.Deny, Reason: "not with " + canary}, nil
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// spelt lists the secret as tools, people and models write it.
func spelt(t *testing.T) map[string]string {
	return map[string]string{
		"plain": canary, "json": asJSON(t, canary), "json twice": asJSON(t, asJSON(t, canary)), "html": html.EscapeString(canary),
		"base64": base64.StdEncoding.EncodeToString([]byte("x" + canary)), "base64 url": base64.RawURLEncoding.EncodeToString([]byte("xy" + canary)),
		"hex": hex.EncodeToString([]byte(canary)), "hex upper": strings.ToUpper(hex.EncodeToString([]byte(canary))), "percent": url.PathEscape(canary), "query": url.QueryEscape(canary),
	}
}

// A known secret reaches neither model nor store, recording, trace, events or live text, whatever way it comes in.
func TestSecretsReachNothing(t *testing.T) {
	for name, secret := range spelt(t) {
		if testing.Short() && name != "plain" {
			continue
		}
		t.Run(name, func(t *testing.T) { everyWayIn(t, secret) })
	}
}

func everyWayIn(t *testing.T, secret string) {
	r := newRig(t)
	red := redactor(canary)
	dir := filepath.Join(r.dir, "runs.db")
	must(t, r.store.Close())
	r.store = openStore(t, dir, db.Options{Clean: func(s string) string { s, _ = red.String(s); return s }})
	file := strings.ReplaceAll(secret, "/", "_") // only the encodings without a slash hold the secret as a name
	r.write("seen.txt", "before "+secret+" after\nand more\n")
	r.write("AGENTS.md", "The key is "+secret+"\n")
	r.write("names/"+file, "x")
	must(t, os.Symlink("/nonexistent/"+file, filepath.Join(r.ws, "link")))
	r.write("echo.sh", "cat seen.txt\ncat seen.txt >&2\ncp seen.txt made-"+"$(ls names | head -1)\n")
	sh := `{"argv":["sh","echo.sh"]}`
	args := asJSON(t, map[string]string{"path": "out.txt", "content": secret})
	leak := func(req provider.Request) (provider.Answer, error) {
		a, err := say("I found " + secret)(req)
		a.Parts = append([]provider.Part{{Kind: provider.PartThinking, Text: "hmm " + secret, Signature: "sig " + secret}}, a.Parts...)
		a.Parts = append(a.Parts,
			provider.Part{Kind: provider.PartCall, ID: "id " + secret, Name: "tool " + secret, Arguments: `{}`},
			provider.Part{Kind: provider.PartCall, ID: "w", Name: "write_file", Arguments: args},
			provider.Part{Kind: provider.PartCall, ID: "e", Name: "exec", Arguments: asJSON(t, map[string]any{"argv": []string{"echo", secret}})},
			provider.Part{Kind: provider.PartCall, ID: "f", Name: "fetch", Arguments: asJSON(t, map[string]any{"url": "https://host.example/?k=" + url.QueryEscape(secret)})})
		a.Stop, a.Finish, a.Model, a.Served = provider.StopCalls, "calls "+secret, "model "+secret, "served "+secret
		return a, err
	}
	model := talker{answers(
		calls([2]string{"read_file", `{"path":"seen.txt"}`}, [2]string{"grep", `{"pattern":"before"}`}, [2]string{"list", `{"path":"names"}`},
			[2]string{"find", `{"glob":"*"}`}, [2]string{"read_file", `{"path":"link"}`}),
		calls([2]string{"helper", `{}`}, [2]string{"broken", `{}`}, [2]string{"exec", sh}, [2]string{"edit", `{"path":"seen.txt","old":"and more","new":"and less"}`}),
		leak,
		say("done, "+secret),
		func(provider.Request) (provider.Answer, error) {
			return provider.Answer{}, &provider.Error{Kind: provider.Auth, Provider: "turns", Message: "key " + secret + " is wrong", Finish: secret, Model: secret}
		},
	)}
	helper := secretTool{name: "helper", about: "helps with " + secret, run: func() (tool.Result, error) { return tool.Result{Text: "got " + secret}, nil }}
	broken := secretTool{name: "broken", about: "breaks", run: func() (tool.Result, error) { return tool.Result{}, errors.New("no " + secret) }}
	seen := &watcher{}
	c := quick(r.contract())
	c.Goal, c.Constraints = "find "+secret, []string{"never say " + secret}
	c.Gates = []gate.Gate{{Argv: []string{"sh", "-c", "cat seen.txt; exit 1"}}}
	allowing := &policy.Policy{Layers: []policy.Layer{{Name: "test", Rules: []policy.Rule{
		{Act: policy.Exec, Effect: policy.Allow, Match: []string{"helper"}}, {Act: policy.Exec, Effect: policy.Allow, Match: []string{"broken"}},
	}}}}
	approver := approval.Approver(approval.All{})
	res, err := r.engine(model, core.WithPolicy(allowing), core.WithObserver(seen), core.WithRedactor(red), core.WithApprover(approver), core.WithTools(helper, broken)).Run(context.Background(), c)
	must(t, err)
	if _, err := os.Stat(filepath.Join(r.ws, "out.txt")); err == nil {
		t.Error("a call that carries a secret ran")
	}
	if seen.live.Len() == 0 || len(model.asked) != 5 {
		t.Fatalf("the run did not go all its ways: %s, %d calls", res.Message, len(model.asked))
	}
	// A second run is denied and cancelled with the secret in the reasons.
	second := answers(call("write_file", `{"path":"b","content":"b"}`), say("done"))
	res2, err := r.engine(second, core.WithRedactor(red), core.WithApprover(denier{}), core.WithObserver(seen)).Run(context.Background(), r.contract())
	must(t, err)
	third, err := r.engine(answers(call("write_file", `{"path":"b","content":"b"}`)), core.WithRedactor(red), core.WithApprover(approval.Later{})).Run(context.Background(), r.contract())
	must(t, err)
	_, _, err = r.store.Control(context.Background(), db.Control{RunID: third.RunID, Kind: "cancel", Reason: "stop " + secret, Body: secret, By: db.Here("test")})
	must(t, err)
	clean := func(what, text string) {
		t.Helper()
		if red.Holds(text) || strings.Contains(text, canary) {
			t.Errorf("%s holds the secret", what)
		}
	}
	for _, id := range []int64{res.RunID, res2.RunID} {
		rec, err := core.Recording(context.Background(), r.store, id)
		must(t, err)
		must(t, rec.Save(filepath.Join(r.dir, "recording.json")))
		b, err := os.ReadFile(filepath.Join(r.dir, "recording.json"))
		must(t, err)
		clean("the recording", string(b))
		clean("the trace", r.trace(id))
	}
	for _, ev := range seen.events {
		b, err := ev.MarshalJSON()
		must(t, err)
		clean("event "+ev.Kind.Tag(), string(b))
	}
	clean("live text", seen.live.String())
	clean("the outcome", res.Message)
	for _, req := range append(model.asked, second.asked...) {
		clean("a request", string(req.Canonical()))
	}
	entries, err := os.ReadDir(r.dir)
	must(t, err)
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(r.dir, e.Name()))
		must(t, err)
		clean(e.Name(), string(b))
	}
}

// secretTool is a registered tool.
type secretTool struct {
	name, about string
	run         func() (tool.Result, error)
}

func (s secretTool) Spec() tool.Spec {
	return tool.Spec{Name: s.name, Description: s.about, Schema: json.RawMessage(`{"type":"object","description":` + string(mustJSON(s.about)) + `}`), Safety: tool.Pure, Reach: tool.ReachNone}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func (s secretTool) Plan(_ context.Context, _ tool.Env, args json.RawMessage) (tool.Plan, error) {
	return tool.Plan{Action: policy.Action{Act: policy.Exec, Argv: []string{s.name}, Tool: true}, Target: s.name, Args: args}, nil
}

func (s secretTool) Run(context.Context, tool.Env, tool.Plan) (tool.Result, error) { return s.run() }

// What cannot be hidden without meaning something else is refused, naming the field.
func TestAContractThatHoldsASecretIsRefused(t *testing.T) {
	for field, change := range map[string]func(*core.Contract){
		"gates":    func(c *core.Contract) { c.Gates = []gate.Gate{{Argv: []string{"curl", "-H", "key: " + canary}}} },
		"model":    func(c *core.Contract) { c.Model = canary },
		"key":      func(c *core.Contract) { c.Key = canary },
		"provider": func(c *core.Contract) { c.Provider.BaseURL = "https://u:" + url.QueryEscape(canary) + "@host.example" },
	} {
		r := newRig(t)
		c := r.contract()
		change(&c)
		_, err := r.engine(answers(say("hi")), core.WithRedactor(redactor(canary))).Run(context.Background(), c)
		var wrong *core.ContractError
		if !errors.As(err, &wrong) || wrong.Field != field || strings.Contains(err.Error(), "CANARY-7f3a") {
			t.Errorf("%s: %v", field, err)
		}
		if _, err := r.store.LastRun(context.Background()); err == nil {
			t.Errorf("%s: a run exists", field)
		}
	}
}

var _ observer.Live = (*watcher)(nil)

// Where a tool cuts a text, half of a secret is not known any more: it goes before.
func TestNoCutLeavesHalfOfASecret(t *testing.T) {
	r := newRig(t)
	red := redactor(canary)
	r.write("wide.js", strings.Repeat("x", 390)+" "+canary+" grepped\n")
	r.write("long.txt", strings.Repeat("z", 256<<10-10)+canary+"\n")
	r.write("loud.sh", "yes | head -c $((512 * 1024 - 42)); cat long.txt wide.js; yes | head -c $((4096 * 1024))\n")
	model := answers(calls([2]string{"grep", `{"pattern":"grepped"}`}, [2]string{"read_file", `{"path":"long.txt"}`}, [2]string{"exec", `{"argv":["sh","loud.sh"]}`}), say("done"))
	_, err := r.engine(model, core.WithRedactor(red), core.WithApprover(approval.All{})).Run(context.Background(), quick(r.contract()))
	must(t, err)
	text := string(model.asked[1].Canonical())
	if strings.Contains(text, canary[:6]) || !strings.Contains(text, "… [") || !strings.Contains(text, "only its first") {
		t.Errorf("half of the secret, or not what was meant: %.3000q", text)
	}
}

// A result shows the mark of a secret, and a model writes down what it was shown: nothing is done with a mark, which would
// take the place of the secret that stands there, known or found by its shape.
func TestNoMarkTakesTheSecretsPlace(t *testing.T) {
	for name, secret := range map[string]string{
		"known": canary, "userinfo": "postgres://app:hunter2@db.example/x", "token": "ghp_0123456789abcdefghij0123",
	} {
		r := newRig(t)
		file := "url = " + secret + "\nsize = 1\n"
		r.write("app.conf", file)
		red := redactor(canary)
		shown, n := red.String(file)
		if n == 0 {
			t.Fatal(name)
		}
		for _, text := range []string{shown, file} { // as it was shown, and as a model would write it by itself
			args, err := json.Marshal(map[string]string{"path": "app.conf", "content": strings.Replace(text, "size = 1", "size = 2", 1)})
			must(t, err)
			model := answers(calls([2]string{"read_file", `{"path":"app.conf"}`}), calls([2]string{"write_file", string(args)}), say("done"))
			_, err = r.engine(model, core.WithRedactor(red), core.WithApprover(approval.All{})).Run(context.Background(), quick(r.contract()))
			must(t, err)
			if got := r.read("app.conf"); got != file {
				t.Errorf("%s: the file became %q", name, got)
			}
			if told := string(model.asked[2].Canonical()); !strings.Contains(told, "an argument holds a secret") {
				t.Errorf("%s: the model is not told why: %.2000q", name, told)
			}
		}
	}
}
