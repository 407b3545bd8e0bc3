package card

import (
	"fmt"
	"strings"

	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// pane is a window on lines that must be read to their end.
type pane struct {
	width, height int
	lines         []string
	offset        int
	seenEnd       bool
}

// SeenEnd says whether the end has been on the screen.
func (w *pane) SeenEnd() bool { return w.seenEnd }

// Lines is how many lines there are at the current width.
func (w *pane) Lines() int { return len(w.lines) }

// Repaint lays the lines out anew at the next Resize: the theme has changed.
func (w *pane) Repaint() { w.lines = nil }

// fit sets the window's size and notes whether the end is in it.
func (w *pane) fit(width, height int) {
	w.width, w.height = width, height
	w.scroll(0)
}

func (w *pane) scroll(by int) {
	last := max(0, len(w.lines)-w.height)
	w.offset = min(max(0, w.offset+by), last)
	if w.height > 0 && w.offset >= last {
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
	switch {
	case below > 0:
		l.Add(paint.Person, fmt.Sprintf("%s %d more lines: pgdn", p.Pick("▼", "v"), below))
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

// wrapped is text laid out for a pane, every line of it whole, empty ones too.
func wrapped(p *paint.Painter, role paint.Role, s string, width int) []string {
	var out []string
	for l := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		for _, part := range text.Wrap(text.Payload(l), max(4, width)) {
			out = append(out, p.Line(width, paint.Panel).Add(role, part).String())
		}
	}
	return out
}
