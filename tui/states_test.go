package tui

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tillerman/core"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/tuitest"
)

// state is one way a run can stand, from the facts in the store alone.
type state struct {
	name  string
	make  func(r *factRun)
	shows string   // what the screen says
	keys  []string // pressed then, each by itself
	then  string   // what it says after them
}

// states is every way a run can stand that the console has something to say about. The run has three sealed steps and a
// driver, this process.
var states = []state{
	{name: "pausing", shows: "pause requested", make: func(r *factRun) {
		r.acts(db.Call{Name: "exec", Target: "go test ./...", Reach: "process group"}, nil)
		r.orders(db.Control{Kind: "pause"}, "")
	}},
	{name: "paused", shows: "Paused by kim", make: func(r *factRun) {
		r.orders(db.Control{Kind: "pause", By: kim}, "step boundary")
		r.orders(db.Control{Kind: "tell", Body: "leave the docs alone"}, "")
	}},
	{name: "cancelling", shows: "cannot reach", make: func(r *factRun) {
		r.acts(db.Call{Name: "edit", Target: "lib/duration.sh", Reach: "none"}, nil)
		r.orders(db.Control{Kind: "cancel"}, "")
	}},
	{name: "told", shows: "read at step 3", make: func(r *factRun) {
		r.orders(db.Control{Kind: "tell", Body: "look at the README first\nthen go on", By: kim}, "request of step 3")
		r.asks()
	}},
	{name: "retry", shows: "Asks again in", make: func(r *factRun) {
		r.fails(r.asks(), 30*time.Second, true)
	}},
	{name: "budget-set", shows: "new ceilings", make: func(r *factRun) {
		tokens, none := int64(300_000), int64(0)
		r.orders(db.Control{Kind: "budget", Body: db.Budget{Tokens: &tokens, TimeMS: &none}.Encode()}, "")
		r.asks()
	}},
	{name: "budget-asked", shows: "raise or end", make: func(r *factRun) {
		r.question(db.Request{
			Step: 3, Act: db.BudgetAct, Target: "tokens", Digest: "d1", Payload: "the token budget is used up: 2940 of 2900 tokens are used up",
		})
	}},
	{name: "budget-form", shows: "thinking", keys: []string{"b"}, then: "Budgets", make: func(r *factRun) { r.asks() }},
	{name: "kill-asked", shows: "acting", keys: []string{"C"}, then: "Kill run", make: func(r *factRun) {
		r.acts(db.Call{Name: "exec", Target: "go test ./...", Reach: "process group"}, nil)
	}},
	{name: "kill-undriven", shows: "interrupted", keys: []string{"C"}, then: "Kill run", make: func(r *factRun) {
		r.asks()
		r.exec(`DELETE FROM leases`)
	}},
	{name: "interrupted", shows: "interrupted", make: func(r *factRun) {
		r.asks()
		r.exec(`DELETE FROM leases`)
	}},
	{name: "unseen", shows: "cannot be seen", make: func(r *factRun) {
		r.asks()
		r.exec(`UPDATE leases SET host = 'build-7', pid = 4711`)
	}},
	{name: "paused-left", shows: "p lifts the pause", make: func(r *factRun) {
		r.orders(db.Control{Kind: "pause"}, "step boundary")
		r.pauses(observer.OutcomePausedByOperator)
	}},
	{name: "needs-operator", shows: "Did it happen?", make: func(r *factRun) {
		r.stuck()
	}},
}

// stuck leaves a call behind that must not happen twice: a crash in the middle of a deployment.
func (r *factRun) stuck() {
	run, err := r.store.Run(r.t.Context(), r.id())
	r.must(err)
	before, err := tool.Snapshot(r.t.Context(), run.Workspace)
	r.must(err)
	listing, err := json.Marshal(before)
	r.must(err)
	r.acts(db.Call{Name: "exec", Target: "sh deploy.sh --to production", Reach: "process group", Safety: "once", Arguments: `{"argv":["sh","deploy.sh","--to","production"]}`}, listing)
	r.must(os.WriteFile(filepath.Join(run.Workspace, "deployed.txt"), []byte("half"), 0o644))
	r.pauses(observer.OutcomeNeedsOperator)
}

// TestStatesOfARun draws every state in every window and with and without colours.
func TestStatesOfARun(t *testing.T) {
	whole(t)
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			home := tuitest.NewHome(t)
			f := newFacts(t, homeStore(home))
			r := f.run(home.Work, 3, func(c *core.Contract) { c.Tokens = 200_000 })
			s.make(r)
			for name, profile := range map[string]tuitest.Profile{"": tuitest.TrueColor, "nocolor-": tuitest.NoColor} {
				term := tuitest.Start(t, tuitest.Options{
					Args: []string{"watch", fmt.Sprint(r.id())}, Env: clock, Home: home, Cols: 120, Rows: 40, Profile: profile, Answer: true,
				})
				term.WaitFor(s.shows, 0)
				for _, k := range s.keys {
					press(term, k)
				}
				if s.then != "" {
					term.WaitFor(s.then, 0)
				}
				for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
					term.Resize(size[0], size[1])
					term.WaitIdleUntil("nothing arms", 0, func(f tuitest.Frame) bool { return !f.Contains("one moment") && !f.Contains("looking at the") })
					term.Match(fmt.Sprintf("state-%s%s-%dx%d", name, s.name, size[0], size[1]), home.Paths())
				}
				term.Close()
			}
		})
	}
}

// press presses a key by itself, as a person does who has looked at the screen.
func press(term *tuitest.Term, key string) {
	term.WaitIdle()
	time.Sleep(500 * time.Millisecond) // a slow hand: keys that steer, and answers, count only after a quiet
	term.Press(key)
	term.WaitIdle()
}
