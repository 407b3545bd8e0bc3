// Package audit is the screen of the audit trail: whether it is whole, and its rows, newest first, with who let each act
// happen. It reads the store and changes nothing.
package audit

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/db/audit"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
)

// Deps is what the screen works with.
type Deps struct {
	Store   *db.Store
	Keys    *keys.Map
	Painter *paint.Painter
	// Verify checks the whole trail; it tells of the rows it has looked at and ends with ctx. Without it the trail is
	// verified with neither key nor anchors.
	Verify func(ctx context.Context, progress func(rows int64)) (audit.Report, error)
}

// page is how many rows are read at once.
const page = 200

// Model is the screen. It is for the UI goroutine.
type Model struct {
	deps     Deps
	run      int64   // whose rows are shown, 0 for all
	before   []int64 // where each page that was turned to begins: rows below this number, 0 for the newest
	rows     []audit.Entry
	asked    int  // number of the newest read
	reading  bool // it is under way
	selected int
	top      int
	account  []string // of the selected row, once asked for
	report   *audit.Report
	checked  int64 // rows looked at so far
	err      error // of reading
	unproven error // of verifying
	life     context.Context
	end      context.CancelFunc
	checking context.Context // of the newest verifying
	restart  context.CancelFunc
	width    int
	height   int
}

// New makes the screen for one run's rows, for all runs' with 0.
func New(deps Deps, run int64) *Model {
	m := &Model{deps: deps, run: run, before: []int64{0}}
	if deps.Verify == nil {
		m.deps.Verify = m.rowsAlone
	}
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

// rowsAlone verifies without key and anchors.
func (m *Model) rowsAlone(ctx context.Context, _ func(int64)) (audit.Report, error) {
	var v audit.Verifier
	for l, err := range m.deps.Store.AuditRows(ctx, 0, 0) {
		if err != nil {
			return audit.Report{}, err
		}
		if v.Add(l) != nil {
			break
		}
	}
	return v.Report(), nil
}

type (
	rowsMsg struct {
		life  context.Context
		asked int
		rows  []audit.Entry
		last  bool // select the last of them
		err   error
	}
	accountMsg struct {
		life  context.Context
		seq   int64
		words []string
	}
	verifiedMsg struct {
		check  context.Context
		report audit.Report
		err    error
	}
	progressMsg struct {
		check context.Context
		rows  int64
		next  <-chan int64
	}
)

// Init reads the newest rows and verifies the trail.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.read(false), m.verify()) }

// Close ends what is still being read.
func (m *Model) Close() { m.end() }

// read reads the page that is turned to.
func (m *Model) read(last bool) tea.Cmd {
	m.asked++
	m.reading = true
	ctx, store, asked, run, before := m.life, m.deps.Store, m.asked, m.run, m.before[len(m.before)-1]
	return func() tea.Msg {
		links, err := store.AuditBefore(ctx, run, before, page)
		msg := rowsMsg{life: ctx, asked: asked, last: last, err: err}
		for _, l := range links {
			e, err := audit.Parse(l.Body)
			if err != nil {
				e = audit.Entry{Seq: l.Seq, Action: "unreadable", Reason: err.Error()}
			}
			msg.rows = append(msg.rows, e)
		}
		return msg
	}
}

// verify checks the trail off the UI goroutine; a second command brings how far it is. A newer one ends an older one.
func (m *Model) verify() tea.Cmd {
	m.report, m.unproven, m.checked = nil, nil, 0
	if m.restart != nil {
		m.restart()
	}
	m.checking, m.restart = context.WithCancel(m.life)
	ctx, check := m.checking, m.deps.Verify
	told := make(chan int64, 1)
	work := func() tea.Msg {
		defer close(told)
		report, err := check(ctx, func(rows int64) {
			select {
			case told <- rows:
			default: // the last one has not been taken yet
			}
		})
		return verifiedMsg{ctx, report, err}
	}
	return tea.Batch(work, listen(ctx, told))
}

func listen(ctx context.Context, told <-chan int64) tea.Cmd {
	return func() tea.Msg {
		if rows, more := <-told; more {
			return progressMsg{ctx, rows, told}
		}
		return nil
	}
}

// Update handles what is not a key.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case rowsMsg:
		if msg.life != m.life || msg.asked != m.asked {
			return nil
		}
		m.err, m.reading = msg.err, false
		if len(msg.rows) == 0 && len(m.before) > 1 { // there was nothing behind the page before
			m.before = m.before[:len(m.before)-1]
			return nil
		}
		m.rows, m.selected, m.top, m.account = msg.rows, 0, 0, nil
		if msg.last {
			m.selected = len(m.rows) - 1
		}
		m.show()
	case accountMsg:
		if msg.life == m.life && m.selected < len(m.rows) && m.rows[m.selected].Seq == msg.seq {
			m.account = msg.words
			m.show()
		}
	case verifiedMsg:
		if msg.check == m.checking {
			m.report, m.unproven = &msg.report, msg.err
		}
	case progressMsg:
		if msg.check == m.checking {
			m.checked = msg.rows
			return listen(m.checking, msg.next)
		}
	}
	return nil
}

// Press handles a key.
func (m *Model) Press(msg tea.KeyPressMsg) (handled bool, cmd tea.Cmd) {
	b, ok := m.deps.Keys.Find(msg.String(), keys.OnAudit)
	if !ok || b.Place != keys.OnAudit {
		return false, nil
	}
	switch b.Action {
	case keys.Up:
		return true, m.move(-1)
	case keys.Down:
		return true, m.move(1)
	case keys.PageUp:
		return true, m.move(-m.room())
	case keys.PageDown:
		return true, m.move(m.room())
	case keys.Top:
		m.before = []int64{0}
		return true, m.read(false)
	case keys.Open:
		return true, m.ask()
	case keys.OneRun:
		return true, m.filter()
	case keys.Verify:
		m.before = []int64{0}
		return true, tea.Batch(m.read(false), m.verify())
	}
	return false, nil
}

// move selects another row, and turns the page at its ends.
func (m *Model) move(by int) tea.Cmd {
	if len(m.rows) == 0 {
		return nil
	}
	to := m.selected + by
	switch {
	case m.reading && (to < 0 || to >= len(m.rows)): // a page is being turned already
		return nil
	case to >= len(m.rows) && m.selected == len(m.rows)-1 && len(m.rows) == page:
		m.before = append(m.before, m.rows[len(m.rows)-1].Seq)
		return m.read(false)
	case to < 0 && m.selected == 0 && len(m.before) > 1:
		m.before = m.before[:len(m.before)-1]
		return m.read(true)
	}
	m.selected, m.account = max(0, min(to, len(m.rows)-1)), nil
	m.show()
	return nil
}

// show scrolls to the selected row.
func (m *Model) show() {
	m.top = max(0, min(m.top, m.selected, len(m.rows)-m.room()))
	if m.selected >= m.top+m.room() {
		m.top = m.selected - m.room() + 1
	}
}

// filter shows the rows of the selected row's run alone, or those of all runs again.
func (m *Model) filter() tea.Cmd {
	switch {
	case m.run != 0:
		m.run = 0
	case m.selected < len(m.rows) && m.rows[m.selected].RunID != 0:
		m.run = m.rows[m.selected].RunID
	default:
		return nil
	}
	m.before = []int64{0}
	return m.read(false)
}

// ask finds who let the selected act happen, from the rows of its run up to it.
func (m *Model) ask() tea.Cmd {
	if m.selected >= len(m.rows) {
		return nil
	}
	ctx, store, e := m.life, m.deps.Store, m.rows[m.selected]
	return func() tea.Msg {
		var ledger audit.Ledger
		words := []string{"this row lets nothing happen: nobody has to answer for it"}
		if e.RunID == 0 {
			return accountMsg{ctx, e.Seq, words}
		}
		for l, err := range store.AuditRows(ctx, e.RunID, 0) {
			row, parsed := audit.Parse(l.Body)
			if err != nil || parsed != nil {
				return accountMsg{ctx, e.Seq, []string{fmt.Sprintf("row %d cannot be read", l.Seq)}}
			}
			acc, err := ledger.Add(row)
			if row.Seq < e.Seq {
				continue
			}
			switch {
			case err != nil:
				words = []string{"NOT ACCOUNTED FOR: " + err.Error()}
			case acc != nil:
				words = acc.Words()
			}
			break
		}
		return accountMsg{ctx, e.Seq, words}
	}
}

// SetPainter changes the theme.
func (m *Model) SetPainter(p *paint.Painter) { m.deps.Painter = p }

// Resize tells the screen its size.
func (m *Model) Resize(width, height int) {
	m.width, m.height = width, height
	m.show()
}
