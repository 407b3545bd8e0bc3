package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A listing is stored with every command before it begins, so its JSON is made small: each directory's path stands once,
// and an entry is an array [name, kind, mode] or [name, kind, mode, size, mtime]. Names that are not plain are quoted as
// QuoteName does, since JSON text cannot hold all of them.
type listingJSON struct {
	Overflow bool      `json:"overflow,omitempty"`
	Dirs     []dirJSON `json:"dirs,omitempty"`
}

type dirJSON struct {
	Dir     string  `json:"d,omitempty"`
	Entries [][]any `json:"e"`
}

// MarshalJSON writes the listing.
func (l *Listing) MarshalJSON() ([]byte, error) {
	out := listingJSON{Overflow: l.Overflow}
	at := map[string]int{}
	for _, e := range l.entries {
		dir := e.dirOf()
		i, known := at[dir]
		if !known {
			i = len(out.Dirs)
			at[dir] = i
			form := dirJSON{}
			if dir != "" {
				form.Dir = QuoteName(dir)
			}
			out.Dirs = append(out.Dirs, form)
		}
		entry := []any{QuoteName(path.Base(e.path)), string(e.kind), e.mode}
		if e.kind != 'd' {
			entry = append(entry, e.size, e.mtime)
		}
		out.Dirs[i].Entries = append(out.Dirs[i].Entries, entry)
	}
	return encode(out), nil
}

// UnmarshalJSON reads what MarshalJSON wrote, and refuses anything else.
func (l *Listing) UnmarshalJSON(text []byte) error {
	var in struct {
		Overflow bool `json:"overflow"`
		Dirs     []struct {
			Dir     string              `json:"d"`
			Entries [][]json.RawMessage `json:"e"`
		} `json:"dirs"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("workspace listing: %w", err)
	}
	out := Listing{Overflow: in.Overflow}
	for _, dir := range in.Dirs {
		for _, fields := range dir.Entries {
			e, err := entryFrom(fields)
			if err != nil {
				return fmt.Errorf("workspace listing: %w", err)
			}
			e.path = path.Join(UnquoteName(dir.Dir), e.path)
			if err := checkPath(e.path); err != nil {
				return fmt.Errorf("workspace listing: %s: %w", clip(QuoteName(e.path)), err)
			}
			out.entries = append(out.entries, e)
		}
	}
	slices.SortFunc(out.entries, func(a, b listed) int { return strings.Compare(a.key(), b.key()) })
	*l = out
	return nil
}

func entryFrom(fields []json.RawMessage) (listed, error) {
	var (
		e          listed
		name, kind string
	)
	into := []any{&name, &kind, &e.mode, &e.size, &e.mtime}
	if len(fields) != 3 && len(fields) != len(into) {
		return listed{}, errors.New("an entry has the wrong number of fields")
	}
	for i, field := range fields {
		if err := json.Unmarshal(field, into[i]); err != nil {
			return listed{}, err
		}
	}
	if e.path = UnquoteName(name); e.path == "" || e.path == "." || e.path == ".." || strings.ContainsRune(e.path, '/') {
		return listed{}, fmt.Errorf("%s is no name", clip(QuoteName(name)))
	}
	if len(kind) != 1 || !strings.Contains("fdlo", kind) {
		return listed{}, errors.New("an entry has an unknown kind")
	}
	e.kind = kind[0]
	return e, nil
}
