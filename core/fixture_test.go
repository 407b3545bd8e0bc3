package core_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"tillerman/core"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/provider/script"
	"tillerman/core/redact"
	"tillerman/db"
	"tillerman/db/canonical"
	"tillerman/observer"
	"tillerman/recordings"
)

// rig is a store, a workspace and what an engine needs.
type rig struct {
	t     *testing.T
	dir   string
	store *db.Store
	ws    string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, dir: dir, ws: filepath.Join(dir, "ws")}
	must(t, os.Mkdir(r.ws, 0o755))
	r.store = openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
	return r
}

func openStore(t *testing.T, path string, opts db.Options) *db.Store {
	t.Helper()
	s, err := db.Open(context.Background(), path, opts)
	must(t, err)
	t.Cleanup(func() {
		_ = s.Close()
		if again, err := db.Open(context.Background(), path, opts); !t.Failed() && err == nil {
			checkAudit(t, again) // whatever the test did; it may have closed the store itself
			_ = again.Close()
		}
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// engine is an engine of the rig with the standard policy and its own folders.
func (r *rig) engine(p provider.Provider, opts ...core.Option) *core.Engine {
	std, _ := policy.Starter("standard")
	all := append([]core.Option{core.WithPolicy(std), core.WithState(filepath.Join(r.dir, "state"), os.Environ())}, opts...)
	return core.New(r.store, p, all...)
}

// demo puts the demo's workspace in place and returns its contract and model.
func (r *rig) demo() (core.Contract, provider.Provider) {
	r.t.Helper()
	must(r.t, recordings.CopyWorkspace(r.ws))
	return demoContract(r.t, r.ws), demoModel(r.t)
}

func demoContract(t *testing.T, ws string) core.Contract {
	t.Helper()
	demo, err := recordings.Demo()
	must(t, err)
	c := core.Defaults()
	c.Goal, c.Constraints, c.Workspace, c.Model = demo.Goal, demo.Constraints, ws, "scripted-demo"
	c.Provider = core.Source{Kind: "script", Ref: "demo"}
	c.Gates = []gate.Gate{{Argv: demo.Check}}
	c.Repeatable = demo.Repeatable
	return c
}

func demoModel(t *testing.T) provider.Provider {
	t.Helper()
	demo, err := recordings.Demo()
	must(t, err)
	s, err := script.Parse(demo.Script)
	must(t, err)
	return script.New(s, script.Options{Fast: true})
}

// contract is a minimal contract in the rig's workspace.
func (r *rig) contract() core.Contract {
	c := core.Defaults()
	c.Goal, c.Workspace, c.Model = "do it", r.ws, "m1"
	return c
}

func (r *rig) trace(run int64) string {
	r.t.Helper()
	return traceOf(r.t, r.store, run)
}

func traceOf(t *testing.T, store *db.Store, run int64) string {
	t.Helper()
	var b bytes.Buffer
	must(t, canonical.Write(context.Background(), &b, store, run))
	return b.String()
}

func (r *rig) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.ws, name)
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(r.t, os.WriteFile(path, []byte(content), 0o644))
}

func (r *rig) read(name string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.ws, name))
	must(r.t, err)
	return string(b)
}

// turns is a model that gives its answers in order, by how many answers the conversation holds: a resumed run that asks
// again gets the same one.
type turns struct {
	answers []func(req provider.Request) (provider.Answer, error)
	calls   int
	asked   []provider.Request
	before  func(ctx context.Context, n int) // called in a call, 1-based
}

func (m *turns) Complete(ctx context.Context, req provider.Request, _ provider.Call) (provider.Answer, error) {
	m.calls++
	m.asked = append(m.asked, req)
	n := 0
	for _, msg := range req.Messages {
		if msg.Role == provider.RoleAssistant {
			n++
		}
	}
	if m.before != nil {
		m.before(ctx, n+1)
	}
	if ctx.Err() != nil {
		return provider.Answer{}, context.Cause(ctx)
	}
	if n >= len(m.answers) {
		return provider.Answer{}, &provider.Error{Kind: provider.BadRequest, Provider: "turns", Message: "no answer left"}
	}
	return m.answers[n](req)
}

func (m *turns) Name() string        { return "turns" }
func (m *turns) Endpoints() []string { return nil }
func (m *turns) LastServed() string  { return "turns" }
func (m *turns) AcceptsImages() bool { return false }

// call is an answer that calls one tool.
func call(name, args string) func(provider.Request) (provider.Answer, error) {
	return calls([2]string{name, args})
}

func calls(list ...[2]string) func(provider.Request) (provider.Answer, error) {
	return func(req provider.Request) (provider.Answer, error) {
		a := provider.Answer{Stop: provider.StopCalls, Finish: "tool_calls", Model: "m1-answered", Served: "turns", Usage: &provider.Usage{Input: 100, Output: 10}}
		for i, c := range list {
			a.Parts = append(a.Parts, provider.Part{Kind: provider.PartCall, ID: string(rune('a'+len(req.Messages))) + string(rune('0'+i)), Name: c[0], Arguments: c[1]})
		}
		return a, nil
	}
}

// say is a final message.
func say(text string) func(provider.Request) (provider.Answer, error) {
	return func(provider.Request) (provider.Answer, error) {
		return provider.Answer{
			Stop: provider.StopEnd, Finish: "stop", Model: "m1-answered", Served: "turns", Usage: &provider.Usage{Input: 100, Output: 10},
			Parts: []provider.Part{{Kind: provider.PartText, Text: text}},
		}, nil
	}
}

// fail is a failed call.
func fail(kind provider.Kind) func(provider.Request) (provider.Answer, error) {
	return func(provider.Request) (provider.Answer, error) {
		return provider.Answer{}, &provider.Error{Kind: kind, Provider: "turns", Message: "no"}
	}
}

func answers(list ...func(provider.Request) (provider.Answer, error)) *turns {
	return &turns{answers: list}
}

// collect is an observer that keeps everything.
type collect struct{ events []observer.Event }

func (c *collect) Event(e *observer.Event) observer.Flow {
	c.events = append(c.events, *e)
	return observer.Continue
}

func (c *collect) tags() []string {
	var tags []string
	for _, e := range c.events {
		tags = append(tags, e.Kind.Tag())
	}
	return tags
}

func redactor(secret string) *redact.Redactor {
	return redact.New([]redact.Secret{{Name: "CANARY", Value: secret}})
}
