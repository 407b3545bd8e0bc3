package record

import (
	"bytes"
	"errors"
	"io"
)

// errConverted is the reader's error at a carriage return. JSON as we write it has none: inside strings it is escaped.
var errConverted = errors.New("line ends were converted to CRLF")

// lines passes bytes on and remembers where lines start, so that an offset can be told as line and column. It stops
// with errConverted at the first carriage return, and once stopped gives nothing more.
type lines struct {
	r      io.Reader
	err    error   // what it stopped with
	read   int64   // bytes passed on
	first  int     // number of the line that starts[0] starts, counted from 1
	starts []int64 // offsets of line starts, ascending, the early ones forgotten
}

func newLines(r io.Reader) *lines { return &lines{r: r, first: 1, starts: []int64{0}} }

func (l *lines) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.Read(p)
	if cr := bytes.IndexByte(p[:n], '\r'); cr >= 0 {
		n, err = cr, errConverted
	}
	for at := 0; ; {
		i := bytes.IndexByte(p[at:n], '\n')
		if i < 0 {
			break
		}
		at += i + 1
		l.starts = append(l.starts, l.read+int64(at))
	}
	l.read += int64(n)
	l.err = err
	return n, err
}

// forget drops what is only needed for offsets before this one.
func (l *lines) forget(offset int64) {
	drop := 0
	for drop+1 < len(l.starts) && l.starts[drop+1] <= offset {
		drop++
	}
	if drop > 0 {
		l.first += drop
		l.starts = l.starts[drop:]
	}
}

// at tells an offset as line and column, both counted from 1, the column in bytes.
func (l *lines) at(offset int64) (line, column int) {
	i := 0
	for i+1 < len(l.starts) && l.starts[i+1] <= offset {
		i++
	}
	return l.first + i, int(max(0, offset-l.starts[i])) + 1
}
