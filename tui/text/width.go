package text

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// ellipsis marks where something was cut off.
const ellipsis = "…"

// Width gives how many cells s takes in a terminal that counts grapheme clusters.
// s must come from this package and have no newline; colours added since do not
// count. What [Fit], [Safe] and [Payload] give is as wide in every terminal.
func Width(s string) int {
	if plain(s) == len(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// widest gives the larger of the widths that terminals give s.
func widest(s string) int {
	if plain(s) == len(s) {
		return len(s)
	}
	return max(ansi.StringWidth(s), ansi.StringWidthWc(s))
}

// Truncate gives s as a [Line] in at most width cells, counted either way. If
// something had to go, tail, which must be clean, stands at the end, unless not
// even that fits. Only as much of s is read as is shown.
func Truncate(s string, width int, tail string) string {
	line, _ := truncate(s, width, tail, Natural)
	return line
}

// Fit gives s as a [Line] in the [Even] form in exactly width cells in every
// terminal: cut with an ellipsis or filled with spaces. It is for cells and rows
// inside a frame, and takes text as it comes. Colour comes after. Only as much of
// s is read as is shown.
func Fit(s string, width int) string {
	line, cells := truncate(s, width, ellipsis, Even)
	return line + spaces(width-cells)
}

// width gives how many cells the unit of s takes, by the given measure.
func (u unit) width(s string, measure func(string) int) int {
	if u.end == u.start+1 && u.tail == u.end {
		return 1
	}
	var escape [10]byte
	cells := 0
	if u.tail < u.end {
		b, _ := appendEscape(escape[:0], s[u.tail:])
		cells = len(b)
	}
	if u.instead != "" {
		return cells + measure(u.instead)
	}
	return cells + measure(s[u.start:u.tail])
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// Pad fills s, which must come from this package, up to width cells with spaces.
// Wider text stays as it is.
func Pad(s string, width int) string { return s + spaces(width-Width(s)) }

// truncate gives one row of s in at most width cells, and how many it takes.
func truncate(s string, width int, tail string, form Form) (string, int) {
	tailCells := widest(tail)
	if tailCells > width {
		tail, tailCells = "", 0
	}
	cells, cut, cutCells := 0, 0, 0
	for pos := 0; pos < len(s); {
		u := unitAt(s, pos, form)
		cells += u.width(s, widest)
		if cells > width {
			return render(s, 0, cut, form, true) + tail, cutCells + tailCells
		}
		pos = u.end
		if cells <= width-tailCells {
			cut, cutCells = pos, cells
		}
	}
	return render(s, 0, len(s), form, true), cells
}
