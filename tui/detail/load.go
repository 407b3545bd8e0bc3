// Package detail shows one step whole: what was decided and said, which model answered, what it cost, how long it took,
// and what each call did.
package detail

import (
	"context"
	"encoding/json"
	"errors"

	"tillerman/core/provider"
	"tillerman/db"
)

// Detail is what is known of one step.
type Detail struct {
	RunID    int64
	Step     int
	Sealed   *db.Step
	Attempts []db.Attempt
	Calls    []Call
	Gates    []db.Gate
	Said     string
	Thinking string

	self db.Actor // who looks
}

// Call is one call with its question and the change it made.
type Call struct {
	db.Call
	Request *db.Request
	Files   []db.File
	// Before and After are a write's contents, nil when they were not kept.
	Before, After []byte
}

// contentLimit is the largest file that is compared on the screen, in bytes.
const contentLimit = 1 << 20

// Load reads one step.
func Load(ctx context.Context, store *db.Store, runID int64, step int) (Detail, error) {
	d := Detail{RunID: runID, Step: step, self: db.Here("console")}
	w, err := store.Window(ctx, runID, step, step)
	if err != nil {
		return d, err
	}
	if len(w.Steps) > 0 {
		d.Sealed = &w.Steps[0]
		d.Said = w.Steps[0].Said
	}
	d.Attempts, d.Gates = w.Attempts, w.Gates
	for _, c := range w.Calls {
		d.Calls = append(d.Calls, Call{Call: c})
	}
	for _, r := range w.Requests {
		if r.Position != nil && *r.Position <= len(d.Calls) && r.State != "superseded" {
			d.Calls[*r.Position-1].Request = &r
		}
	}
	files, err := store.StepFiles(ctx, runID, step)
	if err != nil {
		return d, err
	}
	for _, f := range files {
		if f.Position < 1 || f.Position > len(d.Calls) {
			continue
		}
		c := &d.Calls[f.Position-1]
		c.Files = append(c.Files, f)
		if f.Source != "write" || !f.Kept {
			continue
		}
		if c.Before, err = content(ctx, store, f.Before); err != nil {
			return d, err
		}
		if c.After, err = content(ctx, store, f.After); err != nil {
			return d, err
		}
	}
	return d, d.answer(ctx, store)
}

// answer reads what the model said and thought.
func (d *Detail) answer(ctx context.Context, store *db.Store) error {
	for _, a := range d.Attempts {
		if a.Answer == "" {
			continue
		}
		body, err := store.Content(ctx, a.Answer)
		if errors.Is(err, db.ErrNotFound) { // removed with the trace
			continue
		}
		if err != nil {
			return err
		}
		var m provider.Message
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		d.Said = m.Text()
		for _, p := range m.Parts {
			if p.Kind == provider.PartThinking {
				d.Thinking += p.Text
			}
		}
	}
	return nil
}

func content(ctx context.Context, store *db.Store, digest *string) ([]byte, error) {
	if digest == nil {
		return []byte{}, nil
	}
	body, err := store.Content(ctx, *digest)
	if errors.Is(err, db.ErrNotFound) || len(body) > contentLimit {
		return nil, nil
	}
	return body, err
}
