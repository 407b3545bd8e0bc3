package card

import (
	"fmt"
	"math"
	"strings"

	"tillerman/tui/detail"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// pane is a window on lines that must be read to their end.
type pane struct {
	width, height int
	lines         []string
	rolls         []*roll // what comes after the lines, not laid out yet
	offset        int
	seenEnd       bool
}

// ahead is how many lines are laid out beyond what is on the screen. A text of some megabytes takes seconds to lay out
// whole, in which no key works, and many times its size in memory.
const ahead = 300

// SeenEnd says whether the end has been on the screen.
func (w *pane) SeenEnd() bool { return w.seenEnd }

// Lines is how many lines there are at the current width, as far as they are laid out.
func (w *pane) Lines() int { return len(w.lines) }

// set gives the pane what it shows: lines, and behind them texts that are laid out as they are looked at. In another width
// the same row is another place of such a text: who has not seen the end begins anew, so that nothing is passed over.
func (w *pane) set(lines []string, rolls ...*roll) {
	if len(rolls) > 0 && !w.seenEnd {
		w.offset = 0
	}
	w.lines, w.rolls = append(make([]string, 0, len(lines)), lines...), rolls
}

// lay lays out until there are n lines, or all. A pane that has to be laid out anew has none until then.
func (w *pane) lay(n int) {
	if w.lines == nil {
		return
	}
	for len(w.lines) < n && len(w.rolls) > 0 {
		rows := w.rolls[0].next(n - len(w.lines))
		if len(rows) == 0 {
			w.rolls = w.rolls[1:]
		}
		w.lines = append(w.lines, rows...)
	}
	for len(w.rolls) > 0 && w.rolls[0].left() == 0 {
		w.rolls = w.rolls[1:]
	}
}

// Repaint lays the lines out anew at the next Resize: the theme has changed.
func (w *pane) Repaint() { w.lines = nil }

// fit sets the window's size and notes whether the end is in it.
func (w *pane) fit(width, height int) {
	w.width, w.height = width, height
	w.scroll(0)
}

func (w *pane) scroll(by int) {
	w.lay(w.offset + max(0, by) + w.height + ahead)
	last := max(0, len(w.lines)-w.height)
	w.offset = min(max(0, w.offset+by), last)
	if w.height > 0 && w.lines != nil && w.offset >= last && len(w.rolls) == 0 {
		w.seenEnd = true
	}
}

// reveal scrolls as far as it takes to have a line in the window.
func (w *pane) reveal(line int) {
	switch {
	case line < w.offset:
		w.scroll(line - w.offset)
	case w.height > 0 && line >= w.offset+w.height:
		w.scroll(line - w.offset - w.height + 1)
	}
}

// page scrolls by a window less one line.
func (w *pane) page(by int) { w.scroll(by * max(1, w.height-1)) }

// rows draws the window between bars.
func (w *pane) rows(p *paint.Painter, width int) []string {
	bar := p.Line(2, paint.Panel).Add(paint.Person, p.Pick("▌", "|")).String()
	var out []string
	for _, l := range w.lines[min(len(w.lines), w.offset):min(len(w.lines), w.offset+w.height)] {
		out = append(out, bar+l+p.Line(max(0, width-2-w.width), paint.Panel).String())
	}
	return out
}

// more says what is not on the screen, false when all is. off is what stays off until the end was seen.
func (w *pane) more(l *paint.Line, p *paint.Painter, off string) bool {
	below := len(w.lines) - w.offset - w.height
	about := ""
	for _, r := range w.rolls {
		below, about = below+r.left(), "about "
	}
	switch {
	case below > 0:
		lines := "lines"
		if below == 1 {
			lines = "line"
		}
		l.Add(paint.Person, fmt.Sprintf("%s %s%d more %s: pgdn", p.Pick("▼", "v"), about, below, lines))
		if !w.seenEnd {
			l.Add(paint.Person, "   "+off+" until you saw the end")
		}
		return true
	case w.offset > 0:
		l.Add(paint.Soft, fmt.Sprintf("end of %d lines: pgup", len(w.lines)))
		return true
	}
	return false
}

// roll is a text that is laid out from its start, as far as it is asked for.
type roll struct {
	p     *paint.Painter
	from  text.Wrapper
	style func(line int, s string) (paint.Ground, paint.Role) // of a line of the text, which s starts with
	begun bool
	pos   int // up to where it is laid out
	line  int // how many of its lines have begun

	ground paint.Ground // of the line under way
	role   paint.Role
}

// newRoll rolls s out, every line of it whole, empty ones too, in one role.
func newRoll(p *paint.Painter, role paint.Role, s string, width int) *roll {
	return &roll{
		p: p, from: text.Wrapper{Text: s, Width: max(4, width), Form: text.Exact},
		style: func(int, string) (paint.Ground, paint.Role) { return paint.Panel, role },
	}
}

// newDiff rolls the lines of a unified diff out.
func newDiff(p *paint.Painter, s string, width int) *roll {
	return &roll{
		p: p, from: text.Wrapper{Text: s, Width: max(8, width), Form: text.Exact, Tab: 8},
		style: func(line int, s string) (paint.Ground, paint.Role) { return detail.DiffStyle(paint.Panel, line, s) },
	}
}

// next lays at most n more lines out. There are none at the end.
func (r *roll) next(n int) []string {
	if r.from.Text == "" && !r.begun { // an empty text is an empty line
		r.begun = true
		return []string{r.p.Line(r.from.Width, paint.Panel).String()}
	}
	r.begun = true
	var out []string
	for _, row := range r.from.Rows(r.pos, n) {
		if row.Start == 0 || r.from.Text[row.Start-1] == '\n' {
			r.ground, r.role = r.style(r.line, r.from.Text[row.Start:])
			r.line++
		}
		out = append(out, r.p.Line(r.from.Width, r.ground).Add(r.role, row.Text).String())
		r.pos = row.End
	}
	return out
}

// left is about how many lines are still to be laid out, 0 for none: those of the text, or more where they are long.
func (r *roll) left() int {
	rest := r.from.Text[r.pos:]
	if rest == "" && r.begun {
		return 0
	}
	return max(1, strings.Count(strings.TrimSuffix(rest, "\n"), "\n")+1, len(rest)/r.from.Width)
}

// wrapped is text laid out for a pane, every line of it whole, empty ones too.
func wrapped(p *paint.Painter, role paint.Role, s string, width int) []string {
	r := newRoll(p, role, s, width)
	return r.next(math.MaxInt)
}
