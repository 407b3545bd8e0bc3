package tuitest

import (
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Frame is what a screen showed at a moment. It does not change any more.
type Frame struct {
	Cols, Rows int
	Cells      [][]Cell // Rows × Cols
	Cursor     Cursor
	Title      string
	Alternate  bool // the alternate screen is shown

	// The colours of text and ground where a cell names none.
	Text, Ground color.Color
}

// Cursor is where the terminal's cursor stands, counted from 0.
type Cursor struct {
	X, Y   int
	Hidden bool
}

// Cell is one cell of a screen.
type Cell struct {
	Text  string // one grapheme cluster; a blank is " "
	Width int    // in cells; the second cell of a wide cluster has none and no text
	Style Style
	Link  string // where a hyperlink (OSC 8) leads
}

// Style is how a cell is drawn. Colours are "" for the terminal's own, its
// number ("9") for one of the terminal's palette, or "#rrggbb".
type Style struct {
	Fg, Bg, UnderlineColor string
	Underline              string // "", single, double, curly, dotted or dashed
	Bold, Faint, Italic    bool
	Blink, Reverse         bool
	Conceal, Strike        bool
}

// Frame takes a picture of the screen as it is now.
func (t *Term) Frame() Frame {
	t.tb.Helper()
	t.mu.Lock()
	f, err := t.frameLocked(), t.broken
	t.mu.Unlock()
	if err != nil {
		t.tb.Fatal(err)
	}
	return f
}

// Screen gives the rows of the screen as it is now, without blanks at their
// ends.
func (t *Term) Screen() []string {
	t.tb.Helper()
	return t.Frame().Lines()
}

// Cells gives the cells of the screen as it is now, by row and column.
func (t *Term) Cells() [][]Cell {
	t.tb.Helper()
	return t.Frame().Cells
}

func (t *Term) frameLocked() Frame {
	f := Frame{Cols: t.emu.Width(), Rows: t.emu.Height(), Title: t.title, Alternate: t.emu.IsAltScreen()}
	f.Text, f.Ground = t.emu.ForegroundColor(), t.emu.BackgroundColor()
	at := t.emu.CursorPosition()
	f.Cursor = Cursor{X: at.X, Y: at.Y, Hidden: t.emu.CursorHidden()}
	for y := range f.Rows {
		row := make([]Cell, f.Cols)
		for x := range row {
			row[x] = cellOf(t.emu.CellAt(x, y))
		}
		f.Cells = append(f.Cells, row)
	}
	return f
}

func cellOf(c *uv.Cell) Cell {
	switch {
	case c == nil:
		return Cell{Text: " ", Width: 1}
	case c.Width == 0 && c.Content == "":
		return Cell{}
	default:
		return Cell{Text: c.Content, Width: c.Width, Style: styleOf(c.Style), Link: c.Link.URL}
	}
}

func styleOf(s uv.Style) Style {
	return Style{
		Fg: colourName(s.Fg), Bg: colourName(s.Bg), UnderlineColor: colourName(s.UnderlineColor),
		Underline: underlineName(s.Underline),
		Bold:      s.Attrs&uv.AttrBold != 0, Faint: s.Attrs&uv.AttrFaint != 0, Italic: s.Attrs&uv.AttrItalic != 0,
		Blink: s.Attrs&(uv.AttrBlink|uv.AttrRapidBlink) != 0, Reverse: s.Attrs&uv.AttrReverse != 0,
		Conceal: s.Attrs&uv.AttrConceal != 0, Strike: s.Attrs&uv.AttrStrikethrough != 0,
	}
}

func underlineName(u ansi.Underline) string {
	switch u {
	case ansi.UnderlineNone:
		return ""
	case ansi.UnderlineDouble:
		return "double"
	case ansi.UnderlineCurly:
		return "curly"
	case ansi.UnderlineDotted:
		return "dotted"
	case ansi.UnderlineDashed:
		return "dashed"
	default:
		return "single"
	}
}

// Lines gives the rows' text, without blanks at their ends.
func (f Frame) Lines() []string {
	lines := make([]string, len(f.Cells))
	for y, row := range f.Cells {
		var b strings.Builder
		for _, c := range row {
			b.WriteString(c.Text)
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// Contains reports whether a row holds the text.
func (f Frame) Contains(text string) bool {
	for _, line := range f.Lines() {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// String is the text inside a border, for messages.
func (f Frame) String() string {
	var b strings.Builder
	b.WriteString("╭" + strings.Repeat("─", f.Cols) + "╮\n")
	for _, line := range f.Lines() {
		b.WriteString("│" + line + strings.Repeat(" ", max(0, f.Cols-ansi.StringWidth(line))) + "│\n")
	}
	b.WriteString("╰" + strings.Repeat("─", f.Cols) + "╯")
	return b.String()
}
