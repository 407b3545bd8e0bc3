package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// object reads an object whose values each reads itself.
func (d *decoder) object(value func(key string) error) error {
	if err := d.delim('{', "an object"); err != nil {
		return err
	}
	for d.dec.More() {
		token, err := d.dec.Token()
		if err != nil {
			return d.broken(err)
		}
		if err := value(token.(string)); err != nil { // Token gives nothing else where a key must stand
			return err
		}
	}
	return d.delim('}', "the object's end")
}

// list reads a list whose entries each reads itself.
func (d *decoder) list(entry func() error) error {
	if err := d.delim('[', "a list"); err != nil {
		return err
	}
	for d.dec.More() {
		if err := entry(); err != nil {
			return err
		}
		d.in.forget(d.dec.InputOffset())
	}
	return d.delim(']', "the list's end")
}

func (d *decoder) delim(want json.Delim, what string) error {
	at := d.dec.InputOffset()
	token, err := d.dec.Token()
	if err != nil {
		return d.broken(err)
	}
	if token != want {
		return d.refuse(at, Malformed, fmt.Sprintf("%s must stand here", what))
	}
	return nil
}

// raw reads one value without looking into it, and where it starts. It refuses a key that stands twice in an object.
func (d *decoder) raw(fold bool) (json.RawMessage, int64, error) {
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return nil, 0, d.broken(err)
	}
	at := d.dec.InputOffset() - int64(len(raw))
	if key, offset, found := repeatedKey(raw, fold); found {
		return nil, at, d.refuse(at+int64(offset), Malformed, fmt.Sprintf("%q stands here a second time", key))
	}
	return compact(raw), at, nil
}

// strict reads one value into v and refuses what v has no place for. With fold, keys are those of our own types.
func (d *decoder) strict(fold bool, v any) (int64, error) {
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		return 0, d.broken(err)
	}
	at := d.dec.InputOffset() - int64(len(raw))
	if key, offset, found := repeatedKey(raw, fold); found {
		return at, d.refuse(at+int64(offset), Malformed, fmt.Sprintf("%q stands here a second time", key))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		offset := at
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			offset += wrong.Offset
		}
		return at, d.refuse(offset, Malformed, err.Error())
	}
	return at, nil
}

// broken turns an error of the JSON decoder into one that says where the file breaks.
func (d *decoder) broken(err error) error {
	switch {
	case errors.Is(err, errConverted):
		e := d.refuse(d.in.read, Converted, `its line ends were converted to CRLF; a recording has LF only `+
			`(mark it "-text" in .gitattributes and check it out again)`)
		e.Err = err
		return e
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return d.refuse(d.in.read, Cut, "the file ends here, before the recording does")
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return d.refuse(d.dec.InputOffset()+d.syntax(), Malformed, err.Error())
	}
	e := d.refuse(d.in.read, Unreadable, err.Error())
	e.Err = err
	return e
}

// syntax is how far behind the decoder's place the offending byte stands: its own offsets leave tokens out.
func (d *decoder) syntax() int64 {
	var value json.RawMessage
	err := json.NewDecoder(d.dec.Buffered()).Decode(&value)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return wrong.Offset - 1
	}
	return 0
}

func (d *decoder) refuse(offset int64, p Problem, reason string) *FileError {
	line, column := d.in.at(offset)
	return d.refuseAt(line, column, p, reason)
}

func (d *decoder) refuseAt(line, column int, p Problem, reason string) *FileError {
	const most = 300 // bytes; a reason may quote the file
	if len(reason) > most {
		reason = strings.ToValidUTF8(reason[:most], "") + "…"
	}
	return &FileError{Name: d.name, Line: line, Column: column, Problem: p, Reason: reason}
}
