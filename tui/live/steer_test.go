package live

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"tillerman/db"
	"tillerman/themes"
	"tillerman/tui/benchstore"
	"tillerman/tui/card"
	"tillerman/tui/feed"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// screen makes screens of one run over one feed, which is never read: each begins at start with its own guards.
func screen(t *testing.T) (fresh func(clock *time.Time) *Model) {
	t.Helper()
	theme, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	store := benchstore.Open(t)
	lease := benchstore.Fill(t, store, 3, false)
	f := feed.Open(store, lease.RunID, 10, nil, feed.NewLive(), func(f func()) { go f() })
	t.Cleanup(f.Close)
	snap, err := f.Next()
	if err != nil || snap == nil {
		t.Fatal(err)
	}
	painter := paint.New(theme, 0, false)
	return func(clock *time.Time) *Model {
		*clock = start
		m := New(Deps{
			Store: store, Keys: keys.Default(), Painter: painter, Now: func() time.Time { return *clock }, Pressed: func() time.Time { return *clock }, Flag: func() {},
		}, lease.RunID, f)
		m.Resize(100, 30)
		m.snap = snap
		return m
	}
}

func key(s string) tea.KeyPressMsg {
	switch s {
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	case "ctrl+d":
		return tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(s)[0], Text: s}
}

// TestTypeAheadSteersNothing types 10,000 random sequences at any pace faster than the quiet time from the moment the
// screen stands: none pauses, kills or cancels the run, or opens a field in which its rest would become an order.
func TestTypeAheadSteersNothing(t *testing.T) {
	var clock time.Time
	fresh := screen(t)
	letters := []string{"p", "t", "b", "C", "c", "K", "a", "d", "x", " ", "enter", "esc", "j", "k", "1", "]", "ctrl+d"}
	sequences := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 100 { // a hundred sequences a check, a hundred checks
			sequences++
			m := fresh(&clock)
			for range rapid.IntRange(1, 40).Draw(rt, "keys") {
				gap := time.Duration(rapid.IntRange(0, int(card.ArmAfter/time.Millisecond)-1).Draw(rt, "gap ms")) * time.Millisecond
				if gap >= card.Alone { // the look that the key before may have asked for
					clock = clock.Add(card.Alone)
					gap -= card.Alone
					look(rt, m)
				}
				clock = clock.Add(gap)
				if rapid.IntRange(0, 20).Draw(rt, "paste") == 0 {
					m.Update(tea.PasteMsg{Content: "p"})
					continue
				}
				m.Press(key(rapid.SampledFrom(letters).Draw(rt, "key")))
			}
			clock = clock.Add(time.Minute)
			look(rt, m)
		}
	})
	if sequences < 10_000 && !testing.Short() { // a short run makes a fifth of the checks
		t.Errorf("only %d sequences", sequences)
	}
}

// look delivers what a key that stood alone would have sent.
func look(rt *rapid.T, m *Model) {
	if cmd := m.Update(keyMsg{m.feed}); cmd != nil || m.over != nothing {
		rt.Fatalf("a key steered the run: %v", m.over)
	}
}

func TestAKeyThatStandsAloneSteers(t *testing.T) {
	var clock time.Time
	fresh := screen(t)
	for k, opens := range map[string]overlay{"t": telling, "b": budgeting, "C": killing, "p": nothing, "c": nothing} {
		m := fresh(&clock)
		clock = clock.Add(card.ArmAfter)
		m.Press(key(k))
		clock = clock.Add(card.Alone)
		if cmd := m.Update(keyMsg{m.feed}); m.over != opens || opens == nothing && cmd == nil {
			t.Errorf("%s: %v", k, m.over)
		}
	}
}

// TestNothingIsKilledByHalves wants the second key of a kill: armed, by itself, and no other.
func TestNothingIsKilledByHalves(t *testing.T) {
	var clock time.Time
	fresh := screen(t)
	kill := func(wait time.Duration, keys ...string) bool {
		m := fresh(&clock)
		clock = clock.Add(card.ArmAfter)
		m.Press(key("C"))
		clock = clock.Add(card.Alone)
		m.Update(keyMsg{m.feed})
		clock = clock.Add(wait)
		for _, k := range keys {
			m.Press(key(k))
			clock = clock.Add(10 * time.Millisecond)
		}
		clock = clock.Add(card.Alone)
		return m.Update(overMsg{m.feed}) != nil
	}
	if !kill(card.ArmAfter, "K") {
		t.Error("K does not kill")
	}
	for name, killed := range map[string]bool{
		"too early": kill(card.ArmAfter-time.Millisecond, "K"), "C again": kill(card.ArmAfter, "C"), "enter": kill(card.ArmAfter, "enter"),
		"a word": kill(card.ArmAfter, "K", "i", "l", "l"), "space": kill(card.ArmAfter, " "),
	} {
		if killed {
			t.Errorf("%s kills", name)
		}
	}
}

func TestACountdownEnds(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	snap := *m.snap
	snap.Now = feed.Activity{Kind: "retry", Since: clock.UnixMilli(), Retry: &feed.Retry{Until: clock.Add(12 * time.Second).UnixMilli(), Kind: "rate_limited", Next: 2, Of: 3, Hinted: true}}
	m.snap = &snap
	if got := m.countdown(); got != "Asks again in 12 s (rate_limited, attempt 2 of 3, the server asked for it)" {
		t.Error(got)
	}
	if !m.moves() {
		t.Error("a countdown stands still")
	}
	clock = clock.Add(11_100 * time.Millisecond)
	if got := m.countdown(); got != "Asks again in 1 s (rate_limited, attempt 2 of 3, the server asked for it)" {
		t.Error(got)
	}
	clock = clock.Add(time.Second)
	if got := m.countdown(); m.moves() || got != "Asks again now (rate_limited, attempt 2 of 3, the server asked for it)" {
		t.Errorf("it ticks on: %s", got)
	}
	shown := false
	m.deps.Shown = func() bool { return shown }
	snap.Now.Retry.Until = clock.Add(time.Hour).UnixMilli()
	if m.tick() != nil {
		t.Error("it ticks unseen")
	}
	shown = true
	if m.tick() == nil {
		t.Error("it does not tick when it is seen")
	}
}

func TestWhatDoesNothingSaysWhy(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	snap := *m.snap
	m.snap = &snap
	all := []keys.Action{keys.Cancel, keys.Kill, keys.Pause, keys.Tell, keys.Budget}
	for name, c := range map[string]struct {
		change func()
		off    []keys.Action
	}{
		"running":        {func() {}, nil},
		"ended":          {func() { snap.Summary = &db.Summary{} }, all},
		"cancelling":     {func() { snap.Cancel = &db.Control{Kind: "cancel"} }, []keys.Action{keys.Cancel, keys.Pause, keys.Tell, keys.Budget}},
		"being killed":   {func() { snap.Cancel = &db.Control{Kind: "kill"} }, all},
		"nobody drives":  {func() { snap.Driven = false }, []keys.Action{keys.Cancel, keys.Kill}},
		"not yet loaded": {func() { m.snap = nil }, all},
	} {
		snap = feed.Snapshot{Driven: true}
		m.snap = &snap
		c.change()
		off := map[keys.Action]bool{}
		for _, a := range c.off {
			off[a] = true
		}
		for _, a := range all {
			if got := m.Disabled(a); (got != "") != off[a] {
				t.Errorf("%s: %s says %q", name, a, got)
			}
		}
	}
}

// TestAMessageStaysInSight wants what is being written to stay where it is, whatever there is to say about it.
func TestAMessageStaysInSight(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	clock = clock.Add(card.ArmAfter)
	m.Press(key("t"))
	clock = clock.Add(card.Alone)
	m.Update(keyMsg{m.feed})
	m.Press(key("h"))
	m.Press(key("i"))
	clock = clock.Add(card.Alone)
	m.notice = "not sent: press the key by itself"
	if s := ansi.Strip(m.View()); !strings.Contains(s, "hi▏") || !strings.Contains(s, m.notice) {
		t.Error(s)
	}
}

// TestADecisionOfOnesOwnIsNotTakenForAnothers: the card whose field a person has just decided with goes, and that is no
// news. When somebody else answers it is.
func TestADecisionOfOnesOwnIsNotTakenForAnothers(t *testing.T) {
	var clock time.Time
	fresh := screen(t)
	for _, own := range []bool{true, false} {
		for _, next := range [][]db.Request{nil, {{ID: 8, Digest: "d8", Act: "exec", Target: "b", Payload: "b"}}} {
			m := fresh(&clock)
			m.card = card.New(db.Request{ID: 7, Digest: "d7", Act: "exec", Target: "a", Payload: "a"}, clock)
			m.card.About.Rules = true
			m.layout()
			clock = clock.Add(time.Second)
			m.Press(key("A"))
			clock = clock.Add(card.Alone)
			if m.card.Settle(clock); !m.card.Field() {
				t.Fatal("no rule is open")
			}
			if own {
				m.decide(&db.Decision{Answer: "approve", Digest: "d7"})
			}
			snap := *m.snap
			snap.Open, m.snap = next, &snap
			m.showCard()
			if told := m.notice != ""; told == own {
				t.Errorf("own %v, then %d: %q", own, len(next), m.notice)
			}
		}
	}
}

// TestTextGoesWhenItsAnswerIsThere: what a model or a command gives is drawn while it gives it, and not once more below what
// came of it.
func TestTextGoesWhenItsAnswerIsThere(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	m.selected = 3
	for _, c := range []struct {
		kind  string
		shown map[string]bool // by what is under way
	}{
		{"text", map[string]bool{"model": true, "call": false, "question": false, "pause": false, "": false}},
		{"output", map[string]bool{"model": false, "call": true, "gate": true, "question": false, "": false}},
	} {
		if c.kind == "output" {
			m.feed.Live().Output(1, 3, 1, "out", []byte("half of it"))
		} else {
			m.feed.Live().Delta(1, 3, "0", c.kind, "half of it")
		}
		for now, want := range c.shown {
			m.snap.Now.Kind = now
			if got := strings.Contains(ansi.Strip(m.View()), "half of it"); got != want {
				t.Errorf("%s during %q: shown %v", c.kind, now, got)
			}
		}
	}
}

// TestTheWayOutIsNamed in the key line of a terminal of the usual width, where not all keys fit.
func TestTheWayOutIsNamed(t *testing.T) {
	var clock time.Time
	m := screen(t)(&clock)
	m.Resize(80, 24)
	m.snap.Run.Status, m.snap.Summary, m.snap.Driven = db.Running, nil, true
	line := ansi.Strip(m.footer())
	for _, want := range []string{" c  cancel", " p  pause", " t  tell", " b  budget", " ?  keys", " q  quit"} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %q", want, line)
		}
	}
}
