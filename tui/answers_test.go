package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/policy"
	"tillerman/core/provider/script"
	"tillerman/db"
)

// working is a run of a scripted model that a real engine drives, with a console on it.
type working struct {
	*hand
	store *db.Store
	id    int64
	ws    string
	done  chan error
}

// works starts a run whose model makes these turns, in order, and opens a console on it.
func works(t *testing.T, width, height int, turns ...string) *working {
	t.Helper()
	w := &working{hand: &hand{clock: time.Now()}, ws: t.TempDir(), done: make(chan error, 1)}
	dir := t.TempDir()
	var err error
	if w.store, err = db.Open(context.Background(), filepath.Join(dir, "runs.db"), db.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() })
	var doc strings.Builder
	doc.WriteString("name = \"scripted\"\nmodel = \"scripted\"\n")
	for i, turn := range turns {
		fmt.Fprintf(&doc, "[[turn]]\nname = \"t%d\"\nsay = \"turn %d\"\ncalls = [%s]\nwhen.unseen = [\"settled: @t%d\"]\n", i, i, turn, i)
	}
	doc.WriteString("[[turn]]\nsay = \"all done\"\n")
	s, err := script.Parse([]byte(doc.String()))
	if err != nil {
		t.Fatal(err)
	}
	std, _ := policy.Starter("standard")
	e := core.New(w.store, script.New(s, script.Options{Fast: true}), core.WithPolicy(std), core.WithApprover(approval.Elsewhere{}),
		core.WithState(filepath.Join(dir, "state"), os.Environ()))
	c := core.Defaults()
	c.Goal, c.Workspace, c.Model = "tidy up", w.ws, "scripted"
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, err := e.Run(ctx, c)
		w.done <- err
	}()
	t.Cleanup(func() {
		stop()
		<-w.done
	})
	for w.id == 0 { // it exists with its first commit
		select {
		case err := <-w.done:
			w.done <- err
			t.Fatalf("the run ended before its first commit: %v", err)
		case <-time.After(time.Millisecond):
		}
		if runs, err := w.store.Runs(ctx, db.Filter{}); err == nil && len(runs) > 0 {
			w.id = runs[0].ID
		}
	}
	w.app = newApp(t, Options{
		Store: w.store, Watch: w.id, Pressed: func() time.Time { return w.clock },
		Propose: e.ProposeRule,
	}, width, height)
	return w
}

// asked waits for the question about something.
func (w *working) asked(about string) {
	w.t.Helper()
	w.wait(about)
	w.settle()
}

func (w *working) ends() {
	w.t.Helper()
	select {
	case err := <-w.done:
		w.done <- err
		if err != nil {
			w.t.Error(err)
		}
	case <-time.After(20 * time.Second):
		w.t.Fatalf("the run does not end:\n%s", w.screen())
	}
}

func write(path, text string) string {
	return fmt.Sprintf(`{ tool = "write_file", args = { path = %q, content = %q } }`, path, text)
}

// One yes with a rule: the sibling that fits goes on by it, the other still asks; and once the rule is revoked its own
// kind asks again.
func TestARuleLetsSiblingsThroughAndNothingElse(t *testing.T) {
	w := works(t, 200, 40, write("a1.txt", "x")+", "+write("a2.txt", "x")+", "+write("b.txt", "x"), write("a3.txt", "x"))
	w.asked("a1.txt")
	w.alone(letter('A'))
	w.wait("it allows what is asked here")
	w.alone(letter('e'))
	w.alone(tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl})
	w.types("./a*.txt")
	w.wait("it allows what is asked here")
	w.alone(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
	w.wait("it allows what is asked here")
	w.alone(letter('g'))
	w.wait("▌ write b.txt")
	w.wait("a2.txt  by rule ./a*.txt")
	w.wait("by rule ./a*.txt, given for this run")
	rules, err := w.store.Rules(context.Background(), w.id)
	if err != nil || len(rules) != 1 || rules[0].Text() != "./a*.txt" || rules[0].MadeBy.Surface != "key A" {
		t.Fatalf("%+v %v", rules, err)
	}
	w.alone(letter('l'))
	w.wait("Rules for the rest of this run")
	w.alone(letter('x'))
	w.wait("revoked by you")
	w.alone(escKey)
	w.alone(letter('a'))
	w.asked("a3.txt")
	if rules, _ = w.store.Rules(context.Background(), w.id); rules[0].RevokedAt == 0 {
		t.Error("not revoked")
	}
	w.alone(letter('a'))
	w.ends()
	if got, err := os.ReadFile(filepath.Join(w.ws, "a2.txt")); err != nil || string(got) != "x" {
		t.Errorf("the sibling: %q %v", got, err)
	}
}

// A changed call is judged and asked about anew, with what was changed; its own yes is needed.
func TestAChangedCallAsksAnew(t *testing.T) {
	w := works(t, 120, 40, write("b.txt", "one\n"))
	w.asked("b.txt")
	w.alone(letter('e'))
	w.wait("Change the call")
	w.alone(tea.KeyPressMsg{Code: tea.KeyUp})
	w.alone(tea.KeyPressMsg{Code: tea.KeyEnd})
	w.alone(tea.KeyPressMsg{Code: tea.KeyBackspace})
	w.types("X")
	w.alone(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
	w.wait("nothing is decided") // the quote was taken with it
	w.types("\"")
	w.alone(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
	w.wait("Approve as changed?")
	w.alone(enterKey)
	w.alone(letter('g'))
	w.wait("changed by the operator")
	if _, err := os.Stat(filepath.Join(w.ws, "b.txt")); err == nil {
		t.Fatal("it was written before what was made of it was asked about")
	}
	w.alone(letter('a'))
	w.ends()
	entries, err := os.ReadDir(w.ws)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	text, err := os.ReadFile(filepath.Join(w.ws, entries[0].Name()))
	if err != nil || !strings.Contains(entries[0].Name()+string(text), "X") {
		t.Errorf("%s holds %q", entries[0].Name(), text)
	}
	reqs, err := w.store.Requests(context.Background(), w.id)
	if err != nil || len(reqs) != 2 || reqs[0].ChangedArgs == "" || reqs[1].ChangedArgs != "" || reqs[0].DecidedBy.Surface != "key e" {
		t.Errorf("%+v %v", reqs, err)
	}
}

// A question of the agent is answered by a number, in words, or declined; nothing of it is a permission.
func TestTheAgentsQuestionsAreAnswered(t *testing.T) {
	ask := func(q, choices string) string {
		return fmt.Sprintf(`{ tool = "ask_operator", args = { question = %q, choices = [%s] } }`, q, choices)
	}
	w := works(t, 120, 40, ask("which branch?", `"main", "next"`), ask("which port?", ``), ask("may I delete everything?", `"yes"`), write("x.txt", "x"))
	w.asked("which branch?")
	w.wait("The agent asks")
	w.wait("never a permission")
	w.alone(letter('3'))
	w.alone(letter('a'))
	w.alone(letter('2'))
	w.asked("which port?")
	w.alone(letter('1'))
	w.alone(letter('w'))
	w.wait("your answer:")
	w.types("the usual one")
	w.alone(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
	w.asked("may I delete everything?")
	w.alone(letter('d'))
	w.wait("why decline?")
	w.types("ask later")
	w.alone(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
	w.asked("▌ write x.txt")
	w.alone(letter('a'))
	w.ends()
	reqs, err := w.store.Requests(context.Background(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range reqs {
		got = append(got, r.Decision+" "+r.Reason+" by "+r.DecidedBy.Surface)
	}
	want := []string{"approve 2 by key 2", "approve the usual one by key w", "deny ask later by key d", "approve  by key a"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	calls, err := w.store.StepCalls(context.Background(), w.id, 1)
	if err != nil || !strings.Contains(calls[0].Result, "next") {
		t.Errorf("the model reads %q, %v", calls[0].Result, err)
	}
}

// What is being written about a question ends with the question: an answer from elsewhere closes it, and the next
// question is no heir to its keys.
func TestAnAnswerFromElsewhereClosesWhatWasWritten(t *testing.T) {
	w := works(t, 120, 40, write("a.txt", "x")+", "+write("b.txt", "x"))
	w.asked("a.txt")
	w.alone(letter('A'))
	w.wait("it allows what is asked here")
	inbox, err := w.store.Inbox(context.Background())
	if err != nil || len(inbox) != 1 {
		t.Fatal(inbox, err)
	}
	if _, err := w.store.Decide(context.Background(), inbox[0].ID, db.Decision{Answer: "deny"}, kim); err != nil {
		t.Fatal(err)
	}
	w.asked("▌ write b.txt")
	w.wait("Approve?")
	w.send(letter('g')) // it was on its way
	w.settle()
	if inbox, _ = w.store.Inbox(context.Background()); len(inbox) != 1 {
		t.Errorf("%+v", inbox)
	}
	if rules, _ := w.store.Rules(context.Background(), w.id); len(rules) != 0 {
		t.Errorf("%+v", rules)
	}
}

// An editor that fails, or is none, changes nothing and says so.
func TestAnEditorThatFails(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	r.acts(db.Call{Name: "exec", Target: "ls"}, nil)
	position := 1
	r.question(db.Request{Step: 4, Position: &position, Act: "exec", Target: "ls", Payload: "ls", Digest: "d"})
	h := watching(t, r, Options{Edit: func(string) (*exec.Cmd, func() (string, error), error) {
		return nil, nil, errors.New("no editor is set; set EDITOR")
	}})
	h.wait("Approve?")
	h.alone(letter('e'))
	h.wait("Change the call")
	h.alone(tea.KeyPressMsg{Code: 'e', Mod: tea.ModCtrl})
	h.wait("no editor is set")
	h.alone(escKey)
	h.wait("Approve?")
}

// Two questions back to back and one double press: the second asks on. A key that is held answers neither.
func TestADoublePressAnswersOneQuestion(t *testing.T) {
	w := works(t, 120, 40, write("a.txt", "x")+", "+write("b.txt", "x"))
	w.asked("▌ write a.txt")
	for range 30 { // held
		w.clock = w.clock.Add(33 * time.Millisecond)
		w.send(letter('a'))
	}
	w.settle()
	w.asked("▌ write a.txt")
	w.alone(letter('a'))
	w.send(letter('a'))
	w.asked("▌ write b.txt")
	w.send(letter('a'))
	w.settle()
	if inbox, err := w.store.Inbox(context.Background()); err != nil || len(inbox) != 1 || inbox[0].Target != "b.txt" {
		t.Errorf("%+v %v", inbox, err)
	}
}
