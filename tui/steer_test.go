package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/core"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/card"
)

// hand presses keys as a person does, each by itself.
type hand struct {
	*app
	clock time.Time
}

// watching opens a run of a store in a console.
func watching(t *testing.T, r *factRun, opts Options) *hand {
	t.Helper()
	h := &hand{clock: time.Now()}
	opts.Store, opts.Watch, opts.Pressed, opts.Now = r.store, r.id(), func() time.Time { return h.clock }, func() time.Time { return r.now }
	h.app = newApp(t, opts, 120, 40)
	h.wait("STEPS")
	return h
}

// alone presses a key with quiet around it, and waits for the look whether it stood alone.
func (h *hand) alone(k tea.KeyPressMsg) {
	h.clock = h.clock.Add(2 * time.Second)
	h.follow(k, &h.clock, card.Alone) // the look comes by a tick of the real clock
	h.settle()
}

// types types at a person's pace.
func (h *hand) types(s string) {
	for _, r := range s {
		h.clock = h.clock.Add(100 * time.Millisecond)
		h.send(letter(r))
	}
}

var enterKey, escKey = tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: tea.KeyEscape}

// controls lists what was asked of a run as "kind body by surface".
func (r *factRun) controls() []string {
	r.t.Helper()
	all, err := r.store.Controls(context.Background(), r.id())
	r.must(err)
	var out []string
	for _, c := range all {
		out = append(out, strings.TrimSpace(c.Kind+" "+c.Body)+" by "+c.By.Surface)
	}
	return out
}

func inTemp(t *testing.T) *facts { return newFacts(t, filepath.Join(t.TempDir(), "runs.db")) }

func TestSteeringByKeys(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	r.asks()
	h := watching(t, r, Options{Clean: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }})
	want := []string{}
	is := func(control string) {
		t.Helper()
		want = append(want, control)
		if got := r.controls(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q, want %q\n%s", got, want, h.screen())
		}
	}
	h.alone(letter('p'))
	h.wait("pause requested")
	is("pause by key p")
	r.commit(func(tx *db.Tx) error { return tx.ObserveControl(1, "step boundary") })
	h.wait("Paused by you")
	h.wait("paused by you") // in the header too
	h.alone(letter('p'))
	is("continue by key p")

	h.alone(letter('t'))
	h.wait("tell the agent:")
	h.types("the key is hunter2, ")
	h.send(tea.PasteMsg{Content: "use it\nnowhere"})
	h.alone(enterKey)
	h.wait("queued")
	is("tell the key is [secret], use it nowhere by key t")
	r.commit(func(tx *db.Tx) error { return tx.ObserveControl(3, "request of step 4") })
	h.wait("read at step 4")

	h.alone(letter('b'))
	h.wait("Budgets")
	h.types("sixty")
	h.alone(enterKey)
	h.wait("steps: sixty is no ceiling")
	for range 5 {
		h.send(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	h.types("60")
	h.alone(enterKey)
	h.wait("new ceilings by you, in force at the next boundary: steps 60")
	is(`budget {"max_steps":60} by key b`)

	h.alone(letter('C'))
	h.wait("Kill run")
	h.alone(escKey)
	h.alone(letter('C'))
	h.wait("Kill run")
	h.alone(letter('K'))
	h.wait("kill requested")
	is("kill by key C")
	h.alone(letter('p'))
	h.wait("the run is stopping")
	h.alone(letter('c'))
	h.wait("kill was already requested")
	if got := r.controls(); len(got) != len(want) {
		t.Errorf("%q", got)
	}
}

func TestARaiseAnswersAQuestionAboutABudget(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, func(c *core.Contract) { c.Tokens = 2900 })
	r.question(db.Request{Step: 3, Act: db.BudgetAct, Target: "tokens", Digest: "d1", Payload: "the token budget is used up"})
	h := watching(t, r, Options{})
	h.wait("The token budget is used up")
	for _, k := range "aDf" { // what such a question does not know
		h.alone(letter(k))
	}
	q, err := r.store.Request(context.Background(), 1)
	if err != nil || q.State != "open" || q.Deferred || strings.Contains(h.screen(), "approve once") {
		t.Fatalf("%+v %v\n%s", q, err, h.screen())
	}
	h.alone(letter('b'))
	h.wait("Budgets")
	h.alone(tea.KeyPressMsg{Code: tea.KeyDown})
	h.alone(tea.KeyPressMsg{Code: tea.KeyDown})
	h.types("300k")
	h.alone(enterKey)
	if got := r.controls(); len(got) != 1 || got[0] != `budget {"tokens":300000} by key b` {
		t.Errorf("%q", got)
	}
}

func TestANewCeilingThatCannotHoldIsRefused(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	h := watching(t, r, Options{CheckBudget: func(_ context.Context, _ int64, b db.Budget) error {
		return fmt.Errorf("no price for %d", *b.MoneyMicros)
	}})
	h.alone(letter('b'))
	h.wait("Budgets")
	h.alone(tea.KeyPressMsg{Code: tea.KeyUp})
	h.types("2.5")
	h.alone(enterKey)
	h.wait("no price for 2500000")
	if got := r.controls(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// A question never takes the focus from a text field: it appears, says that it waits, and is reached with one key.
func TestAQuestionTakesNoKeyFromAField(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	h := watching(t, r, Options{})
	h.alone(letter('t'))
	h.wait("tell the agent:")
	h.types("have ")
	r.question(db.Request{Step: 4, Act: "exec", Target: "ls", Payload: "ls -la", Digest: "d1"})
	h.wait("waits: esc first")
	h.types("a d f D")
	h.alone(letter('a'))
	h.wait("have a d f Da")
	q, err := r.store.Request(context.Background(), 1)
	if err != nil || q.State != "open" || q.Deferred {
		t.Fatalf("%+v %v", q, err)
	}
	h.send(escKey)
	if got := r.controls(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	h.alone(letter('a'))
	if q, err = r.store.Request(context.Background(), 1); err != nil || q.Decision != "approve" {
		t.Errorf("%+v %v\n%s", q, err, h.screen())
	}
}

func TestARunThatNobodyDrives(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	r.exec(`DELETE FROM leases`)
	h := watching(t, r, Options{})
	h.wait("Interrupted: nobody drives this run. Go on with tillerman resume 1")
	h.alone(letter('c'))
	h.wait("nobody drives it: tillerman cancel 1")
	h.alone(letter('C'))
	h.wait("nobody drives it: tillerman kill 1")
	if got := r.controls(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	settled := make(chan string, 1)
	h = watching(t, r, Options{Settle: func(_ context.Context, id int64, kind string) error {
		settled <- fmt.Sprint(kind, id)
		return nil
	}})
	h.wait("c ends it here")
	h.alone(letter('C'))
	h.wait("nobody drives it: ended here")
	h.alone(letter('K'))
	if got := <-settled; got != "kill1" {
		t.Error(got)
	}
	if got := r.controls(); fmt.Sprint(got) != "[kill by key C]" { // a row first, whoever ends it
		t.Errorf("%q", got)
	}
}

func TestAnInterruptedCallIsResolved(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	r.stuck()
	h := watching(t, r, Options{Clean: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }})
	h.wait("Did it happen?")
	for _, evidence := range []string{"sh deploy.sh --to production", "begun     ", "2f0c1a/1/0/4/1", "1 changed since: deployed.txt added"} {
		h.wait(evidence)
	}
	h.alone(letter('h'))
	h.wait("it happened, what did you find?")
	h.alone(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
	h.wait("say what you found")
	h.types("the log says hunter2")
	h.alone(enterKey) // never decides
	h.alone(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
	h.wait("What you found is recorded: go on with tillerman resume 1")
	effects, err := r.store.Effects(context.Background(), r.id())
	if err != nil || len(effects) != 1 || effects[0].Resolution != "done" || effects[0].Reason != "the log says [secret]" {
		t.Errorf("%+v %v", effects, err)
	}
}

// own is a run of this console, without an engine.
func own(r *factRun) (run *Run, left, done chan struct{}) {
	left, done = make(chan struct{}, 1), make(chan struct{})
	return &Run{ID: r.id(), Done: done, Cancel: func() {}, Leave: func() { left <- struct{}{} }, Err: func() error { return nil }}, left, done
}

func TestLeavingARunToItself(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	r.acts(db.Call{Name: "exec", Target: "go test ./...", Reach: "process group"}, nil)
	run, left, done := own(r)
	h := watching(t, r, Options{Own: run})
	h.alone(letter('q'))
	h.wait("still going in this window")
	for _, k := range []tea.KeyPressMsg{enterKey, letter('x'), {Code: ' ', Text: " "}} {
		h.alone(k)
	}
	h.types("all") // ahead: no letter of a word leaves
	h.settle()
	if len(left) != 0 || h.quit {
		t.Fatal("left by accident")
	}
	h.alone(letter('l'))
	h.wait("A process of its own takes it over at the next safe point")
	h.wait(`waiting for "go test ./..."`)
	h.wait("close this terminal")
	if len(left) != 1 || h.quit {
		t.Fatalf("asked to leave %d times, quit %t", len(left), h.quit)
	}
	h.alone(letter('s'))
	h.wait("Leaving: a process of its own takes the run over")
	close(done)
	h.settle()
	if !h.quit || h.m.Left() {
		t.Errorf("quit %t, left %t", h.quit, h.m.Left())
	}
}

func TestARunThatCannotBeLeft(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	run, _, _ := own(r)
	run.Leave = nil
	h := watching(t, r, Options{Own: run})
	h.alone(letter('q'))
	h.wait("still going in this window")
	if strings.Contains(h.screen(), "process of its own") {
		t.Error("a key is shown that does nothing")
	}
	h.alone(letter('l'))
	h.wait("still going in this window")
}

// TestSteeredSizesAreDrawnExactly draws every state and everything that lies over the screen at every width.
func TestSteeredSizesAreDrawnExactly(t *testing.T) {
	hostile := "go \x1b[2J\r👨‍👩‍👧‍👦 e" + strings.Repeat("\u0301", 50) + "\t\u202egpj.exe 漢字"
	screens := map[string]*hand{}
	for _, s := range states {
		r := inTemp(t).run(t.TempDir(), 3, func(c *core.Contract) { c.Tokens = 200_000 })
		s.make(r)
		h := watching(t, r, Options{Settle: func(context.Context, int64, string) error { return nil }})
		h.wait(s.shows)
		for _, k := range s.keys {
			h.alone(letter([]rune(k)[0]))
		}
		screens[s.name] = h
	}
	r := inTemp(t).run(t.TempDir(), 3, nil)
	r.acts(db.Call{Name: hostile, Target: hostile, Reach: "none"}, nil)
	r.orders(db.Control{Kind: "tell", Body: hostile, By: db.Actor{User: hostile}}, "")
	r.orders(db.Control{Kind: "cancel", By: db.Actor{User: hostile}}, "")
	screens["hostile"] = watching(t, r, Options{})
	r = inTemp(t).run(t.TempDir(), 3, nil)
	r.question(db.Request{Step: 4, Act: "exec", Target: hostile, Payload: hostile, Digest: "d1"})
	screens["telling"] = watching(t, r, Options{})
	screens["telling"].alone(letter('t'))
	screens["telling"].types("hello ")
	screens["telling"].send(tea.PasteMsg{Content: hostile})
	run, _, _ := own(r)
	screens["leaving"] = watching(t, r, Options{Own: run})
	screens["leaving"].alone(letter('q'))
	screens["leaving"].alone(letter('l'))
	wide, high := 1, 1
	if testing.Short() {
		wide, high = 7, 7
	}
	for name, h := range screens {
		check := func(w, rows int) {
			h.send(tea.WindowSizeMsg{Width: w, Height: rows})
			exact(named{t, name}, h.m.draw(), w, rows)
		}
		for w := 1; w <= 130; w += wide {
			for _, rows := range []int{6, 12} {
				check(w, rows)
			}
		}
		for _, w := range []int{20, 40, 96} {
			for rows := 1; rows <= 50; rows += high {
				check(w, rows)
			}
		}
	}
}

// The list says how each run stands, with the words of its screen.
func TestTheListSaysHowRunsStand(t *testing.T) {
	f := inTemp(t)
	for _, make := range []func(r *factRun){
		func(r *factRun) { r.orders(db.Control{Kind: "pause", By: kim}, "step boundary") },
		func(r *factRun) { r.orders(db.Control{Kind: "pause"}, "") },
		func(r *factRun) { r.orders(db.Control{Kind: "cancel"}, "") },
		func(r *factRun) { r.exec(`DELETE FROM leases WHERE run_id = ?`, r.id()) },
		func(r *factRun) { r.exec(`UPDATE leases SET host = 'build-7' WHERE run_id = ?`, r.id()) },
		func(r *factRun) {
			r.orders(db.Control{Kind: "pause"}, "step boundary")
			r.pauses(observer.OutcomePausedByOperator)
		},
		func(r *factRun) { r.stuck() },
	} {
		make(f.run(t.TempDir(), 3, nil))
	}
	a := newApp(t, Options{Store: f.store}, 120, 40)
	for _, words := range []string{"paused by kim", "pausing", "cancelling", "interrupted", "driver unseen", "paused by you", "needs operator"} {
		a.wait(words)
	}
}

func TestAStopSaysWhatSurvived(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	c := r.acts(db.Call{Name: "exec", Target: "sh serve.sh", Reach: "process group"}, nil)
	r.orders(db.Control{Kind: "kill"}, "at once")
	c.State, c.Failed, c.Decision = db.CallEnded, true, "exec killed"
	c.LeftRunning = `[{"pid":4711,"name":"daemon","ended":false},{"pid":4712,"name":"sleep","ended":true}]`
	r.commit(func(tx *db.Tx) error {
		if err := tx.SetCall(c); err != nil {
			return err
		}
		if err := tx.Seal(db.Step{Step: 4, Decision: c.Decision, ToolCall: "exec:{}"}); err != nil {
			return err
		}
		if err := tx.StopControl(1); err != nil {
			return err
		}
		_, err := tx.Finish(db.Ending{Outcome: string(observer.OutcomeKilled), Status: db.Completed, StopReason: "killed by kim"})
		return err
	})
	h := watching(t, r, Options{})
	h.wait("may still run: daemon (4711)")
	h.alone(letter('s'))
	h.wait("TIME")
	h.wait("exec sh serve.sh: may still run: daemon (4711)")
}

func TestAnASCIIScreenHoldsNothingElse(t *testing.T) {
	for _, s := range states {
		r := inTemp(t).run(t.TempDir(), 3, nil)
		s.make(r)
		h := watching(t, r, Options{ASCII: true})
		h.wait(s.shows)
		for _, k := range s.keys {
			h.alone(letter([]rune(k)[0]))
		}
		for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
			h.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			for i, row := range strings.Split(h.screen(), "\n") {
				if strings.ContainsFunc(row, func(r rune) bool { return r > '~' }) {
					t.Errorf("%s %v: row %d: %q", s.name, size, i, row)
				}
			}
		}
	}
}
