package tui

import (
	"context"
	"os/exec"
	"time"

	"tillerman/core"
	"tillerman/db"
	chain "tillerman/db/audit"
	"tillerman/observer"
	"tillerman/tui/feed"
	"tillerman/tui/keys"
)

// Run is a run of this process that the console shows from its start.
type Run struct {
	ID     int64
	Events <-chan observer.Event // notices of its engine
	Live   *feed.Live            // its text as it comes, nil for none
	Done   <-chan struct{}       // closed when its engine is through
	Cancel func()                // sets the flag that the engine's observer returns
	// Leave asks the engine to hand the run to a process of its own at the next safe point; Done is closed once it has.
	// nil is that it cannot.
	Leave func()
	Err   func() error // why the engine failed; to be asked after Done
}

// Options are what the console is made of.
type Options struct {
	Store *db.Store
	Keys  *keys.Map
	Now   func() time.Time // what is shown
	// Pressed is when a key was pressed, for decision safety; nil is the real clock.
	Pressed func() time.Time
	Home    string // the person's home folder
	Theme   string // a theme's name; "" is by the terminal's background
	ASCII   bool
	Own     *Run  // opened first, nil for the list of runs
	Watch   int64 // a run of another process, opened first; 0 for none
	// Settle ends a run that nobody drives, right there: kind is cancel or kill. nil leaves these keys to the command line.
	Settle func(ctx context.Context, runID int64, kind string) error
	// CheckBudget says why new ceilings of a run cannot hold, such as money for a model without a price. nil checks nothing.
	CheckBudget func(ctx context.Context, runID int64, b db.Budget) error
	// Propose tries a rule for the rest of a run: exactly what a request asks, or the match given. nil gives no rules.
	Propose func(ctx context.Context, r db.Request, match []string) (core.RuleProposal, error)
	// Edit prepares the person's own editor on a text: the command to run, and what reads the text after it and removes
	// every trace. nil is that there is none.
	Edit func(body string) (cmd *exec.Cmd, done func() (string, error), err error)
	// Clean takes secrets out of what a person typed before it is stored. nil stores it as it is.
	Clean func(string) string
	// Verify checks the audit trail, with the keys and anchors of the settings.
	Verify func(ctx context.Context, progress func(rows int64)) (chain.Report, error)
}
