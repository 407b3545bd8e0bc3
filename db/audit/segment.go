package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
)

// Header is the first line of a segment: a file with some of a log's rows. It says what stands before the segment, so
// that segments are verified across their borders.
type Header struct {
	Kind     string `json:"kind"` // segmentKind
	Store    string `json:"store"`
	First    int64  `json:"first"`     // row of this file
	Last     int64  `json:"last"`      // row of this file
	PrevRows int64  `json:"prev_rows"` // count of the rows before it
	PrevHead string `json:"prev_head"` // hash of the last one of them, "" for none
	Head     string `json:"head"`      // hash of Last
	At       int64  `json:"at"`        // of the export, ms since the epoch
	Version  string `json:"version"`   // of the program that wrote it
	Digest   string `json:"digest"`    // SHA-256 of everything after this line
}

const segmentKind = "tillerman audit segment 1"

// segmentRow is a line of a segment. Body is what is chained; Entry is the same for people and programs, and has to agree.
type segmentRow struct {
	Seq   int64           `json:"seq"`
	Prev  string          `json:"prev"`
	Hash  string          `json:"hash"`
	Body  []byte          `json:"body"`
	Entry json.RawMessage `json:"entry"`
}

// ErrSegment says that a file is no segment, or that its header cannot be read.
var ErrSegment = errors.New("not an audit segment")

// SegmentName is the file name of a segment. Names sort in the order of rows.
func SegmentName(first, last int64) string {
	return fmt.Sprintf("audit-%010d-%010d.jsonl", first, last)
}

// maxRow bounds a line of a segment; a row's longest field is a command line.
const maxRow = 64 << 20

// WriteSegment writes rows to a new file, mode 0600. The header's First, Last, Head and Digest are filled from the rows;
// name is given them and says where the file goes, once all rows are there. A file that exists is not touched
// (os.ErrExist). Without a row nothing is written and the header comes back with Last 0.
func WriteSegment(dir string, h Header, rows iter.Seq2[Link, error], name func(Header) string) (Header, error) {
	body, err := os.CreateTemp(dir, ".audit-rows-*")
	if err != nil {
		return h, err
	}
	defer discard(body)
	sum := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(body, sum))
	for l, err := range rows {
		if err != nil {
			return h, err
		}
		if err := writeRow(out, l); err != nil {
			return h, err
		}
		if h.First == 0 {
			h.First = l.Seq
		}
		h.Last, h.Head = l.Seq, l.Hash
	}
	if h.Last == 0 {
		return h, nil
	}
	if err := out.Flush(); err != nil {
		return h, err
	}
	h.Kind, h.Digest = segmentKind, hex.EncodeToString(sum.Sum(nil))
	return h, place(dir, h, body, name(h))
}

func writeRow(w io.Writer, l Link) error {
	e, err := Parse(l.Body)
	if err != nil {
		return &Fault{l.Seq, err.Error()}
	}
	entry, err := plain(e)
	if err != nil {
		return err
	}
	return writeLine(w, segmentRow{l.Seq, l.Prev, l.Hash, l.Body, entry})
}

// writeLine writes a value as one line of JSON.
func writeLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// plain is an entry as JSON on one line.
func plain(e Entry) ([]byte, error) {
	var b bytes.Buffer
	if err := writeLine(&b, e); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// place puts header and rows together and gives the whole its name, which must be free.
func place(dir string, h Header, body *os.File, path string) error {
	whole, err := os.CreateTemp(dir, ".audit-segment-*") // mode 0600
	if err != nil {
		return err
	}
	defer discard(whole)
	if err := writeLine(whole, h); err != nil {
		return err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(whole, body); err != nil {
		return err
	}
	if err := whole.Sync(); err != nil {
		return err
	}
	return os.Link(whole.Name(), path) // unlike a rename, never onto a file that is there
}

// ReadHeader reads the first line of a segment.
func ReadHeader(r *bufio.Reader) (Header, error) {
	var h Header
	line, err := readLine(r, maxLine)
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	if err := strictly(line, &h); err != nil {
		return h, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	switch {
	case h.Kind != segmentKind:
		return h, fmt.Errorf("%w: kind %q is not known", ErrSegment, h.Kind)
	case h.First < 1 || h.Last < h.First || h.PrevRows != h.First-1 || (h.PrevRows == 0) != (h.PrevHead == ""):
		return h, fmt.Errorf("%w: its numbers do not fit together", ErrSegment)
	}
	return h, nil
}

// readLine reads up to a newline, which it drops. io.EOF only at the very end.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, errors.New("a line is too long")
		case err == nil:
			return line[:len(line)-1], nil
		case err == io.EOF && len(line) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

func strictly(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more than one value on a line")
	}
	return nil
}

// AddSegment takes the next segment of a log: its header, its place behind what came before, its rows, its digest. It
// returns the log's fault, or an error of reading, which for a file that is no segment is ErrSegment.
func (v *Verifier) AddSegment(r io.Reader) (Header, error) {
	in := bufio.NewReader(r)
	h, err := ReadHeader(in)
	if err != nil {
		return h, err
	}
	if v.count == 0 && v.fault == nil && h.PrevRows > 0 {
		v.From(h.PrevRows, h.PrevHead)
	}
	switch {
	case v.fault != nil:
	case h.First > v.count+1:
		v.fault = &Fault{v.count + 1, fmt.Sprintf("rows %d to %d are missing between two segments", v.count+1, h.First-1)}
	case h.First <= v.count:
		v.fault = &Fault{h.First, fmt.Sprintf("two segments hold it; the log was read up to row %d", v.count)}
	case h.PrevHead != v.head:
		v.fault = &Fault{h.First, fmt.Sprintf("its segment follows another row %d than the segment before it ends with", v.count)}
	}
	if v.fault != nil {
		return h, v.fault
	}
	sum := sha256.New()
	if err := v.addRows(in, sum); err != nil {
		return h, err
	}
	switch {
	case v.count != h.Last || v.head != h.Head:
		v.fault = &Fault{v.count + 1, fmt.Sprintf("its segment says that it ends with row %d, and it ends with another row %d", h.Last, v.count)}
	case hex.EncodeToString(sum.Sum(nil)) != h.Digest:
		v.fault = &Fault{h.First, "its segment's digest differs: the file was changed"}
	}
	if v.fault != nil {
		return h, v.fault
	}
	return h, nil
}

func (v *Verifier) addRows(in *bufio.Reader, sum hash.Hash) error {
	for {
		line, err := readLine(in, maxRow)
		if err == io.EOF {
			return nil
		}
		var row segmentRow
		if err == nil {
			err = strictly(line, &row)
		}
		if err != nil {
			v.fault = &Fault{v.count + 1, "it cannot be read: " + err.Error()}
			return v.fault
		}
		sum.Write(line)
		sum.Write([]byte{'\n'})
		if f := v.Add(Link{Seq: row.Seq, Body: row.Body, Prev: row.Prev, Hash: row.Hash}); f != nil {
			return f
		}
		e, err := Parse(row.Body) // it was read before
		if err != nil {
			return err
		}
		if want, err := plain(e); err != nil || !bytes.Equal(want, row.Entry) {
			v.fault = &Fault{row.Seq, "its readable fields are not those that are chained"}
			return v.fault
		}
	}
}

// Segments lists the segments in a folder in the order of their rows. A file with a segment's name that is none is an
// error.
func Segments(dir string) ([]Header, error) {
	names, err := filepath.Glob(filepath.Join(globless(dir), "audit-*.jsonl"))
	if err != nil {
		return nil, err
	}
	var out []Header
	for _, name := range names {
		h, err := SegmentHeader(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Header) int { return int(min(1, max(-1, a.First-b.First))) })
	return out, nil
}

// SegmentHeader reads the header of a segment's file.
func SegmentHeader(name string) (Header, error) {
	f, err := OpenRegular(name)
	switch {
	case errors.Is(err, ErrNoFile):
		return Header{}, fmt.Errorf("%w: %w", ErrSegment, ErrNoFile)
	case err != nil:
		return Header{}, err
	}
	defer f.Close()
	return ReadHeader(bufio.NewReader(f))
}

// globless escapes what has a meaning in a pattern.
func globless(dir string) string {
	var b bytes.Buffer
	for _, r := range dir {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
