package card

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// editorLimit bounds what an editor holds, in bytes.
const editorLimit = 1 << 20

// Editor is text that is edited exactly: what is put in stays byte for byte, whatever it is, and what a terminal would
// obey or not show stands there as an escape. It moves by grapheme cluster. It is for one goroutine.
type Editor struct {
	before, after string // of the cursor
	lines         bool   // Enter begins a line
	full          bool   // the last text did not fit in
	drawn         map[string][]string
	drawnAt       int
}

// NewEditor edits s, with the cursor at its end. lines allows more than one line.
func NewEditor(s string, lines bool) *Editor { return &Editor{before: s, lines: lines} }

// Value is the text.
func (e *Editor) Value() string { return e.before + e.after }

// Insert puts text in at the cursor, as it is.
func (e *Editor) Insert(s string) {
	if e.full = len(e.before)+len(e.after)+len(s) > editorLimit; !e.full {
		e.before += s
	}
}

// Press edits the text.
func (e *Editor) Press(msg tea.KeyPressMsg) {
	e.full = false
	switch msg.String() {
	case "enter":
		if e.lines {
			e.Insert("\n")
		}
	case "left":
		e.back(lastCluster(e.before))
	case "right":
		e.forth(firstCluster(e.after))
	case "home":
		e.back(tailLine(e.before))
	case "end":
		e.forth(headLine(e.after))
	case "up":
		e.vertical(-1)
	case "down":
		e.vertical(1)
	case "backspace":
		e.before = e.before[:len(e.before)-lastCluster(e.before)]
	case "delete":
		e.after = e.after[firstCluster(e.after):]
	case "ctrl+u":
		e.before = e.before[:len(e.before)-tailLine(e.before)]
	case "ctrl+k":
		e.after = e.after[headLine(e.after):]
	default:
		e.Insert(msg.Text)
	}
}

func (e *Editor) back(n int) {
	at := len(e.before) - n
	e.before, e.after = e.before[:at], e.before[at:]+e.after
}

func (e *Editor) forth(n int) { e.before, e.after = e.before+e.after[:n], e.after[n:] }

// vertical moves the cursor by a line, as many clusters into it as before.
func (e *Editor) vertical(by int) {
	column := clusters(e.before[len(e.before)-tailLine(e.before):])
	switch {
	case by < 0:
		n := tailLine(e.before)
		if n == len(e.before) {
			return
		}
		e.back(n + 1)
		e.back(tailLine(e.before))
	default:
		n := headLine(e.after)
		if n == len(e.after) {
			return
		}
		e.forth(n + 1)
	}
	for line := headLine(e.after); column > 0 && line > 0; column-- {
		n := firstCluster(e.after[:line])
		e.forth(n)
		line -= n
	}
}

// tailLine is how much of the end of s lies behind its last line end.
func tailLine(s string) int { return len(s) - 1 - strings.LastIndexByte(s, '\n') }

// headLine is how much of s lies before its first line end.
func headLine(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// firstCluster is the size of the first cluster. A line end is one of its own.
func firstCluster(s string) int {
	if s == "" {
		return 0
	}
	if s[0] == '\n' {
		return 1
	}
	cluster, _ := ansi.FirstGraphemeCluster(s[:max(1, headLine(s))], ansi.GraphemeWidth)
	return max(1, len(cluster))
}

// lastCluster is the size of the last cluster.
func lastCluster(s string) int {
	if strings.HasSuffix(s, "\n") {
		return 1
	}
	s = s[len(s)-tailLine(s):]
	last := 0
	for s != "" {
		last = firstCluster(s)
		s = s[last:]
	}
	return last
}

func clusters(s string) int {
	n := 0
	for ; s != ""; n++ {
		s = s[firstCluster(s):]
	}
	return n
}

// layout draws the text, wrapped to width, with its cursor, and says in which line that is. Lines without the cursor are
// drawn once.
func (e *Editor) layout(p *paint.Painter, width int) (out []string, cursor int) {
	if e.drawnAt != width {
		e.drawn, e.drawnAt = nil, width
	}
	kept := map[string][]string{}
	plain := func(lines string) {
		for l := range strings.SplitSeq(lines, "\n") {
			rows, ok := e.drawn[l]
			if !ok {
				rows = wrapped(p, paint.Strong, l, width)
			}
			kept[l] = rows
			out = append(out, rows...)
		}
	}
	head, left := e.before[:len(e.before)-tailLine(e.before)], e.before[len(e.before)-tailLine(e.before):]
	right, tail := e.after[:headLine(e.after)], e.after[headLine(e.after):]
	if head != "" {
		plain(strings.TrimSuffix(head, "\n"))
	}
	rows, at := e.cursorLine(p, left, right, width)
	cursor = len(out) + at
	out = append(out, rows...)
	if tail != "" {
		plain(tail[1:])
	}
	e.drawn = kept
	return out, cursor
}

// cursorLine draws the line with the cursor between left and right.
func (e *Editor) cursorLine(p *paint.Painter, left, right string, width int) (rows []string, at int) {
	left, right = text.Payload(left), text.Payload(right)
	sign := p.Pick("▏", "|")
	passed := 0
	for i, row := range text.Wrap(left+sign+right, max(4, width)) {
		l := p.Line(width, paint.Panel)
		if from := len(left) - passed; from >= 0 && from < len(row) {
			at = i
			l.Add(paint.Strong, row[:from]).Add(paint.Accent, sign).Add(paint.Strong, row[from+len(sign):])
		} else {
			l.Add(paint.Strong, row)
		}
		passed += len(row)
		rows = append(rows, l.String())
	}
	return rows, at
}
