// Package runs is the list of every run in the store: what ran, how it ended, what it cost, found by typing.
package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
)

// refreshEvery bounds how often the list is read again while runs are going.
const refreshEvery = 500 * time.Millisecond

// pageSize is how many runs are read at first, so that the list stands at once.
const pageSize = 200

// Deps is what the screen works with.
type Deps struct {
	Store   *db.Store
	Keys    *keys.Map
	Painter *paint.Painter
	Now     func() time.Time
	Back    bool // there is a run to go back to
}

// Model is the screen. It is for the UI goroutine.
type Model struct {
	deps     Deps
	self     db.Actor // who looks
	all      []db.RunRow
	targets  []string        // what is searched, beside all
	latest   []db.RunRow     // what the watch read last
	complete bool            // all of the newest loadLimit are read
	field    textinput.Model // what is searched
	found    []match
	searched string // the query that found answers
	among    narrowed
	asked    int // number of the newest search
	stop     context.CancelFunc
	selected int
	opening  bool // the best of what is looked for is to be opened once it is found
	top      int
	order    order
	by       order // that what was found is in
	err      error
	life     context.Context // ends when the screen is left
	end      context.CancelFunc
	width    int
	height   int
}

// New makes the screen.
func New(deps Deps) *Model {
	m := &Model{deps: deps, self: db.Here("console"), field: textinput.New()}
	m.life, m.end = context.WithCancel(context.Background())
	m.field.CharLimit = 200
	_ = m.field.Focus() // the command blinks a cursor; ours stands still
	return m
}

type (
	loadedMsg struct {
		life     context.Context
		rows     []db.RunRow
		complete bool
		err      error
	}
	standingMsg struct {
		life   context.Context
		waiter *db.Waiter // nil when commits cannot be noticed
	}
	refreshedMsg struct {
		life   context.Context
		waiter *db.Waiter
		rows   []db.RunRow
	}
	foundMsg struct {
		life  context.Context
		asked int
		query string
		by    order
		found []match
		among narrowed
		more  tea.Cmd // finds the same and older runs besides; nil when there are none
	}
)

// OpenRun asks for a run to be shown.
type OpenRun struct{ ID int64 }

// Init reads the list: the first page at once, then the rest, and again whenever something is committed. The waiter stands
// before the first reading, so that no commit falls between the two.
func (m *Model) Init() tea.Cmd {
	ctx, store := m.life, m.deps.Store
	return func() tea.Msg {
		waiter, err := store.NewWaiter(ctx)
		if err != nil {
			return standingMsg{ctx, nil}
		}
		context.AfterFunc(ctx, func() { _ = waiter.Close() })
		return standingMsg{ctx, waiter}
	}
}

// Close lets go of the store.
func (m *Model) Close() { m.end() }

// lifeEvery is how often the list is read again while runs are driven: the death of a driver commits nothing.
const lifeEvery = 2 * time.Second

// watch waits for a commit of any process, then for the list's time to be read again. One watch is under way at a time, with
// the screen's one waiter.
func (m *Model) watch(waiter *db.Waiter) tea.Cmd {
	ctx, store := m.life, m.deps.Store
	driven := slices.ContainsFunc(m.all, db.RunRow.Driven)
	return func() tea.Msg {
		if !waited(ctx, waiter, driven) {
			return nil
		}
		rows, err := store.RunRows(ctx, pageSize)
		if err != nil {
			rows = nil // the next commit tries again
		}
		return refreshedMsg{ctx, waiter, rows}
	}
}

// waited returns when the list may have to be read again; false says that there is nothing more to wait for.
func waited(ctx context.Context, waiter *db.Waiter, driven bool) bool {
	waiting, stop := ctx, context.CancelFunc(func() {})
	if driven {
		waiting, stop = context.WithTimeout(ctx, lifeEvery)
	}
	err := waiter.Wait(waiting)
	stop()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(refreshEvery):
		return true
	}
}

// refresh puts the newest rows over what is known.
func (m *Model) refresh(rows []db.RunRow) {
	if len(rows) == 0 {
		return
	}
	oldest := rows[len(rows)-1].ID
	keep := slices.IndexFunc(m.all, func(r db.RunRow) bool { return r.ID < oldest })
	all := slices.Clone(rows)
	if keep >= 0 {
		all = append(all, m.all[keep:]...)
	}
	m.set(all)
}

// set takes a list and what is searched of it.
func (m *Model) set(rows []db.RunRow) {
	m.all = rows
	m.targets = make([]string, len(rows))
	for i, r := range rows {
		m.targets[i] = strings.Join([]string{r.Goal, r.Model, r.State(), r.Workspace, fmt.Sprint(r.ID)}, " ")
	}
}

func (m *Model) load(limit int) tea.Cmd {
	ctx, store := m.life, m.deps.Store
	return func() tea.Msg {
		rows, err := store.RunRows(ctx, limit)
		return loadedMsg{ctx, rows, limit >= loadLimit || len(rows) < limit, err}
	}
}

// Update handles what is not a key.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case loadedMsg:
		if msg.life != m.life { // of a list that was left
			return nil
		}
		if msg.err != nil {
			m.err = msg.err
			return nil
		}
		m.complete, m.err = msg.complete, nil
		m.set(msg.rows)
		m.refresh(m.latest) // which may be newer; when it is not, what happened since is on its way
		cmd := m.search()
		if !m.complete {
			cmd = tea.Batch(cmd, m.load(loadLimit))
		}
		return cmd
	case standingMsg:
		switch {
		case msg.life != m.life:
		case msg.waiter == nil:
			return m.load(pageSize)
		default:
			return tea.Batch(m.load(pageSize), m.watch(msg.waiter))
		}
	case refreshedMsg:
		if msg.life == m.life {
			if msg.rows != nil {
				m.latest = msg.rows
			}
			m.refresh(msg.rows)
			return tea.Batch(m.search(), m.watch(msg.waiter))
		}
	case foundMsg:
		if msg.life == m.life && msg.asked == m.asked {
			m.took(msg)
			if m.opening {
				m.opening = false
				return tea.Batch(m.open(), msg.more)
			}
			return msg.more
		}
	case tea.PasteMsg:
		m.field, _ = m.field.Update(msg)
		m.selected = 0
		return m.search()
	}
	return nil
}

// took shows what was found. While the same is looked for the selection stays on its run, wherever that stands by now: a
// run that begins meanwhile moves the others down.
func (m *Model) took(msg foundMsg) {
	at := -1
	if msg.query == m.searched && msg.by == m.by && m.selected < len(m.found) {
		id := m.found[m.selected].row.ID
		at = slices.IndexFunc(msg.found, func(f match) bool { return f.row.ID == id })
	}
	m.found, m.searched, m.by, m.among = msg.found, msg.query, msg.by, msg.among
	if at >= 0 {
		m.selected = at
	}
	m.move(0)
}

// Typing says that letters go to the search: always, on this screen.
func (m *Model) Typing() bool { return true }

// Press handles a key. Letters are the search; what else a key means is in the key map.
func (m *Model) Press(msg tea.KeyPressMsg) (handled bool, cmd tea.Cmd) {
	key := msg.String()
	before := m.field.Value()
	m.opening = false
	if (key == "esc" || key == "ctrl+c") && before != "" { // first it clears what was typed
		m.field.Reset()
		return true, m.search()
	}
	b, ok := m.deps.Keys.Find(key, keys.OnRuns)
	if !ok || b.Place != keys.OnRuns {
		m.field, _ = m.field.Update(msg)
		if m.field.Value() != before {
			m.selected = 0
			return true, m.search()
		}
		return msg.Text != "", nil
	}
	switch b.Action {
	case keys.Up:
		m.move(-1)
	case keys.Down:
		m.move(1)
	case keys.PageUp:
		m.move(-m.rows())
	case keys.PageDown:
		m.move(m.rows())
	case keys.Sort:
		m.order = (m.order + 1) % orders
		return true, m.search()
	case keys.Open:
		if m.opening = m.searched != before; !m.opening { // what stands there was found for less than was typed
			return true, m.open()
		}
	default:
		return false, nil
	}
	return true, nil
}

// open asks for the selected run.
func (m *Model) open() tea.Cmd {
	if m.selected >= len(m.found) {
		return nil
	}
	id := m.found[m.selected].row.ID
	return func() tea.Msg { return OpenRun{id} }
}

func (m *Model) rows() int { return max(1, m.height-6) }

func (m *Model) move(by int) {
	m.selected = max(0, min(m.selected+by, len(m.found)-1))
	if m.selected < m.top {
		m.top = m.selected
	}
	if m.selected >= m.top+m.rows() {
		m.top = m.selected - m.rows() + 1
	}
	m.top = max(0, min(m.top, len(m.found)-m.rows()))
}

// SetPainter changes the theme.
func (m *Model) SetPainter(p *paint.Painter) {
	m.deps.Painter = p
}

// Resize tells the screen its size.
func (m *Model) Resize(width, height int) {
	m.width, m.height = width, height
	m.move(0)
}
