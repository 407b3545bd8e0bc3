package card

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"tillerman/core"
	"tillerman/db"
	"tillerman/tui/keys"
)

// asking is a card of a call with everything that can be answered.
func asking(t interface{ Fatal(...any) }, payload string) *Card {
	c := New(db.Request{ID: 1, Digest: "d1", Act: "exec", Target: payload, Payload: payload}, start)
	c.About = About{Arguments: `{"argv":["ls","*"]}`, Rules: true}
	c.Resize(painter(t), 80, 5)
	return c
}

// questioning is a card of a question of the agent.
func questioning(t interface{ Fatal(...any) }, choices int) *Card {
	words := "which branch?"
	for i := range choices {
		words += fmt.Sprintf("\n%d. branch %d", i+1, i+1)
	}
	c := New(db.Request{ID: 1, Digest: "d1", Act: db.QuestionAct, Target: words, Payload: words}, start)
	c.About = About{Arguments: "{}", Choices: choices}
	c.Resize(painter(t), 80, 12)
	return c
}

// operator presses keys on a card as a person does: each by itself, with time to look between.
type operator struct {
	c   *Card
	t   *testing.T
	now time.Time
	d   *db.Decision
}

func operate(t *testing.T, c *Card) *operator {
	return &operator{c: c, t: t, now: start.Add(time.Minute)}
}

func (o *operator) press(list ...string) *operator {
	for _, k := range list {
		o.now = o.now.Add(2 * time.Second)
		if d := press(o.c, o.now, k); d != nil {
			o.d = d
		}
		o.now = o.now.Add(Alone)
		o.c.Resize(painter(o.t), 80, 5)
	}
	return o
}

// tries answers the trials that are due with what covers or does not.
func (o *operator) tries(p core.RuleProposal, err error) *operator {
	for t := o.c.Trial(); t != nil; t = o.c.Trial() {
		got := p
		if t.Match != nil {
			got.Match = t.Match
		}
		o.now = o.now.Add(time.Second)
		o.c.Tried(o.now, t, got, err)
		o.c.Resize(painter(o.t), 80, 5)
	}
	return o
}

func (o *operator) shows(words string) {
	o.t.Helper()
	o.c.Resize(painter(o.t), 80, 20)
	if s := drawn(o.t, o.c); !strings.Contains(s, words) {
		o.t.Errorf("%q is not on the card:\n%s", words, s)
	}
}

// drawn is a card as it stands in a window of 78 cells.
func drawn(t interface{ Fatal(...any) }, c *Card) string {
	return ansi.Strip(strings.Join(c.Render(View{Painter: painter(t), Keys: keys.Default(), Place: "~/w", Waits: "since 1", Armed: true}, 84), "\n"))
}

var exact = core.RuleProposal{Act: "exec", Match: []string{"ls", `\*`}, Covers: true, Approved: 12, Denied: 2}

func TestARuleIsGivenAsItWasShown(t *testing.T) {
	o := operate(t, asking(t, "ls *")).press("A")
	if o.shows("trying it"); o.d != nil {
		t.Fatal("A decided")
	}
	if o.press("g"); o.d != nil {
		t.Fatal("a rule that was not tried was given")
	}
	o.tries(exact, nil)
	o.shows(`ls \*`)
	o.shows("would have allowed 14 calls decided so far, 2 of which were refused")
	o.press("g")
	if o.d == nil || o.d.Answer != "approve" || o.d.Digest != "d1" || fmt.Sprint(o.d.Rule) != fmt.Sprint(exact.Match) || o.d.ChangedArgs != "" {
		t.Errorf("%+v", o.d)
	}
}

func TestARuleThatWasEditedIsTriedAgain(t *testing.T) {
	o := operate(t, asking(t, "ls *")).press("A").tries(exact, nil).press("e", "x", "y")
	o.shows("trying it")
	first := o.c.Trial()
	if first == nil || fmt.Sprint(first.Match) != `[ls \*xy]` {
		t.Fatalf("%+v", first)
	}
	o.press("z") // while that is under way
	if next := o.c.Trial(); next != nil {
		t.Fatal("two trials at a time")
	}
	o.c.Tried(o.now, first, exact, nil)
	if o.press("ctrl+d", "g"); o.d != nil {
		t.Fatal("what was given was never tried")
	}
	other := exact
	other.Covers, other.Why = false, "deny by rule \"ls\""
	o.tries(other, nil)
	o.shows("it would not allow what is asked here: deny by rule")
	if o.press("g"); o.d != nil {
		t.Fatal("a rule that does not cover what is asked was given")
	}
	o.press("e", "backspace").tries(exact, nil).press("ctrl+d", "g")
	if o.d == nil || fmt.Sprint(o.d.Rule) != `[ls \*xy]` {
		t.Errorf("%+v", o.d)
	}
}

// TestTheLastWordsOfARuleAreKept: what was typed before the trial of the words before was through is what stands there.
func TestTheLastWordsOfARuleAreKept(t *testing.T) {
	o := operate(t, asking(t, "ls *")).press("A").tries(exact, nil).press("e", "x")
	first := o.c.Trial()
	o.press("y", "ctrl+d")
	o.c.Tried(o.now, first, core.RuleProposal{Act: "exec", Match: first.Match, Covers: true}, nil)
	o.c.Resize(painter(t), 80, 5)
	o.shows(`ls \*xy`)
	o.shows("trying it")
	if o.press("g"); o.d != nil {
		t.Fatal("what was tried was given in place of what was typed")
	}
	last := o.c.Trial()
	if last == nil || fmt.Sprint(last.Match) != `[ls \*xy]` {
		t.Fatalf("%+v", last)
	}
	o.c.Tried(o.now, last, core.RuleProposal{Act: "exec", Match: last.Match, Covers: true}, nil)
	o.c.Resize(painter(t), 80, 5)
	if o.press("g"); o.d == nil || fmt.Sprint(o.d.Rule) != `[ls \*xy]` {
		t.Errorf("%+v", o.d)
	}
}

func TestALateTrialCountsForNothing(t *testing.T) {
	o := operate(t, asking(t, "ls *")).press("A")
	late := o.c.Trial()
	o.press("esc", "A")
	o.c.Trial()
	o.c.Tried(o.now, late, exact, nil)
	o.shows("trying it")
	if o.press("g"); o.d != nil {
		t.Error("a trial of a rule that was left was given")
	}
}

func TestWhatIsNoRuleSaysSo(t *testing.T) {
	o := operate(t, asking(t, "ls *")).press("A").tries(core.RuleProposal{}, errors.New("the pattern is empty"))
	o.shows("this is no rule: the pattern is empty")
	if o.press("g", "enter", " "); o.d != nil {
		t.Error("decided")
	}
	if o.press("esc"); o.c.Field() {
		t.Error("esc does not lead back")
	}
}

func TestACallIsChanged(t *testing.T) {
	o := operate(t, asking(t, "ls *")).press("e")
	o.shows("Change the call")
	if o.press("ctrl+d"); o.c.change.comparing() {
		t.Fatal("nothing was changed, and yet it is compared")
	}
	o.shows("nothing was changed yet")
	o.press("x", "ctrl+d")
	o.shows("line 6 is no JSON")
	o.press("backspace")
	o.c.Disturb(o.now, "\n")
	o.c.Changed(o.now, `{"argv":["ls","-l"]}`, nil)
	o.c.Resize(painter(t), 80, 20)
	o.shows(`-    "*"`)
	o.shows(`+    "-l"`)
	for _, k := range []string{"enter", " ", "a", "y", "ctrl+d"} {
		if o.press(k); o.d != nil {
			t.Fatalf("%q decided", k)
		}
	}
	o.now = o.now.Add(time.Minute)
	o.c.Resize(painter(t), 80, 20)
	o.press("g")
	if o.d == nil || o.d.Answer != "approve" || o.d.Digest != "d1" || o.d.ChangedArgs != `{"argv":["ls","-l"]}` || o.d.Rule != nil {
		t.Errorf("%+v", o.d)
	}
}

func TestWhatIsNoChangeDecidesNothing(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "a list": `["ls"]`, "null": "null", "nothing": "", "two": "{} {}", "no text": "{\"a\":\"\xff\"}", "the same": `{ "argv" : ["ls","*"] }`,
	} {
		o := operate(t, asking(t, "ls *")).press("e")
		o.c.Changed(o.now, text, nil)
		if o.shows("nothing is decided"); o.c.change.comparing() {
			t.Errorf("%s is compared", name)
		}
		if o.press("g"); o.d != nil {
			t.Errorf("%s decided %+v", name, o.d)
		}
	}
	o := operate(t, asking(t, "ls *")).press("e")
	o.c.Changed(o.now, "", errors.New("the editor failed"))
	o.shows("the editor failed; nothing is decided")
}

func TestAFaultIsSaidInTheSmallestWindowToo(t *testing.T) {
	o := operate(t, asking(t, "ls *")).press("e", "x", "ctrl+d")
	lines := o.c.Render(View{Painter: painter(t), Keys: keys.Default(), Compact: true, Armed: true}, 40)
	if last := ansi.Strip(lines[len(lines)-1]); !strings.Contains(last, "line 6 is no JSON") {
		t.Errorf("%q", last)
	}
}

func TestASecretInAChangeIsShownAsItIsStored(t *testing.T) {
	c := asking(t, "ls *")
	c.Clean = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	o := operate(t, c).press("e")
	c.Changed(o.now, `{"argv":["hunter2"]}`, nil)
	c.Resize(painter(t), 80, 20)
	o.shows("[secret]")
	if o.now = o.now.Add(time.Minute); press(c, o.now, "g") == nil || strings.Contains(drawn(t, c), "hunter2") {
		t.Error("not as shown")
	}
}

func TestAQuestionOfTheAgentIsAnswered(t *testing.T) {
	for k, want := range map[string]string{"1": "1", "3": "3"} {
		o := operate(t, questioning(t, 3)).press(k)
		if o.d == nil || o.d.Answer != "approve" || o.d.Reason != want || o.d.Digest != "d1" {
			t.Errorf("%s: %+v", k, o.d)
		}
	}
	for _, k := range []string{"4", "9", "0", "a", "A", "e", "D", "enter", " ", "esc"} {
		if o := operate(t, questioning(t, 3)).press(k); o.d != nil || o.c.Field() {
			t.Errorf("%s answers: %+v", k, o.d)
		}
	}
	o := operate(t, questioning(t, 0)).press("1")
	if o.d != nil {
		t.Error("a choice that was not offered")
	}
	o.shows("never a permission")
	o.press("w")
	o.c.Disturb(o.now, "the\nmain one")
	o.press("enter", " ", "ctrl+d")
	if o.d == nil || o.d.Answer != "approve" || o.d.Reason != "the main one" {
		t.Errorf("%+v", o.d)
	}
	o = operate(t, questioning(t, 2)).press("w", "ctrl+d")
	if o.d != nil {
		t.Error("an empty answer was sent")
	}
	o.press("esc", "d", "n", "o", "ctrl+d")
	if o.d == nil || o.d.Answer != "deny" || o.d.Reason != "no" || o.d.Stop {
		t.Errorf("%+v", o.d)
	}
}

// TestTypeAheadDecidesNothingAnywhere types 10,000 random sequences into every state that a card can be in: fields and
// lists included, nothing but the keys that a person presses by themselves decides.
func TestTypeAheadDecidesNothingAnywhere(t *testing.T) {
	p, m := painter(t), keys.Default()
	opens := []func() *Card{
		func() *Card { return asking(t, "ls") },
		func() *Card { return questioning(t, 3) },
		func() *Card { c := asking(t, "ls"); c.rule = newRule(start); return c },
		func() *Card {
			c := asking(t, "ls")
			c.rule = newRule(start)
			c.Tried(start, c.Trial(), exact, nil)
			return c
		},
		func() *Card { c := asking(t, "ls"); c.change = newChange(c.About.Arguments, nil, start); return c },
		func() *Card {
			c := asking(t, "ls")
			c.change = newChange(c.About.Arguments, nil, start)
			c.Changed(start, `{"argv":["pwd"]}`, nil)
			return c
		},
	}
	letters := []string{"a", "d", "D", "f", "A", "e", "g", "w", "y", "n", " ", "enter", "esc", "c", "]", "1", "2", ";", "r", "R", "j", "l", "x", "pgdown", "left", "backspace"}
	sequences := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 100 { // a hundred sequences a check, a hundred checks
			sequences++
			c := rapid.SampledFrom(opens).Draw(rt, "state")()
			c.Resize(p, 80, 12)
			now := start
			for range rapid.IntRange(1, 40).Draw(rt, "keys") {
				now = now.Add(time.Duration(rapid.IntRange(0, int(ArmAfter/time.Millisecond)-1).Draw(rt, "gap ms")) * time.Millisecond)
				if d := c.Settle(now); d != nil {
					rt.Fatalf("a look at %s decided %+v", now.Sub(start), d)
				}
				if tr := c.Trial(); tr != nil {
					got := exact
					got.Match = append(got.Match, tr.Match...)
					c.Tried(now, tr, got, nil)
				}
				if rapid.IntRange(0, 20).Draw(rt, "paste") == 0 {
					c.Disturb(now, "g")
				} else {
					k := rapid.SampledFrom(letters).Draw(rt, "key")
					b, _ := m.Find(k, c.Place())
					if b.Place != c.Place() {
						b = keys.Binding{}
					}
					c.Press(now, key(k), b)
				}
				if d := c.Confirm(); d != nil {
					rt.Fatalf("confirmed %+v", d)
				}
				c.Resize(p, 80, 12)
			}
		}
	})
	if sequences < 10_000 && !testing.Short() { // a short run makes a fifth of the checks
		t.Errorf("only %d sequences", sequences)
	}
}

// hostile is text that a terminal would obey or not show, each with what has to be seen of it.
var hostile = map[string]string{
	"\r": `\r`, "\b": `\b`, "\x1b[2K": `\x1b[2K`, "\x1b]52;c;aGk=\a": `\x1b]52;c;aGk=\a`, "\u009b2J": `\u009b2J`, "\x7f": `\x7f`,
	"\u200b": `\u200b`, "\u2060": `\u2060`, "\u202e": `\u202e`, "\u2066": `\u2066`, "\U000e0041": `\U000e0041`, "\ufe0f": `\ufe0f`, "\U000e0101": `\U000e0101`,
	"\u00ad": `\u00ad`, "\u115f": `\u115f`, "\u3164": `\u3164`, "\ufeff": `\ufeff`, "\u034f": `\u034f`,
}

// TestHiddenCharactersAreSeenEverywhere puts each into everything that a card shows.
func TestHiddenCharactersAreSeenEverywhere(t *testing.T) {
	p := painter(t)
	for raw, seen := range hostile {
		bad := "a" + raw + "b"
		rule, text := "part rule", "x"
		whole := func(c *Card) string {
			c.Repaint()
			c.Resize(p, 80, 200)
			return drawn(t, c)
		}
		cards := map[string]func() *Card{
			"payload": func() *Card { return asking(t, bad) },
			"diff":    func() *Card { return asking(t, "--- f\n+++ f\n@@ -1 +1 @@\n-x\n+"+bad+"\n") },
			"path":    func() *Card { return asking(t, "--- "+bad+"\n+++ "+bad+"\n@@ -1 +1 @@\n-x\n+y\n") },
			"target": func() *Card {
				c := asking(t, "content of a new file")
				c.Request.Act, c.Request.Target = "write", bad
				return c
			},
			"question": func() *Card {
				c := questioning(t, 0)
				c.Request.Payload = bad
				return c
			},
			"choice": func() *Card {
				c := questioning(t, 1)
				c.Request.Payload = "which?\n1. " + bad
				return c
			},
			"rule that asks": func() *Card {
				c := asking(t, "ls")
				c.Request.Rule, c.Request.Layer, c.Request.Part = &rule, &text, bad
				return c
			},
			"said":   func() *Card { c := asking(t, "ls"); c.Request.Said = bad; return c },
			"before": func() *Card { c := asking(t, "ls"); c.About.Before = bad; return c },
			"rule": func() *Card {
				c := asking(t, "ls")
				c.rule = newRule(start)
				c.Tried(start, c.Trial(), core.RuleProposal{Match: []string{"ls", bad}, Covers: true}, nil)
				return c
			},
			"rule being typed": func() *Card {
				c := asking(t, "ls")
				c.rule = newRule(start)
				c.rule.editor = NewEditor("ls ", false)
				c.Disturb(start, bad)
				return c
			},
			"why a rule does not cover": func() *Card {
				c := asking(t, "ls")
				c.rule = newRule(start)
				c.Tried(start, c.Trial(), core.RuleProposal{Match: []string{"ls"}, Why: bad}, nil)
				return c
			},
			"arguments": func() *Card {
				c := asking(t, "ls")
				c.change = newChange(`{"argv":["`+bad+`"]}`, nil, start)
				return c
			},
			"changed arguments": func() *Card {
				c := asking(t, "ls")
				c.change = newChange(c.About.Arguments, nil, start)
				c.change.made = `{"argv":["` + bad + `"]}`
				return c
			},
			"changed by an operator": func() *Card {
				c := asking(t, "ls")
				c.About.Asked = `{"argv":["` + bad + `"]}`
				return c
			},
		}
		for where, of := range cards {
			if got := whole(of()); !strings.Contains(got, seen) || strings.Contains(got, raw) {
				t.Errorf("%q in %s is not seen as %s:\n%s", raw, where, seen, got)
			}
		}
	}
}

// TestALongDiffIsReadToItsEnd scrolls 5,000 lines: approve stays off until the last of them was in a window, whatever
// size the windows had, and none is left out or changed.
func TestALongDiffIsReadToItsEnd(t *testing.T) {
	p := painter(t)
	var b strings.Builder
	b.WriteString("--- big.txt\n+++ big.txt\n@@ -0,0 +1,5000 @@\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "+line %04d of it\n", i)
	}
	for name, size := range map[string][2]int{"40x12": {36, 4}, "120x40": {116, 24}, "20x6": {16, 1}} {
		c := New(db.Request{ID: 1, Digest: "d1", Act: "write", Payload: b.String()}, start)
		c.About = About{Rules: true, Arguments: `{"path":"big.txt"}`}
		c.Resize(p, size[0], size[1])
		now, seen := start.Add(time.Minute), map[string]bool{}
		note := func() {
			for _, l := range c.rows(p, size[0]+2) {
				seen[strings.TrimSpace(strings.TrimLeft(ansi.Strip(l), "▌ "))] = true
			}
		}
		note()
		for i := 0; !c.SeenEnd(); i++ {
			if i == 100 { // a window that changes on the way
				c.Resize(p, size[0]+20, size[1]+3)
				c.Resize(p, size[0], size[1])
			}
			for _, k := range []string{"a", "A", "e"} {
				if now = now.Add(time.Second); press(c, now, k) != nil || c.Field() {
					t.Fatalf("%s: %s counts before the end was seen", name, k)
				}
			}
			if now = now.Add(time.Second); i > 20_000 {
				t.Fatalf("%s: the end cannot be reached", name)
			}
			press(c, now, "pgdown")
			note()
		}
		if d := press(c, now.Add(time.Second), "a"); d == nil {
			t.Errorf("%s: approve stays off", name)
		}
		for i := range 5000 {
			if size[0] > 30 && !seen[fmt.Sprintf("+line %04d of it", i)] {
				t.Fatalf("%s: line %d was never shown", name, i)
			}
		}
	}
}

// TestEveryLineOfAPayloadIsShown wants empty lines too: what stands below two hundred of them is not a screen away for
// nothing.
func TestEveryLineOfAPayloadIsShown(t *testing.T) {
	c := asking(t, "ls"+strings.Repeat("\n", 200)+"rm -rf x")
	if c.Lines() != 201 || c.SeenEnd() {
		t.Errorf("%d lines", c.Lines())
	}
}

func TestACallThatAnOperatorChangedSaysSo(t *testing.T) {
	c := asking(t, "ls -l")
	c.About.Asked, c.About.Arguments = `{"argv":["ls","*"]}`, `{"argv":["ls","-l"]}`
	c.Repaint()
	c.Resize(painter(t), 80, 30)
	o := operate(t, c)
	o.shows("changed by the operator")
	o.shows(`-    "*"`)
	o.shows(`+    "-l"`)
}

func TestCardsAreDrawnExactly(t *testing.T) {
	p, m := painter(t), keys.Default()
	words := "rm -rf \x1b[2J\u202e 漢字 👨‍👩‍👧 \t" + strings.Repeat("e\u0301", 40)
	states := map[string]func(c *Card){
		"asked":    func(*Card) {},
		"before":   func(c *Card) { c.About.Before = words },
		"changed":  func(c *Card) { c.About.Asked = `{"argv":["` + "漢字" + `"]}` },
		"question": func(c *Card) { c.Request.Act, c.About.Choices = db.QuestionAct, 3 },
		"answer":   func(c *Card) { c.Request.Act, c.answer = db.QuestionAct, NewField("your answer: ") },
		"rule": func(c *Card) {
			c.rule = newRule(start)
			c.Tried(start, c.Trial(), core.RuleProposal{Match: []string{words}, Why: words}, nil)
		},
		"rule typed": func(c *Card) { c.rule = newRule(start); c.rule.editor = NewEditor(words, false) },
		"change":     func(c *Card) { c.change = newChange(`{"a":"`+"漢字"+`"}`, nil, start); c.change.editor.Insert(words) },
		"compared":   func(c *Card) { c.change = newChange(`{"a":1}`, nil, start); c.Changed(start, `{"a":"漢字"}`, nil) },
	}
	for name, state := range states {
		for w := 20; w <= 130; w += 3 {
			for h := 1; h <= 12; h++ {
				c := asking(t, words)
				state(c)
				c.Repaint()
				c.Resize(p, max(4, w-4), h)
				for _, compact := range []bool{false, true} {
					lines := c.Render(View{Painter: p, Keys: m, Place: "~/w", Waits: "since 15:04:05", Compact: compact}, w)
					if len(lines) != c.Frame(compact)+min(h, c.Lines()) {
						t.Fatalf("%s %dx%d: %d lines", name, w, h, len(lines))
					}
					for _, l := range lines {
						if ansi.StringWidth(l) != w || ansi.StringWidthWc(l) != w {
							t.Fatalf("%s %dx%d: %q is %d wide", name, w, h, ansi.Strip(l), ansi.StringWidth(l))
						}
					}
				}
			}
		}
	}
}

// TestTheEditorKeepsEveryByte compares it with a plain model of text and cursor.
func TestTheEditorKeepsEveryByte(t *testing.T) {
	p := painter(t)
	rapid.Check(t, func(rt *rapid.T) {
		e := NewEditor("", true)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			before := e.Value()
			switch k := rapid.SampledFrom([]string{"text", "left", "right", "up", "down", "home", "end", "enter", "backspace", "delete"}).Draw(rt, "do"); k {
			case "text":
				s := rapid.StringOfN(rapid.RuneFrom([]rune("ab {\"\n\t\r\x1b\u200b漢\u0301👨\u200d👩")), 1, 8, -1).Draw(rt, "text")
				at := len(e.before)
				e.Insert(s)
				if e.Value() != before[:at]+s+before[at:] {
					rt.Fatalf("%q in %q became %q", s, before, e.Value())
				}
			case "enter":
				at := len(e.before)
				e.Press(tea.KeyPressMsg{Code: tea.KeyEnter})
				if e.Value() != before[:at]+"\n"+before[at:] {
					rt.Fatalf("enter in %q", before)
				}
			case "backspace", "delete":
				e.Press(map[string]tea.KeyPressMsg{"backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete}}[k])
				if v := e.Value(); len(v) > len(before) || len(before) > 0 && len(v) == len(before) && e.before != "" && e.after != "" {
					rt.Fatalf("%s of %q gave %q", k, before, v)
				}
			default:
				codes := map[string]rune{"left": tea.KeyLeft, "right": tea.KeyRight, "up": tea.KeyUp, "down": tea.KeyDown, "home": tea.KeyHome, "end": tea.KeyEnd}
				e.Press(tea.KeyPressMsg{Code: codes[k]})
				if e.Value() != before {
					rt.Fatalf("%s changed %q to %q", k, before, e.Value())
				}
			}
			width := rapid.IntRange(16, 60).Draw(rt, "width")
			lines, cursor := e.layout(p, width)
			if cursor < 0 || cursor >= len(lines) || strings.Count(ansi.Strip(strings.Join(lines, "")), "▏") != 1 || !strings.Contains(lines[cursor], "▏") {
				rt.Fatalf("%q: the cursor is not in line %d of %q", e.Value(), cursor, lines)
			}
			for _, l := range lines {
				if ansi.StringWidth(l) != width {
					rt.Fatalf("%q is %d wide, not %d", l, ansi.StringWidth(l), width)
				}
			}
		}
	})
}
