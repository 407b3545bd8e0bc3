package card

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/core"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// Trial is a rule that has to be tried before it can be given: the words of it, nil for exactly what is asked.
type Trial struct {
	Match []string
	typed string
}

// rule is a rule for the rest of the run on its way to be given. What can be given is what was tried, and nothing else.
type rule struct {
	pane
	guard  Guard
	cursor int     // the line it is in
	editor *Editor // while its text is edited
	tried  *core.RuleProposal
	err    error
	typed  string // what the newest trial was of
	flying *Trial // is under way
	fresh  bool   // what was tried is what stands there
}

func newRule(now time.Time) *rule { return &rule{guard: NewGuard(now)} }

// text is the rule as it stands.
func (r *rule) text() string {
	switch {
	case r.editor != nil:
		return r.editor.Value()
	case !r.fresh:
		return r.typed
	case r.tried != nil:
		return strings.Join(r.tried.Match, " ")
	}
	return ""
}

// wants is the trial that is due, nil while one is under way or none is.
func (r *rule) wants() *Trial {
	if r.flying != nil || r.fresh && r.editor == nil {
		return nil
	}
	t := &Trial{}
	if r.editor != nil {
		t.typed = r.editor.Value()
		if r.fresh && t.typed == r.typed {
			return nil
		}
		t.Match = []string{t.typed}
	} else if r.typed != "" {
		t.typed, t.Match = r.typed, []string{r.typed}
	}
	r.flying = t
	return t
}

// took takes the result of a trial. When the text was left as another one meanwhile, that is to be tried still.
func (r *rule) took(now time.Time, t *Trial, p core.RuleProposal, err error) {
	if r.flying = nil; r.editor == nil && t.typed != r.typed {
		return
	}
	r.fresh, r.typed, r.err, r.tried = true, t.typed, err, nil
	if err == nil {
		r.tried = &p
		if t.Match == nil {
			r.typed = strings.Join(p.Match, " ")
		}
	}
	if r.editor != nil {
		r.fresh = r.editor.Value() == r.typed
	}
	r.lines, r.seenEnd = nil, false
	r.guard = r.guard.renewed(now)
}

// ready says that the rule can be given.
func (r *rule) ready() bool {
	return r.editor == nil && r.fresh && r.flying == nil && r.tried != nil && r.tried.Covers && r.seenEnd
}

// press handles a key. close is that the question is to be shown again; settle that the guard has to be asked after Alone.
func (r *rule) press(now time.Time, msg tea.KeyPressMsg, b keys.Binding) (closed, settle bool) {
	if r.editor != nil {
		switch b.Action {
		case keys.Close:
			return true, false
		case keys.Try:
			r.typed, r.fresh = r.editor.Value(), r.fresh && r.editor.Value() == r.typed
			r.editor, r.guard = nil, r.guard.renewed(now)
		default:
			r.editor.Press(msg)
			r.fresh = r.fresh && r.editor.Value() == r.typed
		}
		r.lines, r.seenEnd = nil, false
		return false, false
	}
	what := Noise
	switch b.Action {
	case keys.GiveRule:
		what = Harmless
		if r.ready() {
			what = Decision
		}
	case keys.PageUp, keys.PageDown, keys.Pattern, keys.Close:
		what = Harmless
	}
	settle = r.guard.Press(now, string(b.Action), what)
	switch b.Action {
	case keys.Close:
		return true, false
	case keys.Pattern:
		if r.fresh {
			r.editor = NewEditor(r.typed, false)
			r.lines = nil
		}
	case keys.PageDown:
		r.page(1)
	case keys.PageUp:
		r.page(-1)
	}
	return false, settle
}

func (r *rule) insert(s string) {
	r.editor.Insert(s)
	r.fresh = r.fresh && r.editor.Value() == r.typed
	r.lines, r.seenEnd = nil, false
}

// match is the rule that is given by now, nil when none is.
func (r *rule) match(now time.Time) []string {
	if keys.Action(r.guard.Settle(now)) != keys.GiveRule || !r.ready() {
		return nil
	}
	return r.tried.Match
}

func (r *rule) resize(p *paint.Painter, width, height int) {
	if width != r.width || r.lines == nil {
		if r.editor != nil {
			r.lines, r.cursor = r.editor.layout(p, width)
		} else {
			r.lines = wrapped(p, paint.Strong, r.text(), width)
		}
		for _, f := range r.findings(p) {
			r.lines = append(r.lines, wrappedWords(p, f.role, f.words, width)...)
		}
	}
	r.fit(width, height)
	if r.editor != nil {
		r.reveal(r.cursor)
	}
}

type finding struct {
	role  paint.Role
	words string
}

// findings are what a trial showed, in words.
func (r *rule) findings(p *paint.Painter) []finding {
	if r.flying != nil || !r.fresh {
		return []finding{{paint.Soft, "trying it on what was decided in this store before" + p.Pick("…", "...")}}
	}
	if r.err != nil {
		return []finding{{paint.Bad, "this is no rule: " + r.err.Error()}}
	}
	if r.tried == nil {
		return nil
	}
	out := []finding{{paint.Text, reach(*r.tried)}}
	switch {
	case !r.tried.Covers:
		out = append(out, finding{paint.Bad, "it would not allow what is asked here: " + r.tried.Why})
	default:
		out = append(out, finding{paint.Good, "it allows what is asked here"})
	}
	if text.Hidden(r.text()) {
		out = append(out, finding{paint.Bad, "contains hidden or control characters, shown as escapes"})
	}
	return out
}

// reach says what a rule would have done to what was decided before.
func reach(p core.RuleProposal) string {
	calls := func(n int) string {
		if n == 1 {
			return "1 call"
		}
		return fmt.Sprintf("%d calls", n)
	}
	n := p.Approved + p.Denied
	s := "would have allowed " + calls(n)
	switch {
	case n == 0:
		return s + " decided in this store so far"
	case p.Denied == 0:
		return s + " decided so far, none of which was refused"
	}
	return fmt.Sprintf("%s decided so far, %d of which were refused", s, p.Denied)
}

// wrappedWords is prose laid out for a pane.
func wrappedWords(p *paint.Painter, role paint.Role, s string, width int) []string {
	var out []string
	for _, part := range text.WrapWords(text.Payload(strings.ReplaceAll(s, "\n", " ")), max(4, width)) {
		out = append(out, p.Line(width, paint.Panel).Add(role, part).String())
	}
	return out
}
