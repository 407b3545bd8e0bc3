// Package live is the screen of one run: what it is doing, what it did, what it wants, what it has spent. A run in this
// process, one that another process drives, and one that has ended are shown alike.
package live

import (
	"cmp"
	"context"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/core"
	"tillerman/db"
	"tillerman/tui/budget"
	"tillerman/tui/card"
	"tillerman/tui/detail"
	"tillerman/tui/feed"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/steps"
)

// Deps is what the screen works with.
type Deps struct {
	Store   *db.Store
	Keys    *keys.Map
	Painter *paint.Painter
	Now     func() time.Time // what is shown
	Pressed func() time.Time // when a key was pressed, for decision safety
	Home    string           // the person's home folder, shown as ~ in the header only
	Flag    func()           // sets the cancel flag of a run of this process
	// Settle ends a run that nobody drives, right there: kind is cancel or kill. nil is that this console cannot.
	Settle func(ctx context.Context, runID int64, kind string) error
	// Check says why a budget cannot hold; nil checks nothing.
	Check func(ctx context.Context, runID int64, b db.Budget) error
	// Propose tries a rule for the rest of a run, made of what a request asks or of the words given. nil gives no rules.
	Propose func(ctx context.Context, r db.Request, match []string) (core.RuleProposal, error)
	// Edit prepares a person's own editor on a text: the command to run, and what reads the text after it and removes
	// every trace. nil is that there is none.
	Edit   func(body string) (cmd *exec.Cmd, done func() (string, error), err error)
	Clean  func(string) string // takes secrets out of what was typed
	Shown  func() bool         // the screen is the one that is seen
	Leaves func() bool         // the run is being handed to another process
	// Write begins at once what stores something that a person decided or asked for, and returns what brings its message:
	// whoever leaves right after does not take it back. nil begins it with the command.
	Write func(work func() tea.Msg) tea.Cmd
}

// Model is the screen. It is for the UI goroutine.
type Model struct {
	deps  Deps
	runID int64
	self  db.Actor // who looks
	feed  *feed.Feed

	snap     *feed.Snapshot
	err      error  // of reading the run, until it can be read again
	failed   error  // the engine has failed
	notice   string // what the last key led to
	selected int    // step
	follow   bool
	top      int // first step drawn
	list     steps.List

	detail      detail.Detail
	asked       int   // number of the newest reading of it
	shown       int   // number of the one that is shown
	detailErr   error // of reading it
	detailKnown bool
	detailLines []string
	detailWidth int
	detailTop   int
	onlyDetail  bool // in a window with room for one pane

	card *card.Card
	// deciding is the request that this person has decided here: what was open on its card has done its work.
	deciding int64
	away     *card.Card  // whose change is with a person's own editor, nil for none
	editors  int         // that were asked for
	stuck    *card.Stuck // an interrupted call that waits for a word
	over     overlay     // what takes the keys before all else
	tell     *card.Field
	form     *budget.Form
	untold   string       // a message that could not be sent
	unset    *budget.Form // ceilings that could not be set
	pauses   string       // what the key for a pause said when it was pressed: pause, continue
	rules    rules        // the list of them, while it is open
	kill     card.Guard   // of the key that kills
	guard    card.Guard   // of the keys that steer the run
	torn     *card.Guard  // a field was closed that somebody may still be typing into, nil once they have seen it
	width    int
	height   int
	ticks    bool // a tick is on its way
	covered  bool // something that is no part of this screen lies over it
}

// New makes the screen of a run that f feeds.
func New(deps Deps, runID int64, f *feed.Feed) *Model {
	return &Model{deps: deps, runID: runID, self: db.Here("console"), feed: f, follow: true, guard: card.NewGuard(deps.Pressed())}
}

// Messages of this screen. They carry the feed they belong to, so that a late one of another run is dropped.
type (
	snapshotMsg struct {
		feed *feed.Feed
		snap *feed.Snapshot
		err  error
	}
	detailMsg struct {
		feed   *feed.Feed
		asked  int
		detail detail.Detail
		err    error
	}
	tickMsg    struct{ feed *feed.Feed }
	settleMsg  struct{ card *card.Card }
	armMsg     struct{}
	decidedMsg struct {
		run     int64
		card    *card.Card
		made    db.Decision
		request db.Request
		err     error
	}
)

// Ended is sent once when a run of this process or another has ended while it was on the screen.
type Ended struct{ RunID int64 }

// Init starts taking snapshots.
func (m *Model) Init() tea.Cmd { return m.next() }

func (m *Model) next() tea.Cmd {
	f := m.feed
	return func() tea.Msg {
		snap, err := f.Next()
		if snap == nil && err == nil {
			return nil // closed
		}
		return snapshotMsg{f, snap, err}
	}
}

// RunID is the run on the screen.
func (m *Model) RunID() int64 { return m.runID }

// Snapshot is what is on the screen, nil before the first.
func (m *Model) Snapshot() *feed.Snapshot { return m.snap }

// Waiting says that a question is on the screen.
func (m *Model) Waiting() bool { return m.card != nil }

// Stuck says that an interrupted call on the screen waits for a word.
func (m *Model) Stuck() bool { return m.stuck != nil }

// Typing says that a text field, or a question of its own, takes the keys.
func (m *Model) Typing() bool {
	return m.over != nothing || m.card != nil && m.card.Field() || m.stuck != nil && m.stuck.Field()
}

// Close ends the feed. It is to be called off the UI goroutine: it waits.
func (m *Model) Close() { m.feed.Close() }

// Update handles what is not a key.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotMsg:
		if msg.feed == m.feed {
			return tea.Batch(m.took(msg), m.next())
		}
	case detailMsg:
		if msg.feed == m.feed && msg.detail.Step == m.selected && msg.asked > m.shown { // one that was overtaken is older
			m.shown, m.detailErr = msg.asked, msg.err
			m.detail, m.detailKnown, m.detailLines = msg.detail, msg.err == nil, nil
		}
	case tickMsg:
		if msg.feed == m.feed {
			m.ticks = false
			return m.tick()
		}
	case settleMsg:
		if msg.card == m.card && m.card != nil {
			d := m.card.Settle(m.deps.Pressed())
			m.layout()
			return tea.Batch(m.decide(d), m.try(), arm(card.ArmAfter))
		}
	case triedMsg, editorMsg, exitedMsg, editedMsg, revokedMsg:
		return m.answered(msg)
	case tea.ResumeMsg: // keys went to the shell until now
		m.rearm()
		return arm(card.ArmAfter)
	case armMsg: // only to draw it armed
	case decidedMsg:
		m.decided(msg)
	case tea.PasteMsg:
		m.paste(msg.Content)
		return m.try()
	default:
		return m.steer(msg)
	}
	return nil
}

// paste gives pasted text to what has the keys.
func (m *Model) paste(s string) {
	now := m.deps.Pressed()
	m.guard.Disturb(now)
	m.kill.Disturb(now)
	m.rules.guard.Disturb(now)
	switch {
	case m.over == telling:
		m.tell.Insert(s)
	case m.over == budgeting:
		m.form.Insert(s)
	case m.over == killing, m.over == listing:
	default:
		if m.card != nil && m.away != m.card {
			m.card.Disturb(now, s)
		}
		if m.stuck != nil {
			m.stuck.Disturb(now, s)
		}
	}
}

// write stores something that a person decided or asked for.
func (m *Model) write(work func() tea.Msg) tea.Cmd {
	if m.deps.Write == nil {
		return work
	}
	return m.deps.Write(work)
}

// Fail shows that the engine of this run has failed.
func (m *Model) Fail(err error) { m.failed = err }

// fault is what went wrong and still is, nil for nothing.
func (m *Model) fault() error { return cmp.Or(m.failed, m.err, m.detailErr) }

// took puts a snapshot on the screen.
func (m *Model) took(msg snapshotMsg) tea.Cmd {
	if m.err = msg.err; msg.err != nil {
		return nil
	}
	ended := m.snap != nil && m.snap.Summary == nil && msg.snap.Summary != nil
	m.snap = msg.snap
	if m.follow || m.selected == 0 {
		m.selected = max(1, m.snap.Total)
	}
	cmds := []tea.Cmd{m.loadDetail(), m.tick(), m.showCard(), m.showStuck()}
	if m.snap.Summary != nil && m.over != listing { // nothing is left to steer
		if m.over == telling || m.over == budgeting {
			m.tear("the run has ended while you wrote: nothing was sent")
		}
		m.close()
	}
	if m.over == budgeting {
		m.form.Stands(m.snap.Limits, m.used())
	}
	m.layout()
	if ended {
		id := m.runID
		cmds = append(cmds, func() tea.Msg { return Ended{id} })
	}
	return tea.Batch(cmds...)
}

// loadDetail reads the selected step's facts. One that is sealed does not change and is read once.
func (m *Model) loadDetail() tea.Cmd {
	if m.snap == nil || m.snap.Total == 0 {
		return nil
	}
	if m.detailKnown && m.detail.Step == m.selected && m.detail.Sealed != nil && (m.selected < m.snap.Total || m.snap.Summary != nil && len(m.detail.Gates) >= m.snap.Gates) {
		return nil
	}
	m.asked++
	f, asked, store, run, step := m.feed, m.asked, m.deps.Store, m.runID, m.selected
	return func() tea.Msg {
		d, err := detail.Load(context.Background(), store, run, step)
		return detailMsg{f, asked, d, err}
	}
}

// Doing is what the run is at, in words; "" while it is not known.
func (m *Model) Doing() string {
	if m.snap == nil {
		return ""
	}
	return m.doing()
}

// Tick ticks while something on the screen moves.
func (m *Model) Tick() tea.Cmd { return m.tick() }

// Cover says that something lies over the screen: what comes up behind it is not seen.
func (m *Model) Cover() { m.covered = true }

// Wake says that the screen is seen again. What stands on it arms anew: it may have come meanwhile, and keys went elsewhere.
func (m *Model) Wake() tea.Cmd {
	m.covered = false
	m.rearm()
	m.layout()
	return tea.Batch(m.tick(), arm(card.ArmAfter))
}

// rearm makes everything on the screen that a key decides arm anew from now.
func (m *Model) rearm() {
	now := m.deps.Pressed()
	m.guard, m.kill, m.rules.guard = card.NewGuard(now), card.NewGuard(now), card.NewGuard(now)
	if m.card != nil {
		m.card.Rearm(now)
	}
	if m.stuck != nil {
		m.stuck.Rearm(now)
	}
}

// moves says that a figure on the screen changes by itself: a model, a tool or a check is at work, or a wait between two
// model calls runs down.
func (m *Model) moves() bool {
	s := m.snap
	if s == nil || !s.Driven || s.Unseen {
		return false
	}
	switch s.Now.Kind {
	case "", "question", "pause":
		return false
	case "retry":
		return s.Now.Retry != nil && m.deps.Now().UnixMilli() < s.Now.Retry.Until
	}
	return true
}

// tick draws once a second while something moves and is seen. Nothing ticks while the run waits for a person, is paused
// or has ended.
func (m *Model) tick() tea.Cmd {
	if m.ticks || !m.moves() || m.deps.Shown != nil && !m.deps.Shown() {
		return nil
	}
	m.ticks = true
	f := m.feed
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{f} })
}
