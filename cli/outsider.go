package cli

import (
	"context"

	"tillerman/core/sandbox"
	"tillerman/db"
)

// steer does what changes the course of a run: from outside of any run, on a store opened for writing.
func (a *app) steer(ctx context.Context, arg string, do func(store *db.Store, id int64) error) error {
	if err := a.outsider(); err != nil {
		return err
	}
	return a.act(ctx, func(store *db.Store) error {
		id, err := runID(ctx, store, arg)
		if err != nil {
			return err
		}
		return do(store, id)
	})
}

// outsider refuses to steer a run from inside one: an agent's command must not decide about its own agent. A command that
// hides its descent, and can write the store, is not found out by this; the sandbox keeps the store from it.
func (a *app) outsider() error {
	if sandbox.Inside(a.Environ) {
		return &usageError{"this process was started by an agent's command; runs are steered from outside"}
	}
	return nil
}
