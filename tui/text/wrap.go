package text

import (
	"iter"
	"strings"
)

// Wrapper breaks outside text into rows. It keeps no state and looks only at the
// part of the text around the rows that are asked for, so that a page of ten
// megabytes costs no more than a page of ten lines, wherever it is.
//
// Positions are byte offsets into Text. The rows of a text are always the same,
// whichever way they are come to, and between them they hold every byte of it. A
// line far longer than a page is wrapped in parts, each a multiple of 128 rows
// of ASCII text; a part of such a line that holds wider text may end in a row that
// is not full.
type Wrapper struct {
	Text string
	// Width is how many cells a row takes at most, counted either way. A cluster
	// or an escape is not split: one that is wider than the row stands alone in
	// it and sticks out, which cannot happen from 26 cells on, nor from 12 in the
	// Exact form.
	Width int
	// Form is how the text is shown.
	Form Form
	// Words breaks after spaces and beside wide characters where it can. Without
	// it rows are filled.
	Words bool
	// Tab is the distance of the tab stops in cells, counted from the start of
	// the row; with 0 a tab is shown as \t. ShowTab marks tabs as [Expand] does.
	Tab     int
	ShowTab bool
}

// Row is one row of a text: what is drawn, and which bytes of the source it
// stands for, the newline that ends it included. The last row ends where the text
// does.
type Row struct {
	Text       string
	Start, End int
}

// Rows gives at most n rows, from the one that holds the byte at offset. There
// are none at the end of the text.
func (w Wrapper) Rows(offset, n int) []Row {
	if offset >= len(w.Text) || n <= 0 {
		return nil
	}
	var rows []Row
	for r := range w.from(w.start(offset)) {
		rows = append(rows, Row{Text: w.draw(r), Start: r.start, End: r.end})
		if len(rows) == n {
			break
		}
	}
	return rows
}

// Up gives the start of the row that is n rows above the one that holds the byte
// at offset, or of the first row. From the end of the text, the first row above
// is the last one.
func (w Wrapper) Up(offset, n int) int {
	pos := len(w.Text)
	if offset < pos {
		pos = w.start(offset)
	}
	for n > 0 && pos > 0 {
		anchor := w.anchor(pos - 1)
		starts := w.starts(anchor, pos)
		if n <= len(starts) {
			return starts[len(starts)-n]
		}
		n -= len(starts)
		pos = anchor
	}
	return pos
}

// start gives the start of the row that holds the byte at offset.
func (w Wrapper) start(offset int) int {
	offset = max(offset, 0)
	starts := w.starts(w.anchor(offset), offset+1)
	return starts[len(starts)-1]
}

// starts gives the starts of the rows from the one at anchor to before end.
func (w Wrapper) starts(anchor, end int) []int {
	var starts []int
	for r := range w.from(anchor) {
		if r.start >= end {
			break
		}
		starts = append(starts, r.start)
	}
	return starts
}

// span is the bytes of a row, and how far the text goes that it may look at.
type span struct{ start, end, limit int }

// from goes through the rows from the one that starts at pos.
func (w Wrapper) from(pos int) iter.Seq[span] {
	return func(yield func(span) bool) {
		limit, fixed := 0, false
		for pos < len(w.Text) {
			if pos >= limit || !fixed {
				limit, fixed = w.limit(pos)
			}
			r := span{start: pos, end: w.rowEnd(pos, limit), limit: limit}
			if !yield(r) {
				return
			}
			pos = r.end
		}
	}
}

// rowEnd gives the end of the row that starts at pos. No row crosses limit.
func (w Wrapper) rowEnd(pos, limit int) int {
	s := w.Text[:limit]
	start, column, after := pos, 0, 0 // after: where words may be parted
	for pos < len(s) {
		if s[pos] == '\n' {
			return pos + 1
		}
		if room := w.Width - column; !w.Words && room > 0 {
			if k := min(plain(s[pos:min(pos+room+1, len(s))]), room); k > 0 {
				pos, column = pos+k, column+k
				continue
			}
		}
		end, cells := w.next(s, pos, column)
		wide := cells == 2 && s[pos] >= 0x80
		if column += cells; column > w.Width && pos > start {
			if after > start && s[pos] != ' ' && !wide {
				return after
			}
			return pos
		}
		if w.Words && (wide || s[pos] == ' ' || s[pos] == '\t') {
			after = end
		}
		pos = end
	}
	return pos
}

// next gives the end of the unit at pos, and its width in that column.
func (w Wrapper) next(s string, pos, column int) (end, cells int) {
	if s[pos] == '\t' && w.Tab > 0 {
		return pos + 1, widest(tabText(column, w.Tab, w.ShowTab))
	}
	u := unitAt(s, pos, w.Form)
	return u.end, u.width(s, widest)
}

// draw gives what a row shows.
func (w Wrapper) draw(r span) string {
	s, pos, end := w.Text[:r.limit], r.start, r.end
	if s[end-1] == '\n' {
		end--
	}
	if w.Tab <= 0 || !strings.Contains(s[pos:end], "\t") {
		return render(s, pos, end, w.Form, true)
	}
	e := edit{src: s[:end], from: pos}
	for column := 0; pos < end; {
		next, cells := w.next(s, pos, column)
		if s[pos] == '\t' {
			e.put(pos, next, tabText(column, w.Tab, w.ShowTab))
		} else {
			e.add(unitAt(s, pos, w.Form))
		}
		pos, column = next, column+cells
	}
	return e.text()
}

// Wrap breaks s, which must come from this package, into full rows of at most
// width cells, counted either way. Between them the rows hold every character of s
// but the newlines. A wide character in a row of one cell stands alone and sticks
// out. An empty text is one empty row.
func Wrap(s string, width int) []string {
	if s == "" {
		return []string{""} // an empty line of a file is one
	}
	return wrapAll(Wrapper{Text: s, Width: width})
}

// WrapWords is [Wrap] for prose: it breaks after spaces and beside wide characters
// where it can. Spaces stay at the end of the row, or at the start of the next if
// there is no room.
func WrapWords(s string, width int) []string {
	return wrapAll(Wrapper{Text: s, Width: width, Words: true})
}

func wrapAll(w Wrapper) []string {
	var rows []string
	for r := range w.from(0) {
		rows = append(rows, w.draw(r))
	}
	return rows
}
