package cli_test

import (
	"os"
	"strings"
	"testing"
)

// waiting starts a run that stands at its first question.
func (s *shell) waiting(answers ...string) *model {
	s.t.Helper()
	m := newModel(s.t, answers...)
	if code, out, errOut := s.run(s.runArgs(m, "--approve", "defer")...); code != 3 {
		s.t.Fatalf("exit %d, %s%s", code, out, errOut)
	}
	return m
}

// request is the name of the one question that waits.
func (s *shell) request() string {
	s.t.Helper()
	var inbox []struct{ Request string }
	decode(s.t, s.ok("inbox", "--json"), &inbox)
	if len(inbox) != 1 {
		s.t.Fatalf("%d questions wait", len(inbox))
	}
	return inbox[0].Request
}

func TestApproveWithARule(t *testing.T) {
	s := newShell(t)
	s.waiting(calling("exec", `{"argv":["echo","one"]}`), calling("exec", `{"argv":["echo","two"]}`), finalWords)
	name := s.request()
	if out := s.ok("approve", "1", name, "--rule", "echo *", "--dry-run"); !strings.Contains(out, "0 calls decided so far") {
		t.Errorf("dry run: %s", out)
	}
	if s.request() != name {
		t.Error("a dry run decided")
	}
	for _, bad := range []string{"ls *", "[echo", ""} {
		if code, _, errOut := s.run("approve", "1", name, "--rule", bad, "--dry-run"); code != 2 || strings.Count(errOut, "\n") != 1 {
			t.Errorf("rule %q: exit %d, %s", bad, code, errOut)
		}
	}
	s.ok("approve", "1", name, "--rule", "echo *")
	s.ok("resume", "1", "--approve", "defer") // the second command goes on by the rule
	if out := s.ok("rules", "1"); !strings.Contains(out, "allow exec echo *") || !strings.Contains(out, "holds") {
		t.Errorf("rules: %s", out)
	}
	s.ok("rules", "1", "--revoke", "1")
	if code, _, _ := s.run("rules", "1", "--revoke", "1"); code != 2 {
		t.Errorf("revoked twice: exit %d", code)
	}
}

func TestAQuestionShowsEmptyLines(t *testing.T) {
	s := newShell(t)
	s.waiting(calling("write_file", `{"path":"a.txt","content":"\n\none\n\n\ntwo"}`), finalWords)
	if out := s.ok("inbox"); !strings.Contains(out, "      | \n      | \n      | one\n      | \n      | \n      | two\n") {
		t.Errorf("inbox: %s", out)
	}
}

func TestApproveChanged(t *testing.T) {
	s := newShell(t)
	s.waiting(calling("write_file", `{"path":"a.txt","content":"A"}`), finalWords)
	if code, _, _ := s.run("approve", "1", s.request(), "--change", "nonsense"); code != 2 {
		t.Errorf("nonsense: exit %d", code)
	}
	s.ok("approve", "1", s.request(), "--change", `{"path":"b.txt","content":"B"}`)
	if code, _, _ := s.run("resume", "1", "--approve", "defer"); code != 3 {
		t.Errorf("the changed call did not ask: exit %d", code)
	}
	if out := s.ok("inbox"); !strings.Contains(out, "b.txt") {
		t.Errorf("inbox: %s", out)
	}
	s.ok("approve", "1", s.request())
	s.ok("resume", "1", "--approve", "defer")
	if b, err := os.ReadFile(s.path("ws", "b.txt")); err != nil || string(b) != "B" {
		t.Errorf("b.txt: %q, %v", b, err)
	}
	if _, err := os.Stat(s.path("ws", "a.txt")); err == nil {
		t.Error("what was asked first was done too")
	}
}

func TestAnswer(t *testing.T) {
	s := newShell(t)
	s.waiting(calling("ask_operator", `{"question":"Which colour?","choices":["red","green"]}`), finalWords)
	if out := s.ok("inbox"); !strings.Contains(out, "tillerman answer 1") || !strings.Contains(out, "2. green") {
		t.Errorf("inbox: %s", out)
	}
	if code, _, errOut := s.run("approve", "1", s.request()); code != 2 || !strings.Contains(errOut, "tillerman answer 1") {
		t.Errorf("approve of a question: exit %d, %s", code, errOut)
	}
	s.ok("answer", "1", "2")
	s.ok("resume", "1")
	if out := s.ok("show", "1", "--canonical"); !strings.Contains(out, "green") {
		t.Errorf("the answer did not arrive: %s", out)
	}
}

// An agent's command cannot decide about its own run, however it hides its environment.
func TestNoApprovalFromInside(t *testing.T) {
	s := newShell(t)
	self := s.path("ws", "tillerman") // what a command can reach
	program, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(self, program, 0o755))
	script := `env -i XDG_STATE_HOME=` + s.path("state") + ` HOME=/ ` + self + ` ` + processArg + ` approve 1 > out 2>&1; echo $? >> out`
	args := `{"argv":["sh","-c",` + quoteJSON(script) + `]}`
	m := newModel(t, calling("exec", args), calling("exec", `{"argv":["touch","PWN"]}`), finalWords)
	s.run(s.runArgs(m, "--approve", "defer")...)
	s.ok("approve", "1", s.request())
	p := s.start("resume", "1", "--approve", "defer")
	if code := p.exit(); code != 3 {
		t.Fatalf("exit %d, %s%s", code, p.out.String(), p.err.String())
	}
	out, err := os.ReadFile(s.path("ws", "out"))
	must(t, err)
	if !strings.Contains(string(out), "steered from outside") && !strings.Contains(string(out), "store") {
		t.Errorf("from inside: %s", out)
	}
}

// Whatever comes with answers of its own, or takes the record away, is no command for an agent either.
func TestNothingIsDecidedFromInside(t *testing.T) {
	s := newShell(t)
	s.waiting(calling("exec", `{"argv":["touch","PWN"]}`), finalWords)
	s.env["TILLERMAN_COMMAND"] = "1"
	for _, args := range [][]string{
		{"resume", "1", "--approve", "all"},
		{"resume", "1"},
		{"approve", "1", s.request()},
		{"deny", "1", s.request()},
		{"defer", "1", s.request()},
		{"cancel", "1"},
		{"kill", "1"},
		{"pause", "1"},
		{"continue", "1"},
		{"tell", "1", "x"},
		{"answer", "1", "x"},
		{"budget", "1", "--tokens", "5"},
		{"rules", "1", "--revoke", "1"},
		{"prune", "--older", "1d"},
	} {
		if code, _, errOut := s.run(args...); code != 2 || !strings.Contains(errOut, "steered from outside") {
			t.Errorf("%v: exit %d, %s", args, code, errOut)
		}
	}
	if _, err := os.Stat(s.path("ws", "PWN")); err == nil {
		t.Error("the command ran")
	}
	s.ok("inbox")
}

func quoteJSON(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
