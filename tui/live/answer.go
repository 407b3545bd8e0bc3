package live

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	tea "charm.land/bubbletea/v2"

	"tillerman/core"
	"tillerman/db"
	"tillerman/tui/card"
	"tillerman/tui/keys"
	"tillerman/tui/plain"
)

// Messages about an answer that is more than a yes or a no.
type (
	// triedMsg is what a rule would do.
	triedMsg struct {
		card     *card.Card
		trial    *card.Trial
		proposal core.RuleProposal
		err      error
	}
	// editorMsg is a person's own editor, ready to run.
	editorMsg struct {
		card *card.Card
		nth  int
		cmd  *exec.Cmd
		done func() (string, error)
		err  error
	}
	// editedMsg is the text as that editor left it.
	editedMsg struct {
		card  *card.Card
		value string
		err   error
	}
	// exitedMsg says that the editor has gone; what it left is still to be read.
	exitedMsg struct {
		card *card.Card
		done func() (string, error)
		err  error
	}
	revokedMsg struct {
		run int64
		err error
	}
)

// answered handles these messages. One about a question that has gone is dropped.
func (m *Model) answered(msg tea.Msg) tea.Cmd {
	now := m.deps.Pressed()
	switch msg := msg.(type) {
	case triedMsg:
		if msg.card != m.card || m.card == nil {
			return nil
		}
		m.card.Tried(now, msg.trial, msg.proposal, msg.err)
		m.layout()
		return tea.Batch(m.try(), arm(m.card.Arming(now)))
	case editorMsg:
		return m.openEditor(msg)
	case exitedMsg:
		return func() tea.Msg {
			value, err := msg.done()
			if msg.err != nil {
				err = fmt.Errorf("the editor failed: %w", msg.err)
			}
			return editedMsg{msg.card, value, err}
		}
	case editedMsg:
		m.guard = card.NewGuard(now)
		if m.away == msg.card {
			m.away = nil
		}
		if msg.card != m.card || m.card == nil {
			m.notice = "the question has gone while you edited: nothing was changed"
			return nil
		}
		if !m.card.Changed(now, msg.value, msg.err) {
			m.notice = "the change was left: nothing was changed"
		}
		m.layout()
		return arm(m.card.Arming(now))
	case revokedMsg:
		switch {
		case errors.Is(msg.err, db.ErrNotFound):
			m.say(msg.run, "that rule was revoked already")
		case msg.err != nil:
			m.say(msg.run, msg.err.Error())
		}
	}
	return nil
}

// about is what the card of a request says beside it.
func (m *Model) about(r db.Request) card.About {
	a := m.snap.Asks
	if a.RequestID != r.ID {
		return card.About{}
	}
	return card.About{
		Before: plain.BeforeWords(a.Before), Arguments: a.Arguments, Asked: a.Asked, Choices: a.Choices,
		Rules: m.deps.Propose != nil && r.Position != nil,
	}
}

// try tries the rule that a person looks at or types, one trial at a time.
func (m *Model) try() tea.Cmd {
	if m.card == nil || m.deps.Propose == nil {
		return nil
	}
	t := m.card.Trial()
	if t == nil {
		return nil
	}
	c, propose, match := m.card, m.deps.Propose, make([]string, 0, len(t.Match))
	for _, words := range t.Match { // what is shown is what is stored
		match = append(match, m.clean(words))
	}
	return func() tea.Msg {
		p, err := propose(context.Background(), c.Request, match)
		return triedMsg{c, t, p, err}
	}
}

// outside opens a person's own editor on the arguments that are being changed.
func (m *Model) outside() tea.Cmd {
	body, ok := m.card.Changing()
	if !ok {
		return nil
	}
	c, edit := m.card, m.deps.Edit
	if edit == nil {
		m.notice = "there is no editor here"
		return nil
	}
	m.away = c
	m.editors++
	nth := m.editors
	return func() tea.Msg {
		cmd, done, err := edit(body)
		return editorMsg{c, nth, cmd, done, err}
	}
}

// openEditor gives the terminal to the editor and takes it back. An editor for a change that was left meanwhile is not
// opened.
func (m *Model) openEditor(msg editorMsg) tea.Cmd {
	if msg.nth != m.editors || m.away == nil || m.away != m.card {
		return func() tea.Msg {
			if msg.err == nil {
				_, _ = msg.done() // removes every trace
			}
			return nil
		}
	}
	if msg.err != nil {
		m.away = nil
		m.notice = msg.err.Error()
		return nil
	}
	return tea.ExecProcess(msg.cmd, func(err error) tea.Msg { return exitedMsg{msg.card, msg.done, err} })
}

// pressedFor names the key that a decision was made with.
func pressedFor(r db.Request, d *db.Decision) string {
	switch {
	case d.Rule != nil:
		return "key A"
	case d.ChangedArgs != "":
		return "key e"
	case d.Stop:
		return "key D"
	case d.Answer == "approve" && r.Act == db.QuestionAct && len(d.Reason) == 1 && d.Reason >= "1" && d.Reason <= "9":
		return "key " + d.Reason
	case d.Answer == "approve" && r.Act == db.QuestionAct:
		return "key w"
	}
	return "key " + map[string]string{"approve": "a", "deny": "d", "defer": "f"}[d.Answer]
}

// Asked says that the question on the screen is one of the agent's.
func (m *Model) Asked() bool { return m.card != nil && m.card.Request.Act == db.QuestionAct }

// Off is why an action does not answer the question on the screen, "" when it does.
func (m *Model) Off(a keys.Action) string {
	switch {
	case m.card == nil:
		return "nothing is asked"
	case a == keys.Copy, a == keys.PageUp, a == keys.PageDown, m.card.Takes(a):
		return ""
	case m.card.Request.Act == db.BudgetAct:
		return "a budget is asked about"
	case a == keys.Change && m.card.TooLong():
		return "the call is too long to be changed here: tillerman approve RUN --edit"
	}
	return "the question is about no call"
}
