// Package tui is the console: one root model that routes keys and messages to a screen at a time. It starts runs through
// a function it is given, receives notices, writes decisions to the store and reads the store. It never reaches into the
// engine's loop.
package tui

import (
	"context"
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"tillerman/observer"
	"tillerman/themes"
	"tillerman/tui/audit"
	"tillerman/tui/card"
	"tillerman/tui/feed"
	"tillerman/tui/frame"
	"tillerman/tui/keys"
	"tillerman/tui/live"
	"tillerman/tui/paint"
	"tillerman/tui/runs"
	"tillerman/tui/summary"
)

// Model is the root. It is for the UI goroutine.
type Model struct {
	opts    Options
	painter *paint.Painter
	guard   *Guard

	live      *live.Model
	runs      *runs.Model
	summary   *summary.Model
	audit     *audit.Model
	screen    screen
	opens     int    // runs that were asked for
	auditFrom screen // where the audit trail leads back to
	help      bool
	quit      bool // asks whether to leave a live run
	leaving   card.Guard
	handing   bool // the run is being handed to another process
	helpTop   int
	left      bool // the person chose to leave
	width     int
	height    int
	focused   bool
	profile   colorprofile.Profile
	status    *status
	writes    sync.WaitGroup // what stores something that a person decided or asked for
}

type screen int

const (
	runsScreen screen = iota
	liveScreen
	summaryScreen
	auditScreen
)

// New makes the console.
func New(opts Options, guard *Guard) (*Model, error) {
	m := &Model{opts: opts, guard: guard, focused: true, profile: colorprofile.TrueColor, status: &status{}}
	if opts.Pressed == nil {
		m.opts.Pressed = time.Now
	}
	if opts.Keys == nil {
		m.opts.Keys = keys.Default()
	}
	name := opts.Theme
	if name == "" {
		name = "dark"
	}
	return m, m.setTheme(name)
}

func (m *Model) setTheme(name string) error {
	t, err := themes.Load(name)
	if err != nil {
		return err
	}
	m.painter = paint.New(t, m.profile, m.opts.ASCII)
	return nil
}

// Init opens the first screen and asks the terminal what it is.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{askSynchronized()}
	if m.opts.Theme == "" {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	switch {
	case m.opts.Own != nil:
		cmds = append(cmds, m.openLive(m.opts.Own.ID), m.whenThrough())
	case m.opts.Watch != 0:
		cmds = append(cmds, m.openLive(m.opts.Watch))
	default:
		cmds = append(cmds, m.openRuns())
	}
	return tea.Batch(cmds...)
}

func (m *Model) openRuns() tea.Cmd {
	if m.runs != nil {
		m.runs.Close()
	}
	m.closeAudit()
	m.runs = runs.New(runs.Deps{Store: m.opts.Store, Keys: m.opts.Keys, Painter: m.painter, Now: m.opts.Now, Back: m.ownRuns()})
	m.runs.Resize(m.width, m.height)
	m.screen = runsScreen
	return m.runs.Init()
}

// throughMsg says that the engine of this console's run is through.
type throughMsg struct{}

// whenThrough waits for the engine of this console's run.
func (m *Model) whenThrough() tea.Cmd {
	done := m.opts.Own.Done
	return func() tea.Msg {
		<-done
		return throughMsg{}
	}
}

// openLive shows a run's steps, as they come or as they were.
func (m *Model) openLive(id int64) tea.Cmd {
	closing := m.closeLive()
	var events <-chan observer.Event
	var text *feed.Live
	if own := m.opts.Own; own != nil && own.ID == id {
		events, text = own.Events, own.Live
		own.Events = nil // one reader; coming back to it later reads the store, as any other screen
	}
	f := feed.Open(m.opts.Store, id, max(1, m.height), events, text, m.guard.Go)
	m.live = live.New(live.Deps{
		Store: m.opts.Store, Keys: m.opts.Keys, Painter: m.painter, Now: m.opts.Now, Pressed: m.opts.Pressed, Home: m.opts.Home, Flag: m.flag(id),
		Settle: m.opts.Settle, Check: m.opts.CheckBudget, Clean: m.opts.Clean, Propose: m.opts.Propose, Edit: m.opts.Edit, Shown: m.liveShown, Write: m.write, Leaves: func() bool { return m.handing && m.opts.Own.ID == id },
	}, id, f)
	m.live.Resize(m.width, m.height)
	m.screen = liveScreen
	if m.help || m.quit {
		m.cover()
	}
	return tea.Batch(closing, m.live.Init())
}

// flag sets the cancel flag of this console's own run; runs of other processes read the stored wish alone.
func (m *Model) flag(id int64) func() {
	if own := m.opts.Own; own != nil && own.ID == id && own.Cancel != nil {
		return own.Cancel
	}
	return func() {}
}

// closeLive lets go of the run on the screen, off the UI goroutine: it waits for a reader.
func (m *Model) closeLive() tea.Cmd {
	old := m.live
	if old == nil {
		return nil
	}
	m.live = nil
	return func() tea.Msg {
		old.Close()
		return nil
	}
}

func (m *Model) openSummary(id int64) tea.Cmd {
	m.summary = summary.New(summary.Deps{Store: m.opts.Store, Keys: m.opts.Keys, Painter: m.painter}, id)
	m.summary.Resize(m.width, m.height)
	m.screen = summaryScreen
	return m.summary.Init()
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		cmd = m.resize()
	case tea.BackgroundColorMsg:
		name := "light"
		if msg.IsDark() {
			name = "dark"
		}
		if m.opts.Theme == "" && m.painter.Theme().Name != name {
			if m.setTheme(name) == nil {
				cmd = m.repaint()
			}
		}
	case tea.ColorProfileMsg:
		if m.profile = msg.Profile; m.setTheme(m.painter.Theme().Name) == nil {
			cmd = m.repaint()
		}
	case tea.FocusMsg:
		m.focused = true
	case tea.BlurMsg:
		m.focused = false
	case tea.KeyPressMsg:
		cmd = m.press(msg)
	case live.Ended:
		if m.screen == liveScreen && m.live != nil && m.live.RunID() == msg.RunID && !m.help && !m.quit && !m.live.Torn() {
			cmd = m.openSummary(msg.RunID)
		}
	case summary.OpenSteps:
		if m.screen == summaryScreen && m.summary.RunID() == msg.ID {
			cmd = m.openLive(msg.ID)
		}
	case runs.OpenRun:
		cmd = m.openRun(msg.ID)
	case throughMsg:
		if m.handing {
			cmd = tea.Quit
			break
		}
		if err := m.opts.Own.Err(); err != nil && m.live != nil && m.live.RunID() == m.opts.Own.ID {
			m.live.Fail(fmt.Errorf("nobody drives this run any more: %w", err))
		}
		if m.quit { // nothing is left to ask about
			cmd = m.stay()
			if m.screen == liveScreen && m.live != nil && m.live.RunID() == m.opts.Own.ID {
				if s := m.live.Snapshot(); s != nil && s.Summary != nil {
					cmd = m.openSummary(m.opts.Own.ID)
				}
			}
		}
	case tea.ResumeMsg:
		m.leaving = card.NewGuard(m.opts.Pressed())
		cmd = tea.Batch(m.pass(msg), m.armLeaving())
	case leaveMsg:
		if m.quit {
			cmd = m.leaves(keys.Action(m.leaving.Settle(m.opts.Pressed())))
		}
	case openMsg:
		switch {
		case msg.nth != m.opens || m.screen != runsScreen: // the person has gone elsewhere meanwhile
		case msg.ended:
			cmd = m.openSummary(msg.id)
		default:
			cmd = m.openLive(msg.id)
		}
	default:
		cmd = m.pass(msg)
	}
	return m, tea.Batch(cmd, m.announce())
}

// pass gives a message to every screen that is open: each knows its own.
func (m *Model) pass(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	if paste, ok := msg.(tea.PasteMsg); ok { // only to what is on top
		switch {
		case m.help || m.quit:
			return nil
		case m.screen == runsScreen && m.runs != nil:
			return m.runs.Update(paste)
		case m.screen == liveScreen && m.live != nil:
			return m.live.Update(paste)
		}
		return nil
	}
	if m.live != nil {
		cmds = append(cmds, m.live.Update(msg))
	}
	if m.runs != nil {
		cmds = append(cmds, m.runs.Update(msg))
	}
	if m.summary != nil {
		cmds = append(cmds, m.summary.Update(msg))
	}
	if m.audit != nil {
		cmds = append(cmds, m.audit.Update(msg))
	}
	return tea.Batch(cmds...)
}

type openMsg struct {
	nth   int
	id    int64
	ended bool
}

// openRun shows an ended run's summary and any other run's steps.
func (m *Model) openRun(id int64) tea.Cmd {
	m.opens++
	nth, store := m.opens, m.opts.Store
	return func() tea.Msg {
		_, err := store.Summary(context.Background(), id)
		return openMsg{nth, id, err == nil}
	}
}

func (m *Model) resize() (cmd tea.Cmd) {
	if m.live != nil {
		cmd = m.live.Resize(m.width, m.height)
	}
	if m.runs != nil {
		m.runs.Resize(m.width, m.height)
	}
	if m.summary != nil {
		m.summary.Resize(m.width, m.height)
	}
	if m.audit != nil {
		m.audit.Resize(m.width, m.height)
	}
	return cmd
}

// repaint gives every screen the new theme.
func (m *Model) repaint() tea.Cmd {
	if m.live != nil {
		m.live.SetPainter(m.painter)
	}
	if m.runs != nil {
		m.runs.SetPainter(m.painter)
	}
	if m.summary != nil {
		m.summary.SetPainter(m.painter)
	}
	if m.audit != nil {
		m.audit.SetPainter(m.painter)
	}
	return nil
}

// View draws the screen, or what lies on it.
func (m *Model) View() tea.View {
	v := tea.NewView(m.draw())
	v.AltScreen = true
	v.ReportFocus = true
	m.status.put(&v, m)
	return v
}

func (m *Model) draw() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	switch {
	case frame.TooSmall(m.width, m.height):
		return frame.Small(m.painter, m.width, m.height)
	case m.help:
		return m.helpView()
	case m.quit:
		return m.quitView()
	}
	switch m.screen {
	case liveScreen:
		if m.live != nil {
			return m.live.View()
		}
	case summaryScreen:
		if m.summary != nil {
			return m.summary.View()
		}
	}
	if m.screen == auditScreen && m.audit != nil {
		return m.audit.View()
	}
	if m.runs != nil {
		return m.runs.View()
	}
	return frame.Message(m.painter, m.width, m.height, "opening", nil)
}

// ownRuns says that the engine of this console's run is still at work.
func (m *Model) ownRuns() bool {
	if m.opts.Own == nil {
		return false
	}
	select {
	case <-m.opts.Own.Done:
		return false
	default:
		return true
	}
}

// liveShown says that the run is on the screen, or what it waits for is.
func (m *Model) liveShown() bool {
	return m.quit && m.handing || m.screen == liveScreen && !m.help && !m.quit
}

// Left says that the person left while the run of this console was still going: it is to be cancelled or had been.
func (m *Model) Left() bool { return m.left }
