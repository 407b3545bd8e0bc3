package text

import (
	"strings"
	"unicode/utf8"
)

// Rows are counted from anchors, so that the row at any offset is found without
// a look at all that comes before. The start of a line is an anchor. In a line
// that has run for a whole block without an end, so are the ends of blocks.

// minBlock is a number of bytes that is wrapped in well under a millisecond.
const minBlock = 4096

// block gives the length of a block in bytes: a multiple of the width, so that the
// last row of a block of ASCII is full, and more than a row can take, as a cell
// stands for less than 128 bytes of source.
func (w Wrapper) block() int {
	width := max(w.Width, 1)
	return width * max(128, minBlock/width)
}

// anchor gives the last anchor at or before offset.
func (w Wrapper) anchor(offset int) int {
	size, end := w.block(), offset
	for b := offset - offset%size; b > 0; b -= size {
		if i := strings.LastIndexByte(w.Text[b:end], '\n'); i >= 0 {
			return b + i + 1
		}
		end = b
		if w.splits(b, size) {
			if a := w.snap(b); a <= offset {
				return a
			}
		}
	}
	return strings.LastIndexByte(w.Text[:end], '\n') + 1
}

// limit gives a place after pos that the row that starts at pos does not cross. If
// it is fixed, it is an anchor, and the same for all rows before it.
func (w Wrapper) limit(pos int) (end int, fixed bool) {
	size := w.block()
	for b := max(pos-pos%size, size); b < len(w.Text) && b <= pos+size; b += size {
		if w.splits(b, size) {
			if a := w.snap(b); a > pos {
				return a, true
			}
		}
	}
	return min(pos+2*size, len(w.Text)), false
}

// splits reports whether a line that has run through the whole block before b goes
// on there.
func (w Wrapper) splits(b, size int) bool {
	return strings.IndexByte(w.Text[b-size:b], '\n') < 0
}

// snap gives the first start of a unit at or after b, found by a short run-up.
func (w Wrapper) snap(b int) int {
	const runUp = 4 * clusterWindow
	pos := max(b-runUp, 0)
	for pos < b && !utf8.RuneStart(w.Text[pos]) {
		pos++
	}
	for pos < b {
		pos = unitAt(w.Text, pos, w.Form).end
	}
	return pos
}
