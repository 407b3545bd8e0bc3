package core

import (
	"fmt"

	"tillerman/core/history"
	"tillerman/core/provider"
	"tillerman/db"
	"tillerman/observer"
)

// compactIfFull makes room when the next request would be larger than the context budget, down to 60 % of it, so that
// it does not have to happen again soon.
func (d *driver) compactIfFull(step int) {
	if budget := d.c.ContextTokens * 4; d.hist.Bytes() > budget {
		d.compact(step, budget*6/10)
	}
}

// compact cuts old results to stubs, once a step. What it did is stored with the request that shows it.
func (d *driver) compact(step, target int) {
	if d.compacted == step {
		return
	}
	before := d.hist.Bytes()
	stubs := d.hist.Compact(target)
	d.compacted = step
	if len(stubs) > 0 {
		d.cuts = &compaction{stubs: stubs, before: before, after: d.hist.Bytes()}
	}
}

// compaction is what a compaction did, until it is stored.
type compaction struct {
	stubs         []history.Stub
	before, after int // bytes
}

func (c *compaction) store(tx *db.Tx, step int) error {
	if c == nil {
		return nil
	}
	for _, s := range c.stubs {
		if err := tx.AddContextFact(step, "stubbed", fmt.Sprintf("%s %s: %d bytes, %s", s.Tool, s.Target, s.Bytes, s.Why)); err != nil {
			return err
		}
	}
	return tx.Event(step, 0, observer.Compacted{BeforeTokens: provider.Estimate(c.before), AfterTokens: provider.Estimate(c.after), Stubs: len(c.stubs)})
}
