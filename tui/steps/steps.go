// Package steps draws the list of a run's steps, a line each. Only the lines that are seen are drawn, and a line that has
// not changed is not drawn again.
package steps

import (
	"fmt"
	"strings"

	"tillerman/core"
	"tillerman/tui/feed"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// List draws rows. The zero value is ready; it is for one goroutine.
type List struct {
	cache map[int]cached
	seen  int // frames, for dropping what is not drawn any more
}

type cached struct {
	key   string
	line  string
	frame int
}

// Row draws one step as a line of width cells. now is the run's activity, drawn on the step it belongs to.
func (l *List) Row(p *paint.Painter, r feed.Row, now feed.Activity, width int, selected bool) string {
	key := fmt.Sprintf("%d %t %v %s", width, selected, r, p.Theme().Name)
	active := !r.Sealed && now.Step == r.Step
	if active {
		key += now.Kind
	}
	if c, ok := l.cache[r.Step]; ok && c.key == key {
		c.frame = l.seen
		l.cache[r.Step] = c
		return c.line
	}
	line := draw(p, r, now, width, selected, active)
	if l.cache == nil {
		l.cache = map[int]cached{}
	}
	l.cache[r.Step] = cached{key, line, l.seen}
	return line
}

// Frame ends a frame: lines that were not drawn in it are forgotten.
func (l *List) Frame() {
	for step, c := range l.cache {
		if c.frame != l.seen {
			delete(l.cache, step)
		}
	}
	l.seen++
}

func draw(p *paint.Painter, r feed.Row, now feed.Activity, width int, selected, active bool) string {
	ground := paint.Plain
	mark := "  "
	if selected {
		ground, mark = paint.Selected, p.Pick("▌ ", "> ")
	}
	line := p.Line(width, ground).Add(paint.Accent, mark)
	sign, role := glyph(p, r, now, active)
	line.Add(role, sign).Add(paint.Soft, fmt.Sprintf("%4d  ", r.Step))
	what(line, p, r, now, active)
	if width >= 44 {
		tokens := ""
		switch {
		case r.Measured:
			tokens = Short(r.Tokens)
		case r.Sealed:
			tokens = "n/m"
		}
		line.Right(paint.Dim, fmt.Sprintf("%7s", tokens))
	}
	if width >= 36 {
		took := ""
		if r.MS > 0 || r.Sealed {
			took = plain.Duration(r.MS)
		}
		line.Right(paint.Dim, fmt.Sprintf(" %8s", took))
	}
	return line.Right(paint.Text, " ").String()
}

// glyph is the sign of a step: colour never says alone what it means.
func glyph(p *paint.Painter, r feed.Row, now feed.Activity, active bool) (string, paint.Role) {
	switch {
	case active && now.Kind == "question":
		return p.Pick("?", "?"), paint.Person
	case !r.Sealed:
		return p.Pick("▸", ">"), paint.Accent
	}
	for _, g := range r.Gates {
		if g.State == "failed" {
			return p.Pick("✗", "x"), paint.Bad
		}
	}
	for _, c := range r.Calls {
		switch {
		case c.Refused || c.Decision == "deny":
			return p.Pick("⊘", "!"), paint.Bad
		case c.Failed:
			return p.Pick("✗", "x"), paint.Bad
		}
	}
	return p.Pick("✓", "+"), paint.Good
}

// what says what the step did, or does.
func what(line *paint.Line, p *paint.Painter, r feed.Row, now feed.Activity, active bool) {
	for i, c := range r.Calls {
		if i > 0 {
			line.Add(paint.Dim, p.Pick(" · ", " | "))
		}
		if i == 2 && len(r.Calls) > 3 {
			line.Add(paint.Dim, fmt.Sprintf("%d more", len(r.Calls)-i))
			break
		}
		line.Add(paint.Tool, text.Line(c.Name)).Gap(1).Add(paint.Text, text.Line(c.Target))
		note(line, c)
	}
	if r.Final {
		line.Add(paint.Model, "message ").Add(paint.Text, first(r.Said))
		if r.Note != "final message" {
			line.Gap(1).Add(paint.Bad, text.Line(r.Note))
		}
	}
	for _, g := range r.Gates {
		switch g.State {
		case "passed":
			line.Gap(2).Add(paint.Good, "check passed")
		case "failed":
			line.Gap(2).Add(paint.Bad, "check failed")
		}
	}
	if r.FellBack != "" {
		line.Gap(2).Add(paint.Person, text.Line(r.FellBack))
	}
	if active {
		line.Gap(2 * min(1, len(r.Calls))).Add(doing(p, now))
	} else if !r.Sealed && len(r.Calls) == 0 {
		line.Add(paint.Italic, "interrupted")
	}
}

// note is what is worth a word about a call.
func note(line *paint.Line, c feed.Call) {
	switch {
	case c.Refused && c.Rule != "":
		line.Gap(2).Add(paint.Bad, "refused: "+text.Line(c.Rule))
	case c.Refused:
		line.Gap(2).Add(paint.Bad, "refused")
	case c.Decision == "deny":
		line.Gap(2).Add(paint.Bad, "denied by "+text.Line(c.By))
	case c.Exit != 0:
		line.Gap(2).Add(paint.Bad, fmt.Sprintf("exit %d", c.Exit))
	case c.Failed:
		line.Gap(2).Add(paint.Bad, "failed")
	}
	if c.Layer == core.RememberedLayer && c.Effect == "allow" {
		line.Gap(2).Add(paint.Person, "by rule "+text.Line(c.Rule))
	}
	if c.Decision == "approve" && c.By != "" {
		line.Gap(2).Add(paint.Person, text.Line(c.By)+", after "+plain.Duration(c.WaitedMS))
	}
}

// doing is what is under way, in a word.
func doing(p *paint.Painter, now feed.Activity) (paint.Role, string) {
	switch now.Kind {
	case "model":
		return paint.Italic, "thinking" + p.Pick("…", "...")
	case "call":
		return paint.Italic, "acting" + p.Pick("…", "...")
	case "question":
		return paint.Person, "waits for you"
	case "retry":
		return paint.Person, "waits to ask again: " + text.Line(now.Name)
	case "gate":
		return paint.Italic, "checking" + p.Pick("…", "...")
	}
	return paint.Italic, ""
}

// first is the first line of what was said.
func first(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return text.Line(line)
}

// Short is a token count in at most six cells.
func Short(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 99_950:
		tenths := (n + 50) / 100
		return fmt.Sprintf("%d.%dk", tenths/10, tenths%10)
	case n < 9_999_500:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return fmt.Sprintf("%dM", (n+500_000)/1_000_000)
}
