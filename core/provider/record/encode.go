package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"tillerman/core/provider"
)

// Encode writes f as indented JSON with a fixed order of keys, unescaped <, > and &, LF line ends and a final newline.
// Equal recordings give equal bytes. It writes one exchange at a time and writes nothing that Decode would refuse.
func (f *File) Encode(w io.Writer) error {
	if f.Format != Format {
		return fmt.Errorf("record: format %d cannot be written, only %d", f.Format, Format)
	}
	if err := f.check(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	p := &printer{w: bufio.NewWriterSize(w, 1<<16)}
	p.raw("{\n")
	p.field("format", f.Format)
	p.field("tillerman", f.Tillerman)
	p.field("inputs", f.Inputs)
	p.raw("  \"tools\": {")
	for i, digest := range slices.Sorted(maps.Keys(f.Tools)) {
		p.item(i)
		p.value(digest)
		p.raw(": ")
		p.value(orEmpty(f.Tools[digest]))
	}
	p.end(len(f.Tools), "}")
	p.raw(",\n  \"exchanges\": [")
	for i, ex := range f.Exchanges {
		ex.Attempts = orEmpty(ex.Attempts)
		ex.Request.Append = orEmpty(ex.Request.Append)
		p.item(i)
		p.value(ex)
	}
	p.end(len(f.Exchanges), "]")
	for _, list := range f.lists() {
		p.raw(",\n  \"" + list.name + "\": [")
		for i, entry := range *list.entries {
			p.item(i)
			p.value(entry)
		}
		p.end(len(*list.entries), "]")
	}
	p.raw("\n}\n")
	if p.err == nil {
		p.err = p.w.Flush()
	}
	if p.err != nil {
		return fmt.Errorf("record: write: %w", p.err)
	}
	return nil
}

// list is one of the lists whose entries this package does not look into.
type list struct {
	name    string
	entries *[]json.RawMessage
}

func (f *File) lists() []list {
	return []list{
		{"calls", &f.Calls},
		{"gates", &f.Gates},
		{"checks", &f.Checks},
		{"decisions", &f.Decisions},
		{"controls", &f.Controls},
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// printer writes indented JSON piece by piece and remembers the first error.
type printer struct {
	w   *bufio.Writer
	err error
}

func (p *printer) raw(s string) {
	if p.err == nil {
		_, p.err = p.w.WriteString(s)
	}
}

// field writes a field of the outermost object that another follows.
func (p *printer) field(name string, v any) {
	p.raw("  \"" + name + "\": ")
	p.indented("  ", v)
	p.raw(",\n")
}

// item opens the next entry of a list or object that lies one level deep.
func (p *printer) item(i int) {
	if i > 0 {
		p.raw(",")
	}
	p.raw("\n    ")
}

// end closes such a list or object.
func (p *printer) end(entries int, bracket string) {
	if entries > 0 {
		p.raw("\n  ")
	}
	p.raw(bracket)
}

func (p *printer) value(v any) { p.indented("    ", v) }

func (p *printer) indented(prefix string, v any) {
	if p.err != nil {
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	if err := enc.Encode(v); err != nil {
		p.err = err
		return
	}
	p.raw(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// toolsDigest names a list of tools by its content: SHA-256 of its canonical JSON, in hex.
func toolsDigest(tools []provider.ToolSpec) string {
	return provider.Request{Tools: orEmpty(tools)}.Digest()
}
