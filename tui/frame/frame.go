// Package frame is what all screens share: their edges, their key line, their words for how a run stands.
package frame

import (
	"slices"
	"strings"

	"tillerman/observer"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// The smallest window that anything is drawn in. Below it nothing can be read, so nothing can be approved.
const (
	MinWidth  = 20
	MinHeight = 6
)

// TooSmall says that a window is below the minimum.
func TooSmall(width, height int) bool { return width < MinWidth || height < MinHeight }

// Small is the one line of a window that is too small.
func Small(p *paint.Painter, width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	return Exactly(p, []string{p.Line(width, paint.Plain).Add(paint.Text, "window too small").String()}, width, height)
}

// Message is a screen with one line to say.
func Message(p *paint.Painter, width, height int, words string, err error) string {
	l := p.Line(width, paint.Plain).Gap(2).Add(paint.Italic, text.Line(words))
	if err != nil {
		l = p.Line(width, paint.Plain).Gap(2).Add(paint.Bad, text.Line(err.Error()))
	}
	return Exactly(p, []string{Title(p, width).String(), p.Line(width, paint.Plain).String(), l.String()}, width, height)
}

// Title begins a header line with the program's name.
func Title(p *paint.Painter, width int) *paint.Line {
	return p.Line(width, paint.Panel).Gap(2).Add(paint.Accent, "tillerman")
}

// Exactly makes a screen of exactly height lines; the last line, the keys, stays when lines have to go.
func Exactly(p *paint.Painter, lines []string, width, height int) string {
	if over := len(lines) - height; over > 0 {
		last := lines[len(lines)-1]
		lines = append(append([]string(nil), lines[:height-1]...), last)
	}
	for len(lines) < height {
		lines = append(lines, p.Line(width, paint.Plain).String())
	}
	return strings.Join(lines, "\n")
}

// State is a sign, a role and a word for how a run stands. The word says what the colour says.
func State(p *paint.Painter, state string) (sign string, role paint.Role, word string) {
	switch state {
	case "running":
		return p.Pick("●", "*"), paint.Good, "running"
	case "waits for you":
		return p.Pick("◐", "?"), paint.Person, "waits for you"
	case "cancelling":
		return p.Pick("◌", "~"), paint.Person, "cancelling"
	case "interrupted":
		return p.Pick("◌", "~"), paint.Person, "interrupted"
	case "pausing", "paused":
		return p.Pick("◐", "="), paint.Person, state
	case "driver unseen":
		return p.Pick("◌", "?"), paint.Person, state
	case string(observer.OutcomePausedByOperator):
		return p.Pick("◐", "="), paint.Person, "paused"
	case string(observer.OutcomeSuccess):
		return p.Pick("✓", "+"), paint.Good, "success"
	case string(observer.OutcomeCancelled), string(observer.OutcomeKilled):
		return p.Pick("◌", "~"), paint.Soft, state
	case string(observer.OutcomeRefused), string(observer.OutcomeDenied):
		return p.Pick("⊘", "!"), paint.Bad, state
	}
	row, ok := observer.Outcome(state).Row()
	if ok && row.Status == observer.StatusPaused {
		return p.Pick("◐", "?"), paint.Person, strings.ReplaceAll(state, "_", " ")
	}
	return p.Pick("✗", "x"), paint.Bad, strings.ReplaceAll(text.Line(state), "_", " ")
}

// StateBy is State with the name of who paused the run.
func StateBy(p *paint.Painter, state, by string) (sign string, role paint.Role, word string) {
	sign, role, word = State(p, state)
	if word == "paused" && by != "" {
		word += " by " + text.Line(by)
	}
	return sign, role, word
}

// Caps puts keys with their words on a line, as many as fit, closer together where there is little room.
func Caps(l *paint.Line, bindings []keys.Binding, width int) string {
	const margin, wide, close = 2, 3, 1
	size := func(b keys.Binding) int {
		return len("  ") + text.Width(keys.Cap(b.Keys[0])) + len(" ") + text.Width(b.Name)
	}
	bindings = slices.DeleteFunc(slices.Clone(bindings), func(b keys.Binding) bool { return len(b.Keys) == 0 })
	need := margin - wide
	for _, b := range bindings {
		need += size(b) + wide
	}
	between := wide
	if need > width {
		between = close
	}
	used, gap := margin, 0
	for _, b := range bindings {
		if used+gap+size(b) > width {
			continue
		}
		l.Gap(gap).On(paint.Strong, paint.Cap, " "+keys.Cap(b.Keys[0])+" ").Add(paint.Soft, " "+b.Name)
		used, gap = used+gap+size(b), between
	}
	return l.String()
}
