package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/tui/card"
	"tillerman/tui/keys"
)

// Messages about the interrupted call.
type (
	stuckKeyMsg struct{ card *card.Stuck }
	changedMsg  struct {
		card  *card.Stuck
		words string
	}
	resolvedMsg struct {
		run  int64
		card *card.Stuck
		made db.Resolution
		err  error
	}
)

// showStuck puts the interrupted call on the screen and looks what changed since it began. A call that stays keeps its
// card.
func (m *Model) showStuck() tea.Cmd {
	s := m.snap.Stuck
	if s != nil && m.stuck != nil && m.stuck.Same(s.Call, s.BegunAt) {
		return nil
	}
	if m.stuck != nil && m.stuck.Field() {
		m.tear("the call you were writing about was resolved elsewhere, or the run has gone on")
	}
	if m.stuck = nil; s == nil {
		return nil
	}
	c := card.NewStuck(s.Call, s.BegunAt, m.deps.Pressed())
	m.stuck = c
	store, workspace := m.deps.Store, m.snap.Run.Workspace
	return tea.Batch(arm(card.ArmAfter), func() tea.Msg {
		return changedMsg{c, changedSince(store, workspace, c.Call)}
	})
}

// lookFor bounds how long a workspace is looked through.
const lookFor = 10 * time.Second

// namedFiles is how many changed files are named.
const namedFiles = 20

// changedSince says which files of the workspace are not as they were when the call began.
func changedSince(store *db.Store, workspace string, c db.Call) string {
	if c.Listing == "" {
		return "not known: no listing was made before it"
	}
	ctx, stop := context.WithTimeout(context.Background(), lookFor)
	defer stop()
	body, err := store.Content(ctx, c.Listing)
	var before tool.Listing
	if err == nil {
		err = json.Unmarshal(body, &before)
	}
	if err != nil {
		return "not known: the listing from before it cannot be read: " + err.Error()
	}
	now, err := tool.Snapshot(ctx, workspace)
	if err != nil {
		return "not known: the workspace cannot be seen from here: " + err.Error()
	}
	changed, files := before.Changed(now)
	switch {
	case !changed:
		return "nothing changed in the workspace since"
	case len(files) == 0:
		return "not known: the workspace is too large to compare"
	}
	var names []string
	for i, f := range files {
		if i == namedFiles {
			names = append(names, fmt.Sprintf("and %d more", len(files)-i))
			break
		}
		names = append(names, fmt.Sprintf("%s %s", f.Path, f.Kind))
	}
	return fmt.Sprintf("%d changed since: %s", len(files), strings.Join(names, ", "))
}

// pressStuck gives a key to the interrupted call. In a window that cannot show it nothing is resolved.
func (m *Model) pressStuck(msg tea.KeyPressMsg) (bool, tea.Cmd) {
	if m.tooSmall() {
		return false, nil
	}
	c, now := m.stuck, m.deps.Pressed()
	place := keys.OnStuck
	if c.Field() {
		place = keys.InFinding
	}
	b, _ := m.deps.Keys.Find(msg.String(), place)
	if b.Place != place {
		b = keys.Binding{}
	}
	if b.Action == keys.Copy {
		m.notice = "copied the call"
		return true, tea.SetClipboard(c.Payload())
	}
	handled, settle := c.Press(now, msg, b)
	if r := c.Confirm(b); r != nil {
		return true, m.resolve(*r)
	}
	var cmds []tea.Cmd
	if settle {
		cmds = append(cmds, tea.Tick(card.Alone, func(time.Time) tea.Msg { return stuckKeyMsg{c} }))
	}
	if !c.Armed(now) {
		cmds = append(cmds, arm(c.Arming(now)))
	}
	m.layout()
	return handled, tea.Batch(cmds...)
}

// stuckMsg handles the messages about the interrupted call.
func (m *Model) stuckMsg(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case stuckKeyMsg:
		if msg.card == m.stuck && m.stuck != nil {
			m.stuck.Settle(m.deps.Pressed())
		}
	case changedMsg:
		if msg.card == m.stuck && m.stuck != nil {
			m.stuck.Changed(msg.words)
			m.layout()
		}
	case resolvedMsg:
		if msg.err != nil && msg.card != nil {
			msg.card.Unstored(msg.made.Reason)
		}
		switch {
		case errors.Is(msg.err, db.ErrNotFound):
			m.say(msg.run, "somebody resolved it meanwhile")
		case msg.err != nil:
			m.say(msg.run, msg.err.Error())
		}
	}
	return nil
}

// resolve stores what became of the call, the way every surface does.
func (m *Model) resolve(r db.Resolution) tea.Cmd {
	store, id, c := m.deps.Store, m.runID, m.stuck
	r.Reason = m.clean(r.Reason)
	how := "key " + map[string]string{"done": "h", "retry": "a", "fail": "f"}[r.Answer]
	return m.write(func() tea.Msg {
		_, err := store.Resolve(context.Background(), id, r, db.Here(how))
		return resolvedMsg{id, c, r, err}
	})
}
