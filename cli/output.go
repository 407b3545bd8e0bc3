package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"tillerman/db"
	"tillerman/tui/plain"
)

// printJSON prints one value as indented JSON.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(plainJSON{a.Out})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// plainJSON passes JSON on with every character that a terminal may act on, or that nobody sees, as an escape. It needs
// whole values: what encoders write at once.
type plainJSON struct{ w io.Writer }

func (p plainJSON) Write(b []byte) (int, error) {
	if !strings.ContainsFunc(string(b), unseen) {
		return p.w.Write(b)
	}
	var out strings.Builder
	for _, r := range string(b) {
		switch {
		case !unseen(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(p.w, out.String()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// unseen says that a character of JSON text is a control or format character: C1, bidirectional, zero-width.
func unseen(r rune) bool {
	return r >= 0x7f && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
}

// printer shows runs of the store as lines.
func (a *app) printer(store *db.Store) *plain.Printer {
	return &plain.Printer{W: a.Out, Store: store, Width: a.Width, ASCII: a.asciiOnly()}
}
