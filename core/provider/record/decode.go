package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tillerman/core/provider"
)

// Problem classes what is wrong with a file.
type Problem string

// What can be wrong with a file that should be a recording.
const (
	Unreadable  Problem = "unreadable"   // reading it failed
	Cut         Problem = "cut"          // it ends too early
	Converted   Problem = "converted"    // its line ends were changed, by a checkout for example
	Malformed   Problem = "malformed"    // it is no JSON, or not the JSON of a recording
	WrongFormat Problem = "wrong format" // written in a format that this program does not know
	WrongSeries Problem = "wrong series" // written by another major.minor of the program
)

// FileError says why a file was refused and where. Nothing of a refused file is ever used.
type FileError struct {
	Name         string // of the file
	Line, Column int    // counted from 1, the column in bytes; 0 when the place has no meaning
	Problem      Problem
	Reason       string
	Err          error // the cause, if there is one
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("recording %s: %s", e.Name, e.Reason)
	}
	return fmt.Sprintf("recording %s, line %d, column %d: %s", e.Name, e.Line, e.Column, e.Reason)
}

func (e *FileError) Unwrap() error { return e.Err }

// Decode reads a recording whole or refuses it with a *FileError. name is what errors call the file; version is the
// running program's, whose series must be the recording's. It holds one exchange's text at a time beside the result.
func Decode(r io.Reader, name, version string) (*File, error) {
	in := newLines(r)
	d := &decoder{name: name, version: version, in: in, dec: json.NewDecoder(in), file: &File{}}
	if err := d.document(); err != nil {
		return nil, err
	}
	return d.file, nil
}

type decoder struct {
	name, version string
	in            *lines
	dec           *json.Decoder
	file          *File
	checks        *checker
	places        [][2]int // line and column of each exchange
}

// fields are the names of the outermost object's fields, all of which must be there.
var fields = []string{
	"format", "tillerman", "inputs", "tools", "exchanges", "calls", "gates", "checks", "decisions", "controls",
}

func (d *decoder) document() error {
	seen := map[string]bool{}
	err := d.object(func(key string) error {
		if seen[key] {
			return d.refuse(d.dec.InputOffset(), Malformed, fmt.Sprintf("%q stands here a second time", key))
		}
		seen[key] = true
		return d.field(key)
	})
	if err != nil {
		return err
	}
	end := d.dec.InputOffset()
	for _, name := range fields {
		if !seen[name] {
			return d.refuse(end, Malformed, fmt.Sprintf("%q is missing", name))
		}
	}
	for i := range d.file.Exchanges {
		if err := d.file.checkTools(&d.file.Exchanges[i]); err != nil {
			return d.refuseAt(d.places[i][0], d.places[i][1], Malformed, err.Error())
		}
	}
	switch _, err := d.dec.Token(); {
	case err == nil:
		return d.refuse(end, Malformed, "something follows the end of the recording")
	case !errors.Is(err, io.EOF):
		return d.broken(err)
	}
	return nil
}

func (d *decoder) field(key string) error {
	switch key {
	case "format":
		return d.format()
	case "tillerman":
		return d.series()
	case "inputs":
		raw, _, err := d.raw(false)
		if err == nil && string(raw) != "null" {
			d.file.Inputs = raw
		}
		return err
	case "tools":
		return d.tools()
	case "exchanges":
		return d.exchanges()
	}
	for _, l := range d.file.lists() {
		if l.name == key {
			return d.list(func() error {
				raw, _, err := d.raw(false)
				*l.entries = append(*l.entries, raw)
				return err
			})
		}
	}
	return d.refuse(d.dec.InputOffset(), Malformed, fmt.Sprintf("%q is no field of a recording", key))
}

func (d *decoder) format() error {
	at, err := d.strict(true, &d.file.Format)
	if err == nil && d.file.Format != Format {
		err = d.refuse(at, WrongFormat, fmt.Sprintf("format %d is not known here, only %d", d.file.Format, Format))
	}
	return err
}

func (d *decoder) series() error {
	at, err := d.strict(true, &d.file.Tillerman)
	if err == nil && series(d.file.Tillerman) != series(d.version) {
		err = d.refuse(at, WrongSeries, fmt.Sprintf("written by tillerman %q; tillerman %s replays recordings of %s only",
			d.file.Tillerman, d.version, series(d.version)))
	}
	return err
}

// series is a version's first two dot-separated parts.
func series(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func (d *decoder) tools() error {
	d.file.Tools = map[string][]provider.ToolSpec{}
	return d.object(func(digest string) error {
		if _, ok := d.file.Tools[digest]; ok {
			return d.refuse(d.dec.InputOffset(), Malformed, fmt.Sprintf("%q stands here a second time", digest))
		}
		var specs []provider.ToolSpec
		if _, err := d.strict(false, &specs); err != nil {
			return err
		}
		for i := range specs {
			specs[i].Schema = compact(specs[i].Schema)
		}
		d.file.Tools[digest] = orEmpty(specs)
		return nil
	})
}

func (d *decoder) exchanges() error {
	d.checks = newChecker()
	return d.list(func() error {
		var ex Exchange
		at, err := d.strict(true, &ex)
		if err != nil {
			return err
		}
		if err := d.checks.next(&ex); err != nil {
			return d.refuse(at, Malformed, err.Error())
		}
		ex.Attempts, ex.Request.Append = orEmpty(ex.Attempts), orEmpty(ex.Request.Append)
		line, column := d.in.at(at)
		d.places = append(d.places, [2]int{line, column})
		d.file.Exchanges = append(d.file.Exchanges, ex)
		return nil
	})
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if raw == nil || json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
