package live

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tillerman/db"
	"tillerman/tui/card"
	"tillerman/tui/detail"
	"tillerman/tui/feed"
)

// asks puts a question of a call on a screen.
func asks(t *testing.T, m *Model, clock *time.Time, about card.About) {
	t.Helper()
	position := 1
	r := db.Request{ID: 7, Digest: "d7", Act: "exec", Target: "a", Payload: "a", Position: &position}
	snap := *m.snap
	snap.Open, m.snap = []db.Request{r}, &snap
	m.showCard()
	m.card.About = about
	m.layout()
	*clock = clock.Add(time.Second)
}

// open presses a key that opens something on the card.
func open(m *Model, clock *time.Time, k string) {
	m.Press(key(k))
	*clock = clock.Add(card.Alone)
	m.Update(settleMsg{m.card})
	*clock = clock.Add(time.Second)
}

// TestTheNewestDetailStays: readings of a step overtake each other, and the one that was asked for last is what is shown.
func TestTheNewestDetailStays(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	m.selected = 3
	m.Update(detailMsg{m.feed, 2, detail.Detail{Step: 3, Said: "newer"}, nil})
	m.Update(detailMsg{m.feed, 1, detail.Detail{Step: 3, Said: "older"}, nil})
	if m.detail.Said != "newer" {
		t.Error(m.detail.Said)
	}
}

// TestAFaultGoesWithItsCause: what could not be read is said until it can be.
func TestAFaultGoesWithItsCause(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	m.took(snapshotMsg{m.feed, nil, errors.New("the store is busy")})
	m.Update(detailMsg{m.feed, 1, detail.Detail{Step: m.selected}, errors.New("the step is busy")})
	if s := ansi.Strip(m.View()); !strings.Contains(s, "the store is busy") {
		t.Fatal(s)
	}
	m.took(snapshotMsg{m.feed, m.snap, nil})
	if s := ansi.Strip(m.View()); !strings.Contains(s, "the step is busy") {
		t.Fatal(s)
	}
	m.Update(detailMsg{m.feed, 2, detail.Detail{Step: m.selected}, nil})
	if s := ansi.Strip(m.View()); strings.Contains(s, "busy") {
		t.Error(s)
	}
	m.Fail(errors.New("the engine has gone")) // for good
	m.took(snapshotMsg{m.feed, m.snap, nil})
	if s := ansi.Strip(m.View()); !strings.Contains(s, "the engine has gone") {
		t.Error(s)
	}
}

// TestWordsAboutAnotherRunNameIt: what became of an order is told on the screen that is open by then.
func TestWordsAboutAnotherRunNameIt(t *testing.T) {
	var clock time.Time
	fresh := screen(t)
	for _, c := range []struct {
		msg  tea.Msg
		says string
	}{
		{orderedMsg{run: 99, kind: "tell", err: errors.New("no room")}, "run 99: no room"},
		{orderedMsg{run: 99, kind: "pause"}, "run 99: pause was already requested"},
		{orderedMsg{run: 99, kind: "pause", fresh: true}, ""},
		{decidedMsg{run: 99, err: errors.New("no room")}, "run 99: no room"},
		{decidedMsg{run: 99, request: db.Request{Decision: "defer"}}, "run 99: put off: it stays in the inbox; the run pauses"},
		{revokedMsg{99, db.ErrNotFound}, "run 99: that rule was revoked already"},
		{resolvedMsg{run: 99, err: db.ErrNotFound}, "run 99: somebody resolved it meanwhile"},
		{resolvedMsg{run: 1, err: db.ErrNotFound}, "somebody resolved it meanwhile"},
	} {
		m := fresh(&clock)
		m.deciding = 5
		if m.Update(c.msg); m.notice != c.says || m.deciding != 5 {
			t.Errorf("%+v: %q, deciding %d", c.msg, m.notice, m.deciding)
		}
	}
}

// TestAQuestionThatWasPutOffIsAnsweredElsewhere: putting a question off decides nothing, and what is written about it
// afterwards is told to be moot like any other.
func TestAQuestionThatWasPutOffIsAnsweredElsewhere(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	asks(t, m, &clock, card.About{})
	m.decide(&db.Decision{Answer: "defer", Digest: "d7"})
	m.Update(decidedMsg{run: m.runID, request: db.Request{ID: 7, Decision: "defer"}})
	if open(m, &clock, "d"); !m.card.Field() {
		t.Fatal("no reason is asked for")
	}
	snap := *m.snap
	snap.Open, m.snap = nil, &snap
	if m.showCard(); !strings.Contains(m.notice, "answered elsewhere") {
		t.Errorf("%q", m.notice)
	}
}

// TestAFindingThatComesTooLateIsSaid: an interrupted call that is resolved elsewhere takes the field with it, not unsaid.
func TestAFindingThatComesTooLateIsSaid(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	m.stuck = card.NewStuck(db.Call{Step: 3, Position: 1, Name: "exec"}, 0, clock)
	m.layout()
	clock = clock.Add(time.Second)
	m.Press(key("h"))
	clock = clock.Add(card.Alone)
	if m.Update(stuckKeyMsg{m.stuck}); !m.stuck.Field() {
		t.Fatal("no field")
	}
	if m.showStuck(); m.stuck != nil || !strings.Contains(m.notice, "resolved elsewhere") {
		t.Errorf("%q", m.notice)
	}
}

// TestAPauseKeyMeansWhatItSaid: the pause that somebody else asks for while a key waits to stand alone is not lifted by it.
func TestAPauseKeyMeansWhatItSaid(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	clock = clock.Add(time.Second)
	m.Press(key("p"))
	snap := *m.snap
	snap.Pause = &db.Control{Kind: "pause", By: db.Actor{User: "kim"}}
	m.took(snapshotMsg{m.feed, &snap, nil})
	clock = clock.Add(card.Alone)
	cmd := m.Update(keyMsg{m.feed})
	if got, ok := cmd().(orderedMsg); !ok || got.kind != "pause" {
		t.Errorf("%+v", got)
	}
}

// TestTheFormOfBudgetsGoesOn: what is in force and used is as it is by now.
func TestTheFormOfBudgetsGoesOn(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	m.snap = &feed.Snapshot{Run: m.snap.Run, Driven: true, Limits: feed.Limits{Tokens: 1000}}
	clock = clock.Add(time.Second)
	m.Press(key("b"))
	clock = clock.Add(card.Alone)
	m.Update(keyMsg{m.feed})
	m.Press(key("down"))
	m.Press(key("down"))
	for _, k := range "50" {
		clock = clock.Add(100 * time.Millisecond)
		m.Press(key(string(k)))
	}
	snap := *m.snap
	snap.Limits = feed.Limits{Tokens: 5000, TokensBy: "kim"}
	snap.Spend.Billed = 777
	m.took(snapshotMsg{m.feed, &snap, nil})
	if s := ansi.Strip(m.View()); !strings.Contains(s, "50▏") || !strings.Contains(s, "now 5,000 (kim), used 777") || !strings.Contains(s, "already used") {
		t.Error(s)
	}
}

// TestOneEditorAtATime: an editor that is asked for twice, or for a change that was left before it came, is opened once or
// not at all; and nothing is typed into the text that is with one.
func TestOneEditorAtATime(t *testing.T) {
	var clock time.Time
	fresh := screen(t)
	ctrlE := tea.KeyPressMsg{Code: 'e', Mod: tea.ModCtrl}
	change := func(done *int) *Model {
		m := fresh(&clock)
		m.deps.Edit = func(body string) (*exec.Cmd, func() (string, error), error) {
			return exec.Command("true"), func() (string, error) { *done++; return body, nil }, nil
		}
		asks(t, m, &clock, card.About{Arguments: `{"a":1}`})
		open(m, &clock, "e")
		if _, ok := m.card.Changing(); !ok {
			t.Fatal("nothing is being changed")
		}
		return m
	}
	var done int
	m := change(&done)
	_, first := m.Press(ctrlE)
	_, second := m.Press(ctrlE)
	m.Press(key("x"))
	m.Update(tea.PasteMsg{Content: "y"})
	if body, _ := m.card.Changing(); second != nil || strings.ContainsAny(body, "xy") {
		t.Fatalf("%q", body)
	}
	if cmd := m.Update(first()); cmd == nil || done != 0 {
		t.Fatal("no editor comes")
	}
	m.Update(editedMsg{m.card, `{"a":2}`, nil})
	if _, changing := m.card.Changing(); changing || m.card.Place() != "changed call" {
		t.Fatal(m.card.Place())
	}

	for _, then := range []string{"", "e"} { // left, and begun anew
		m := change(&done)
		_, late := m.Press(ctrlE)
		if m.Press(key("esc")); then != "" {
			clock = clock.Add(time.Second)
			open(m, &clock, then)
			m.Press(ctrlE)
		}
		done = 0
		if msg := m.Update(late())(); msg != nil || done != 1 {
			t.Errorf("%q: %v, %d files removed", then, msg, done)
		}
	}
}

// TestTheRestOfAWordIsNoKey: a field that closes because somebody else was first takes the rest of what is being typed with
// it. Its letters would leave the run.
func TestTheRestOfAWordIsNoKey(t *testing.T) {
	var clock time.Time
	fresh := screen(t)
	for _, next := range [][]db.Request{nil, {{ID: 8, Digest: "d8", Act: "exec", Target: "b", Payload: "b"}}} {
		m := fresh(&clock)
		asks(t, m, &clock, card.About{})
		open(m, &clock, "d")
		m.Press(key("q"))
		snap := *m.snap
		snap.Open, m.snap = next, &snap
		m.showCard()
		for _, k := range []string{"q", "r", "esc", "q"} {
			clock = clock.Add(300 * time.Millisecond)
			if next != nil && k == "r" { // the next question comes, and says nothing of the text
				snap := *m.snap
				snap.Open, m.snap = []db.Request{{ID: 9, Digest: "d9", Act: "exec", Target: "c", Payload: "c"}}, &snap
				m.showCard()
			}
			if handled, _ := m.Press(key(k)); !handled || m.notice == "" || !m.Torn() {
				t.Fatalf("%s: handled %t, %q", k, handled, m.notice)
			}
		}
		clock = clock.Add(card.ArmAfter)
		if handled, _ := m.Press(key("q")); handled || m.notice != "" || m.Torn() {
			t.Errorf("handled %t, %q", handled, m.notice)
		}
	}
}

// TestWhatCannotBeStoredIsNotLost: a store that takes nothing costs nobody what was typed: the same key brings it back.
func TestWhatCannotBeStoredIsNotLost(t *testing.T) {
	var clock time.Time
	fresh := screen(t)
	full := errors.New("the disk is full")
	types := func(m *Model, s string) {
		for _, r := range s {
			clock = clock.Add(100 * time.Millisecond)
			m.Press(key(string(r)))
		}
		clock = clock.Add(time.Second)
	}
	steers := func(m *Model, k string) {
		clock = clock.Add(time.Second)
		m.Press(key(k))
		clock = clock.Add(card.Alone)
		m.Update(keyMsg{m.feed})
		clock = clock.Add(time.Second)
	}
	for _, k := range []string{"t", "b"} {
		m := fresh(&clock)
		m.deps.Store = nil
		m.deps.Write = func(func() tea.Msg) tea.Cmd { return nil }
		steers(m, k)
		types(m, "70")
		m.Press(key("enter"))
		clock = clock.Add(card.Alone)
		form := m.form
		if m.Update(overMsg{m.feed}); m.over != nothing {
			t.Fatal("not sent")
		}
		msg := orderedMsg{run: m.runID, kind: "tell", body: "70", err: full}
		if k == "b" {
			msg = orderedMsg{run: m.runID, kind: "budget", form: form, err: full}
		}
		if m.Update(msg); m.notice != full.Error() {
			t.Errorf("%s: %q", k, m.notice)
		}
		steers(m, k)
		if s := ansi.Strip(m.View()); !strings.Contains(s, "70▏") {
			t.Errorf("%s:\n%s", k, s)
		}
		m.close()
		steers(m, k)
		if s := ansi.Strip(m.View()); strings.Contains(s, "70▏") { // it was left
			t.Errorf("%s:\n%s", k, s)
		}
	}

	m := fresh(&clock)
	m.deps.Write = func(func() tea.Msg) tea.Cmd { return nil }
	asks(t, m, &clock, card.About{})
	open(m, &clock, "d")
	types(m, "not on a friday")
	m.Press(key("ctrl+d"))
	if m.card.Field() {
		t.Fatal("not sent")
	}
	m.Update(decidedMsg{run: m.runID, card: m.card, made: db.Decision{Answer: "deny", Reason: "not on a friday"}, err: full})
	clock = clock.Add(time.Second)
	open(m, &clock, "d")
	if s := ansi.Strip(m.View()); !strings.Contains(s, "not on a friday▏") {
		t.Error(s)
	}

	m = fresh(&clock)
	m.deps.Write = func(func() tea.Msg) tea.Cmd { return nil }
	m.stuck = card.NewStuck(db.Call{Step: 3, Position: 1, Name: "exec"}, 0, clock)
	m.Update(resolvedMsg{run: m.runID, card: m.stuck, made: db.Resolution{Answer: "done", Reason: "the log says so"}, err: full})
	m.layout()
	clock = clock.Add(time.Second)
	m.Press(key("h"))
	clock = clock.Add(card.Alone)
	m.Update(stuckKeyMsg{m.stuck})
	if s := ansi.Strip(m.View()); !strings.Contains(s, "the log says so▏") {
		t.Error(s)
	}
}

// TestAPasteIsSentWholeOrNotAtAll: a text that does not fit is not cut, and what stands there without it is not sent.
func TestAPasteIsSentWholeOrNotAtAll(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	clock = clock.Add(time.Second)
	m.Press(key("t"))
	clock = clock.Add(card.Alone)
	m.Update(keyMsg{m.feed})
	m.Press(key("x"))
	m.Update(tea.PasteMsg{Content: strings.Repeat("long ", 500)})
	clock = clock.Add(time.Second)
	m.Press(key("enter"))
	clock = clock.Add(card.Alone)
	m.Update(overMsg{m.feed})
	if s := ansi.Strip(m.View()); m.over != telling || m.tell.Value() != "x" || !strings.Contains(s, "that does not fit: 2000 characters") {
		t.Fatalf("%v %q\n%s", m.over, m.tell.Value(), s)
	}
	m.Press(key("y"))
	clock = clock.Add(time.Second)
	m.Press(key("enter"))
	clock = clock.Add(card.Alone)
	if m.Update(overMsg{m.feed}); m.over != nothing {
		t.Error("not sent")
	}

	asks(t, m, &clock, card.About{})
	open(m, &clock, "d")
	m.Update(tea.PasteMsg{Content: strings.Repeat("long ", 500)})
	if m.Press(key("ctrl+d")); !m.card.Field() {
		t.Error("a reason without what was pasted was sent")
	}
}

// TestWhatIsTypedIsInSight: in a narrow window the keys and the question make room for the text.
func TestWhatIsTypedIsInSight(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	m.Resize(30, 8)
	asks(t, m, &clock, card.About{})
	open(m, &clock, "d")
	for _, r := range "not today" {
		clock = clock.Add(100 * time.Millisecond)
		m.Press(key(string(r)))
	}
	if s := ansi.Strip(m.View()); !strings.Contains(s, "not today▏") || !strings.Contains(s, "why deny?") {
		t.Error(s)
	}
	clock = clock.Add(time.Second)
	m.Press(key("esc"))
	clock = clock.Add(time.Second)
	m.Press(key("t"))
	clock = clock.Add(card.Alone)
	m.Update(keyMsg{m.feed})
	for _, r := range "go on" {
		clock = clock.Add(100 * time.Millisecond)
		m.Press(key(string(r)))
	}
	if s := ansi.Strip(m.View()); !strings.Contains(s, "go on▏") || !strings.Contains(s, "tell") {
		t.Error(s)
	}
}
