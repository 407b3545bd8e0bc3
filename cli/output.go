package cli

import (
	"encoding/json"

	"tillerman/db"
	"tillerman/tui/plain"
)

// printJSON prints one value as indented JSON.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printer shows runs of the store as lines.
func (a *app) printer(store *db.Store) *plain.Printer {
	return &plain.Printer{W: a.Out, Store: store, Width: a.Width, ASCII: a.asciiOnly()}
}
