package budget

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tillerman/db"
	"tillerman/themes"
	"tillerman/tui/card"
	"tillerman/tui/feed"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestWhatIsACeiling(t *testing.T) {
	for _, c := range []struct {
		name  string
		parse func(string, *db.Budget) error
		good  map[string]string
		bad   []string
	}{
		{"steps", steps, map[string]string{"60": `{"max_steps":60}`, " 1,000 ": `{"max_steps":1000}`}, []string{"0", "-1", "1.5", "many", "99999999999999999999"}},
		{"time", duration, map[string]string{"90s": `{"time_ms":90000}`, "1h30m": `{"time_ms":5400000}`, "0": `{"time_ms":0}`}, []string{"90", "-1m", "10 minutes", "1ms", "1e9h"}},
		{"tokens", tokens, map[string]string{"200k": `{"tokens":200000}`, "1M": `{"tokens":1000000}`, "61_204": `{"tokens":61204}`}, []string{"-5", "k", "1.5k", "9999999999999999M"}},
		{"money", money, map[string]string{"2.5": `{"money_micros":2500000}`, "0.000001": `{"money_micros":1}`, ".5": `{"money_micros":500000}`, "0": `{"money_micros":0}`}, []string{".", "2.", "1.0000001", "-1", "$2", "99999999999999999"}},
	} {
		for typed, want := range c.good {
			var b db.Budget
			err := c.parse(typed, &b)
			if got, _ := json.Marshal(b); err != nil || string(got) != want {
				t.Errorf("%s %q: %s %v, want %s", c.name, typed, got, err, want)
			}
		}
		for _, typed := range c.bad {
			var b db.Budget
			if err := c.parse(typed, &b); err == nil || b != (db.Budget{}) {
				t.Errorf("%s %q is taken: %+v", c.name, typed, b)
			}
		}
	}
}

// enter types into a form as a person does and presses Enter.
func enter(f *Form, typed ...string) *db.Budget {
	now := start
	m := keys.Default()
	for i, s := range typed {
		if i > 0 {
			f.Press(now, tea.KeyPressMsg{Code: tea.KeyTab}, keys.Next)
		}
		for _, r := range s {
			now = now.Add(100 * time.Millisecond)
			f.Press(now, tea.KeyPressMsg{Code: r, Text: string(r)}, "")
		}
	}
	now = now.Add(100 * time.Millisecond)
	b, _ := m.Find("enter", keys.InBudget)
	if !f.Press(now, tea.KeyPressMsg{Code: tea.KeyEnter}, b.Action) {
		return nil
	}
	return f.Settle(now.Add(card.Alone))
}

func TestEnterGivesWhatWasTypedAndNothingElse(t *testing.T) {
	b := enter(New(feed.Limits{Steps: 40}, Used{}), "60", "", "200k")
	if b == nil || *b.MaxSteps != 60 || b.TimeMS != nil || *b.Tokens != 200_000 || b.MoneyMicros != nil {
		t.Errorf("%+v", b)
	}
	for _, wrong := range [][]string{{}, {"sixty"}, {"60", "ten"}} {
		f := New(feed.Limits{}, Used{})
		if b := enter(f, wrong...); b != nil || f.err == nil {
			t.Errorf("%q gives %+v, says %v", wrong, b, f.err)
		}
	}
}

func TestALineEndOfAPasteSetsNothing(t *testing.T) {
	f := New(feed.Limits{}, Used{})
	now := start
	f.Press(now, tea.KeyPressMsg{Code: '6', Text: "6"}, "")
	if f.Press(now.Add(time.Millisecond), tea.KeyPressMsg{Code: tea.KeyEnter}, keys.SetLimit) || f.Settle(now.Add(time.Minute)) != nil {
		t.Error("Enter in a burst sets a ceiling")
	}
	now = now.Add(time.Second)
	f.Press(now, tea.KeyPressMsg{Code: tea.KeyEnter}, keys.SetLimit)
	f.Press(now.Add(time.Millisecond), tea.KeyPressMsg{Code: '7', Text: "7"}, "")
	if f.Settle(now.Add(time.Minute)) != nil {
		t.Error("Enter with text behind it sets a ceiling")
	}
}

func TestEverySizeIsDrawnExactly(t *testing.T) {
	theme, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	p := paint.New(theme, 0, false)
	f := New(feed.Limits{Steps: 40, Tokens: 5, TokensBy: "kim\x1b[2J"}, Used{Steps: 50, Tokens: 10})
	enter(f, strings.Repeat("9", 30))
	for h := 1; h <= 12; h++ {
		for w := 20; w <= 120; w++ {
			lines := f.Render(p, keys.Default(), w, h, w%2 == 0)
			if len(lines) != min(h, f.Lines()) {
				t.Fatalf("%dx%d: %d lines", w, h, len(lines))
			}
			for _, l := range lines {
				if ansi.StringWidth(l) != w {
					t.Fatalf("%dx%d: %q", w, h, l)
				}
			}
		}
	}
}
