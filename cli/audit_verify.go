package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"tillerman/db"
	"tillerman/db/audit"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// Exit codes of audit verify, which differ from the rest: 2 says that nothing was proven, so usage is another number.
const (
	verifyAltered      = 1
	verifyUnverifiable = 2
	verifyShort        = 3
	verifyUsage        = 64 // as in sysexits.h
)

// verifying is one call of audit verify.
type verifying struct {
	*app
	keyFiles []string
	anchors  []string
	cut      int // lines of anchors that something cut off
}

// verified is what it prints as JSON.
type verified struct {
	audit.Report
	Store          string `json:"store"`
	KeyReadable    bool   `json:"key_readable"`          // this user could read a key, so forge with it
	AnchorWritable bool   `json:"anchor_writable"`       // this user could change the anchors
	AnchorsCut     int    `json:"anchors_cut,omitempty"` // lines of anchors that a full disk or a crash cut off
}

func (a *app) auditVerify() *cobra.Command {
	v := &verifying{app: a}
	cmd := &cobra.Command{
		Use: "verify [FILE...]", Short: "Check that nothing in the audit trail was changed, removed or put in",
		Long: `Check that nothing in the audit trail was changed, removed or put in: the store's, or that of exported segments.

Exit codes: 0 intact; 1 altered, and the first bad row is named; 2 it cannot be verified: something is missing,
unreadable or locked, or a key is; 3 shorter than an anchor says it was; 64 wrong usage.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			err := v.run(cmd.Context(), files)
			var exit *exitError
			if err == nil || errors.As(err, &exit) {
				return err
			}
			return &exitError{verifyUnverifiable, "cannot verify: " + a.message(err)}
		},
	}
	cmd.Flags().StringArrayVar(&v.keyFiles, "key-file", nil, "key of the chain, several for one that had several (default: audit.key_file of the settings)")
	cmd.Flags().StringArrayVar(&v.anchors, "anchor", nil, "file of anchors, - for standard input (default: audit.anchor of the settings)")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exitError{verifyUsage, a.message(err) + "; see tillerman audit verify --help"}
	})
	return cmd
}

func (v *verifying) run(ctx context.Context, files []string) error {
	if slices.Contains(v.keyFiles, "") || slices.Contains(v.anchors, "") || slices.Contains(files, "") {
		return &exitError{verifyUsage, "an empty word names no file; see tillerman audit verify --help"}
	}
	keys, err := v.keys()
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return v.segments(files, keys)
	}
	return v.store(ctx, keys)
}

func (v *verifying) keys() (audit.Keys, error) {
	if len(v.keyFiles) == 0 && v.conf.Audit.KeyFile != "" {
		v.keyFiles = []string{v.conf.Audit.KeyFile}
	}
	var list [][]byte
	for _, name := range v.keyFiles {
		key, err := readKey(name)
		if err != nil {
			return nil, err
		}
		list = append(list, key)
	}
	return audit.KeysOf(list...), nil
}

// anchorsOf reads the anchors of a store and checks who made them.
func (v *verifying) anchorsOf(store string, keys audit.Keys) ([]audit.Anchor, error) {
	sure := len(v.anchors) > 0 // somebody said that they are this log's
	if !sure && v.conf.Audit.Anchor != "" {
		v.anchors = []string{v.conf.Audit.Anchor}
	}
	var all []audit.Anchor
	for _, name := range v.anchors {
		list, err := v.readAnchors(name, sure)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	mine := audit.AnchorsFor(all, store, sure)
	if len(v.anchors) > 0 && len(mine) == 0 {
		return nil, fmt.Errorf("%s: no anchor of the store %s; it gets one when a run ends or waits", strings.Join(v.anchors, ", "), store)
	}
	if err := audit.CheckSignatures(mine, keys); err != nil {
		return nil, err // what a forged one says of the rows is nothing
	}
	return mine, nil
}

// readAnchors reads a file of anchors. Only one that somebody named may be something else than a file on a disk.
func (v *verifying) readAnchors(name string, named bool) ([]audit.Anchor, error) {
	in := io.Reader(v.In)
	if name != "-" {
		open := audit.OpenRegular
		if named {
			open = os.Open
		}
		f, err := open(name)
		if err != nil {
			return nil, fmt.Errorf("anchors: %w", err)
		}
		defer f.Close()
		in = f
	}
	list, cut, err := audit.ReadAnchors(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	v.cut += cut
	return list, nil
}

// store verifies the store's own rows. It writes nothing.
func (v *verifying) store(ctx context.Context, keys audit.Keys) error {
	path, err := v.storePath()
	if err != nil {
		return err
	}
	store, err := db.Open(ctx, path, db.Options{Now: v.Now, ReadOnly: true})
	if err != nil {
		return err
	}
	defer store.Close()
	r, err := v.check(ctx, store, keys, func(int64) {})
	if err != nil {
		return err
	}
	return v.report(r, store.Path(), keys)
}

// progressEvery is how many rows pass between two words on how far it is.
const progressEvery = 5000

// check verifies a store's rows with the keys and the anchors that are named or set.
func (v *verifying) check(ctx context.Context, store *db.Store, keys audit.Keys, progress func(rows int64)) (audit.Report, error) {
	anchors, err := v.anchorsOf(store.Path(), keys)
	forged, err := asFault(err)
	if err != nil {
		return audit.Report{}, err
	}
	check := audit.Verifier{Keys: keys, Anchors: anchors}
	for l, err := range store.AuditRows(ctx, 0, 0) {
		if err != nil {
			return audit.Report{}, err
		}
		if check.Add(l) != nil {
			break
		}
		if l.Seq%progressEvery == 0 {
			progress(l.Seq)
		}
	}
	r := check.Report()
	if r.Fault == nil && r.Verdict != audit.Short {
		fault, err := missingRows(ctx, store)
		if err != nil {
			return r, err
		}
		r = faulty(r, fault)
	}
	return faulty(r, forged), nil
}

// checker verifies a store with what the settings name, for the console.
func (a *app) checker(store *db.Store) func(context.Context, func(int64)) (audit.Report, error) {
	return func(ctx context.Context, progress func(int64)) (audit.Report, error) {
		v := &verifying{app: a}
		keys, err := v.keys()
		if err != nil {
			return audit.Report{}, err
		}
		return v.check(ctx, store, keys, progress)
	}
}

// asFault takes a fault out of an error.
func asFault(err error) (*audit.Fault, error) {
	var fault *audit.Fault
	if errors.As(err, &fault) {
		return fault, nil
	}
	return nil, err
}

// faulty is the report with a fault that was found beside the chain, unless the chain has one of its own.
func faulty(r audit.Report, fault *audit.Fault) audit.Report {
	if fault != nil && r.Fault == nil {
		r.Verdict, r.Fault, r.Msg = audit.Altered, fault, fault.Error()
	}
	return r
}

// missingRows holds the log against the newest run: rows that were cut off are noticed when nothing else was changed.
func missingRows(ctx context.Context, store *db.Store) (*audit.Fault, error) {
	run, err := store.LastRun(ctx)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	began, ended, last := false, false, int64(0)
	for l, err := range store.AuditRows(ctx, run.ID, 0) {
		if err != nil {
			return nil, err
		}
		switch last = l.Seq; l.Copy.Action {
		case audit.Start:
			began = true
		case audit.Resume:
			ended = false
		case audit.End:
			ended = true
		}
	}
	switch {
	case !began:
		return &audit.Fault{Seq: last + 1, Msg: fmt.Sprintf("the store holds run %d, and no row says how it began: rows were removed", run.ID)}, nil
	case run.Status == db.Completed && !ended:
		return &audit.Fault{Seq: last + 1, Msg: fmt.Sprintf("run %d has ended, and no row says so: rows were removed", run.ID)}, nil
	}
	return nil, nil
}

// segments verifies exported files as one log.
func (v *verifying) segments(files []string, keys audit.Keys) error {
	type segment struct {
		name  string
		first int64
		store string
	}
	var list []segment
	for _, name := range files {
		h, err := audit.SegmentHeader(name)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		list = append(list, segment{name, h.First, h.Store})
	}
	slices.SortStableFunc(list, func(a, b segment) int { return int(min(1, max(-1, a.first-b.first))) })
	anchors, err := v.anchorsOf(list[0].store, keys)
	forged, err := asFault(err)
	if err != nil {
		return err
	}
	check := audit.Verifier{Keys: keys, Anchors: anchors}
	for _, s := range list {
		f, err := os.Open(s.name)
		if err != nil {
			return err
		}
		_, err = check.AddSegment(f)
		_ = f.Close()
		fault, err := asFault(err)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(s.name), err)
		}
		if fault != nil {
			return v.report(faulty(check.Report(), fault), s.name, keys)
		}
	}
	return v.report(faulty(check.Report(), forged), list[0].store, keys)
}

// report prints what came out and ends with its code.
func (v *verifying) report(r audit.Report, of string, keys audit.Keys) error {
	out := verified{Report: r, Store: of, KeyReadable: len(keys) > 0, AnchorsCut: v.cut}
	for _, name := range v.anchors {
		out.AnchorWritable = out.AnchorWritable || name != "-" && unix.Access(name, unix.W_OK) == nil
	}
	var err error
	if v.json {
		err = v.printJSON(out)
	} else {
		err = v.words(out)
	}
	code := map[audit.Verdict]int{audit.Altered: verifyAltered, audit.Unverifiable: verifyUnverifiable, audit.Short: verifyShort}[r.Verdict]
	if err != nil || code == 0 {
		return err
	}
	return &exitError{code: code}
}

func (v *verifying) words(r verified) error {
	p := v.printer(nil)
	p.Note("%s: %s", r.Verdict, r.Msg)
	p.Note("log of %s, up to row %s", r.Store, plain.Count(r.Rows))
	switch {
	case r.KeyedFrom == 0:
		p.Note("no row is keyed")
	default:
		p.Note("keyed from row %s on", plain.Count(r.KeyedFrom))
	}
	if r.KeyReadable {
		p.Note("this user can read the key: where it can write the store too, it can forge rows")
	}
	switch {
	case len(v.anchors) == 0:
		p.Note("no anchors were given")
	default:
		p.Note("anchors that fit: %d; the newest is over %s of %s rows", r.Anchors, plain.Count(r.Anchored), plain.Count(r.Rows))
		if r.AnchorWritable {
			p.Note("this user can write the file of anchors: keep a copy where it cannot")
		}
	}
	if r.AnchorsCut > 0 {
		p.Note("lines of the file of anchors that were cut off and say nothing: %d", r.AnchorsCut)
	}
	p.Note("what this cannot notice:")
	for _, s := range r.Blind {
		p.Note("  - %s", text.Line(s))
	}
	return p.Err()
}
