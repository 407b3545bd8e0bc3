package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tillerman/core"
	"tillerman/db"
	"tillerman/db/audit"
	"tillerman/tui/text"
)

func (a *app) auditExport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "export", Short: "Write the rows that are new since the last export to a file of their own",
		Long: `Write the rows of the audit trail to a file. In a folder each export goes on after the last one there, and the
segments are verified together by tillerman audit verify FILE... No file is ever written over.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return &usageError{"--out names no file and no folder"}
			}
			return a.look(cmd.Context(), func(store *db.Store) error { return a.export(cmd.Context(), store, out) })
		},
	}
	cmd.Flags().StringVar(&out, "out", ".", "a folder for segments, or a new .jsonl file for the whole log")
	return cmd
}

func (a *app) export(ctx context.Context, store *db.Store, out string) error {
	dir, file := out, ""
	if info, err := os.Stat(out); strings.HasSuffix(out, ".jsonl") && (err != nil || !info.IsDir()) {
		if err == nil {
			return &usageError{fmt.Sprintf("%s exists; name a new file, or a folder", out)}
		}
		dir, file = filepath.Dir(out), out
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return &usageError{"--out: " + err.Error()}
	}
	head := audit.Header{Store: store.Path(), At: a.Now().UnixMilli(), Version: core.Version}
	if file == "" {
		if err := a.continues(ctx, store, dir, &head); err != nil {
			return err
		}
	}
	var check audit.Verifier
	got, err := audit.WriteSegment(dir, head, a.checked(ctx, store, head, &check), func(h audit.Header) string {
		if file == "" {
			file = filepath.Join(dir, audit.SegmentName(h.First, h.Last))
		}
		return file
	})
	var fault *audit.Fault
	switch {
	case errors.As(err, &fault):
		return &exitError{exitOther, fmt.Sprintf("nothing was exported, the audit trail is altered: %s; see tillerman audit verify", a.message(fault))}
	case errors.Is(err, os.ErrExist):
		return &usageError{fmt.Sprintf("%s exists; name another place with --out", file)}
	case err != nil:
		return &usageError{"--out: " + err.Error()}
	}
	if a.json {
		if got.Last == 0 {
			file = ""
		}
		return a.printJSON(map[string]any{"file": nullable(file), "first": got.First, "last": got.Last, "prev_rows": got.PrevRows, "head": got.Head, "unchecked": nullable(check.Unchecked())})
	}
	if got.Last == 0 {
		_, err = fmt.Fprintf(a.Out, "nothing is new after row %d\n", got.PrevRows)
		return err
	}
	_, err = fmt.Fprintf(a.Out, "rows %d to %d: %s\n", got.First, got.Last, file)
	if unchecked := check.Unchecked(); unchecked != "" && err == nil {
		_, err = fmt.Fprintln(a.Out, text.Line(unchecked))
	}
	return err
}

// continues sets the header to go on after the newest segment in the folder, whose last row has to be the log's own.
func (a *app) continues(ctx context.Context, store *db.Store, dir string, head *audit.Header) error {
	heads, err := audit.Segments(dir)
	if err != nil {
		return &usageError{err.Error()}
	}
	if len(heads) == 0 {
		return nil
	}
	last := heads[len(heads)-1]
	for _, h := range heads {
		if h.Store != store.Path() {
			return &usageError{fmt.Sprintf("%s holds segments of another store, %s; name another folder with --out", dir, h.Store)}
		}
	}
	row, err := store.AuditLog(ctx, 0, last.Last-1, 1)
	if err != nil {
		return err
	}
	if len(row) == 0 || row[0].Seq != last.Last || row[0].Hash != last.Head {
		return &exitError{exitOther, fmt.Sprintf("the log does not go on after %s: its row %d is gone or another one; see tillerman audit verify", audit.SegmentName(last.First, last.Last), last.Last)}
	}
	head.PrevRows, head.PrevHead = last.Last, last.Head
	return nil
}

// checked goes through the rows after the header's and ends with the first that does not follow: an altered log is not
// exported as if it were whole.
func (a *app) checked(ctx context.Context, store *db.Store, head audit.Header, check *audit.Verifier) iter.Seq2[audit.Link, error] {
	if file := a.conf.Audit.KeyFile; file != "" {
		if key, err := readKey(file); err == nil {
			check.Keys = audit.KeysOf(key)
		}
	}
	check.From(head.PrevRows, head.PrevHead)
	return func(yield func(audit.Link, error) bool) {
		for l, err := range store.AuditRows(ctx, 0, head.PrevRows) {
			if err == nil {
				if f := check.Add(l); f != nil {
					err = f
				}
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}
