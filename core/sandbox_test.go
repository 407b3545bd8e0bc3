package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/sandbox"
	"tillerman/db"
	"tillerman/observer"
)

// decideArg makes the test binary what an agent would start to approve itself.
const decideArg = "decide-on-the-store"

// deciding approves the first open question of the store it is given.
func deciding(path string) int {
	store, err := db.Open(context.Background(), path, db.Options{})
	if err != nil {
		fmt.Println("no store:", err)
		return 1
	}
	defer store.Close()
	open, err := store.Inbox(context.Background())
	if err != nil || len(open) == 0 {
		fmt.Println("no question:", err)
		return 1
	}
	if _, err := store.Decide(context.Background(), open[0].ID, db.Decision{Answer: "approve"}, db.Here("command approve")); err != nil {
		fmt.Println("no decision:", err)
		return 1
	}
	fmt.Println("decided")
	return 0
}

// execCall is an answer that runs a command.
func execCall(argv ...string) func(provider.Request) (provider.Answer, error) {
	args, _ := json.Marshal(map[string]any{"argv": argv})
	return call("exec", string(args))
}

// results is what the model was told, in order.
func (m *turns) results() []string {
	var texts []string
	for _, msg := range m.asked[len(m.asked)-1].Messages {
		for _, p := range msg.Parts {
			if p.Kind == provider.PartResult {
				texts = append(texts, p.Text)
			}
		}
	}
	return texts
}

// A run's commands, approved every one, reach neither the store nor what the policy denies nor the network, and cannot
// decide what is asked.
func TestCommandsOfARunAreConfined(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	if b := sandbox.Backend(); !strings.Contains(b, "mount") || !strings.Contains(b, "net") {
		t.Skipf("this machine does not offer mount and network namespaces: %s", b)
	}
	r := newRig(t)
	r.write(".env", "CANARY=in-the-file")
	r.write("config/.env.local", "CANARY=in-the-file")
	if out, err := exec.Command("cp", os.Args[0], filepath.Join(r.ws, "self")).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	store := r.store.Path()
	r.write("dial.sh", "echo > /dev/tcp/127.0.0.1/"+port+"\n")
	r.write("outside.sh", "echo x > "+filepath.Join(r.dir, "planted")+"; tr '\\0' '\\n' < /proc/"+fmt.Sprint(os.Getpid())+"/environ\n")
	model := answers(
		execCall("./self", decideArg, store),
		execCall("sh", "-c", "cat "+store+" "+store+"-wal; ls "+filepath.Dir(store)),
		execCall("sh", "-c", "cat .env config/.env.local; echo end"),
		// What the policy cannot see in a command's words.
		execCall("bash", "dial.sh"),
		execCall("sh", "outside.sh"),
		say("done"),
	)
	c := r.contract()
	c.Gates = []gate.Gate{{Argv: []string{"sh", "-c", "! cat .env | grep CANARY && ! test -e " + store}}}
	res, err := r.engine(model, core.WithApprover(approval.All{})).Run(t.Context(), c)
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess {
		t.Fatalf("outcome %s: %s", res.Outcome, res.Message)
	}
	got := model.results()
	if len(got) != 5 {
		t.Fatalf("%q", got)
	}
	for i, want := range []string{"no ", "No such file", "end\n", "exit 1", "No such file"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%d: %q does not say %q", i, got[i], want)
		}
	}
	for i, text := range got {
		for _, secret := range []string{"in-the-file", "SQLite", "decided", "PATH="} {
			if strings.Contains(text, secret) {
				t.Errorf("%d: %q holds %q", i, text, secret)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "planted")); err == nil {
		t.Error("a file was planted outside")
	}
	drives, err := r.store.Drives(t.Context(), res.RunID)
	must(t, err)
	if len(drives) != 1 || drives[0].Sandbox != sandbox.Backend() {
		t.Errorf("drives %+v, want sandbox %q", drives, sandbox.Backend())
	}
}

// A policy that allows a host lets commands use the network, and the record does not say otherwise.
func TestCommandsMayUseTheNetwork(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	r := newRig(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	std, _ := policy.Starter("standard")
	std.Layers = append(std.Layers, policy.Layer{Name: "mine", Rules: []policy.Rule{{Act: policy.Net, Effect: policy.Allow, Match: []string{"127.0.0.1"}}}})
	r.write("dial.sh", "echo > /dev/tcp/127.0.0.1/"+port+"\n")
	model := answers(execCall("bash", "dial.sh"), say("done"))
	res, err := r.engine(model, core.WithPolicy(std), core.WithApprover(approval.All{})).Run(t.Context(), r.contract())
	must(t, err)
	if got := model.results(); len(got) != 1 || !strings.Contains(got[0], "[exit 0]") {
		t.Errorf("%q", got)
	}
	drives, err := r.store.Drives(t.Context(), res.RunID)
	must(t, err)
	if len(drives) != 1 || drives[0].Sandbox != sandbox.BackendFor(true) {
		t.Errorf("drives %+v", drives)
	}
}

// What a command leaves in its home is seen before a rule lets a later one read it.
func TestWhatIsLeftAtHomeIsSeen(t *testing.T) {
	r := newRig(t)
	r.write("leave", "#!/bin/sh\nmkdir -p $HOME/.config/go\necho GOFLAGS=-toolexec=/x > $HOME/.config/go/env\n")
	must(t, os.Chmod(filepath.Join(r.ws, "leave"), 0o755))
	p, _ := policy.Starter("standard")
	p.Layers = append(p.Layers, policy.Layer{Name: "team", Rules: []policy.Rule{
		{Act: policy.Exec, Effect: policy.Allow, Match: []string{"./leave"}},
		{Act: policy.Exec, Effect: policy.Allow, Match: []string{"go", "version"}},
	}})
	model := answers(execCall("go", "version"), execCall("./leave"), execCall("go", "version"), say("done"))
	res, err := r.engine(model, core.WithPolicy(p), core.WithApprover(approval.Later{})).Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeAwaitingApproval || model.calls != 3 {
		t.Fatalf("%s (%s) after %d answers", res.Outcome, res.Message, model.calls)
	}
}
