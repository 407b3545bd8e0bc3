// Package summary is the screen of a run that has ended: did it work, why did it stop, what did it cost, where did the
// time go. It reads the store and nothing else.
package summary

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/detail"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
)

// Deps is what the screen works with.
type Deps struct {
	Store   *db.Store
	Keys    *keys.Map
	Painter *paint.Painter
}

// Model is the screen. It is for the UI goroutine.
type Model struct {
	deps   Deps
	runID  int64
	data   *data
	err    error
	lines  []string // the body as it was drawn last; nil when something in it has changed
	top    int
	width  int
	height int
}

// data is what the store holds about an ended run.
type data struct {
	run      db.Run
	summary  db.Summary
	slowest  string
	refusals []db.Verdict
	left     []string // processes that outlived a run that was stopped, in words
}

type loadedMsg struct {
	runID int64
	data  *data
	err   error
}

// OpenSteps asks for the steps of a run.
type OpenSteps struct{ ID int64 }

// New makes the screen for a run.
func New(deps Deps, runID int64) *Model { return &Model{deps: deps, runID: runID} }

// RunID is the run on the screen.
func (m *Model) RunID() int64 { return m.runID }

// Init reads the store.
func (m *Model) Init() tea.Cmd {
	store, id := m.deps.Store, m.runID
	return func() tea.Msg {
		d, err := load(context.Background(), store, id)
		return loadedMsg{id, d, err}
	}
}

func load(ctx context.Context, store *db.Store, id int64) (*data, error) {
	var d data
	var err error
	if d.run, err = store.Run(ctx, id); err != nil {
		return nil, err
	}
	if d.summary, err = store.Summary(ctx, id); err != nil {
		return nil, err
	}
	verdicts, err := store.Refusals(ctx, id, 20)
	if err != nil {
		return nil, err
	}
	d.refusals = verdicts
	if d.run.TraceRemovedAt == 0 {
		if d.left, err = survivors(ctx, store, d.summary); err != nil {
			return nil, err
		}
	}
	sp, err := store.SlowestSpan(ctx, id)
	if err != nil {
		return nil, err
	}
	if sp != nil && sp.DurationMS != nil && *sp.DurationMS > 0 {
		d.slowest = fmt.Sprintf("step %d, %s took %s: %s", sp.Step, who(sp.Kind), plain.Duration(*sp.DurationMS), sp.Name)
		if sp.Step == 0 {
			d.slowest = fmt.Sprintf("before the first step, %s took %s: %s", who(sp.Kind), plain.Duration(*sp.DurationMS), sp.Name)
		}
	}
	return &d, nil
}

// survivors are the processes that the last step of a stopped run left behind.
func survivors(ctx context.Context, store *db.Store, s db.Summary) ([]string, error) {
	if out := observer.Outcome(s.Outcome); out != observer.OutcomeKilled && out != observer.OutcomeCancelled || s.Steps == 0 {
		return nil, nil
	}
	calls, err := store.StepCalls(ctx, s.RunID, s.Steps)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range calls {
		if words := detail.Survivors(c.LeftRunning); words != "" {
			out = append(out, c.Name+" "+c.Target+": "+words)
		}
	}
	return out, nil
}

// who took the time of a span.
func who(kind string) string {
	switch kind {
	case "question":
		return "a person"
	case "retry":
		return "waiting to ask again"
	case "gate":
		return "a check"
	case "call":
		return "a tool"
	}
	return "the model"
}

// Update handles what is not a key.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(loadedMsg); ok && msg.runID == m.runID {
		m.data, m.err, m.lines = msg.data, msg.err, nil
	}
	return nil
}

// Press handles a key.
func (m *Model) Press(msg tea.KeyPressMsg) (handled bool, cmd tea.Cmd) {
	b, ok := m.deps.Keys.Find(msg.String(), keys.OnSummary)
	if !ok {
		return false, nil
	}
	switch b.Action {
	case keys.Up:
		m.top--
	case keys.Down:
		m.top++
	case keys.PageUp:
		m.top -= max(1, m.room()-1)
	case keys.PageDown:
		m.top += max(1, m.room()-1)
	case keys.Open:
		id := m.runID
		return true, func() tea.Msg { return OpenSteps{id} }
	default:
		return false, nil
	}
	return true, nil
}

// SetPainter changes the theme.
func (m *Model) SetPainter(p *paint.Painter) {
	m.deps.Painter, m.lines = p, nil
}

// Resize tells the screen its size.
func (m *Model) Resize(width, height int) {
	if width != m.width {
		m.lines = nil
	}
	m.width, m.height = width, height
}

// room is how many lines the body has.
func (m *Model) room() int { return m.height - 2 }
