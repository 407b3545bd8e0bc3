package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// errBinary says that a file is no text.
var errBinary = errors.New("not text")

// part is a range of a file's lines.
type part struct {
	first int    // the first line, from 1
	last  int    // the last line; 0 when the file has no line first
	total int    // lines of the whole file; -1 when they were not counted
	text  []byte // the lines, as stored
	cut   int64  // when text holds only the beginning of its single line: how long that line is
	more  bool   // lines follow
}

// readPart reads lines from first on, at most limit of them and readBytes bytes. A line that does not fit any more is
// left to the next call, unless it is the first: then its beginning is given. With count the rest of the file is read to
// know how many lines there are. Memory does not grow with the file or its lines.
func readPart(ctx context.Context, file io.Reader, first, limit int, count bool) (part, error) {
	in := bufio.NewReaderSize(file, 64<<10)
	if sample, err := in.Peek(sampleSize); err != nil && !errors.Is(err, io.EOF) {
		return part{}, err
	} else if binary(sample) {
		return part{}, errBinary
	}
	p := part{first: first, total: -1}
	r := partReader{part: &p, limit: limit}
	for {
		if err := ctx.Err(); err != nil {
			return part{}, err
		}
		chunk, err := in.ReadSlice('\n')
		if len(chunk) > 0 && !r.take(chunk) {
			return part{}, errBinary
		}
		switch {
		case errors.Is(err, io.EOF):
			p.total = r.lines
			return p, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return part{}, err
		}
		if p.more && !count {
			return p, nil
		}
	}
}

// partReader sorts the chunks of a file into a part.
type partReader struct {
	part    *part
	limit   int
	lines   int   // lines begun so far
	begun   int   // where the current line begins in part.text
	length  int64 // bytes of the current line so far
	full    bool  // nothing more is taken
	between bool  // the last chunk ended a line
	started bool
}

// take gets the next piece of a line, or its end. It says false when what it keeps is no text.
func (r *partReader) take(chunk []byte) bool {
	if !r.started || r.between {
		r.lines++
		r.length, r.begun, r.started = 0, len(r.part.text), true
	}
	r.between = chunk[len(chunk)-1] == '\n'
	r.length += int64(len(chunk))
	p := r.part
	if r.lines < p.first {
		return true
	}
	if r.full && p.cut > 0 && r.lines == p.last {
		p.cut = r.length
		return true
	}
	if r.full || r.lines >= p.first+r.limit {
		p.more = true
		return true
	}
	if len(p.text)+len(chunk) <= readBytes {
		p.text = append(p.text, chunk...)
		p.last = r.lines
		return bytes.IndexByte(chunk, 0) < 0
	}
	r.full = true
	if r.begun > 0 {
		// The line does not fit behind others.
		p.text = p.text[:r.begun]
		p.last, p.more = r.lines-1, true
		return true
	}
	p.text = append(p.text, chunk...)
	p.text = p.text[:runeStart(string(p.text), readBytes)]
	p.last, p.cut = r.lines, r.length
	return bytes.IndexByte(p.text, 0) < 0
}
