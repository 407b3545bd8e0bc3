package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"tillerman/db/audit"
)

// Retention says which traces a retention run removes, and for whom.
type Retention struct {
	Before  int64  // of runs that ended before, ms since the epoch
	Asked   string // the wish in the person's words, for the record
	By      Actor
	Version string // of the program, for the record
}

// Removal is what a retention run removes, or would.
type Removal struct {
	Runs     int   `json:"runs"`
	Trees    int   `json:"trees"` // a run with its sub-agents is one
	Begun    int   `json:"begun"` // runs among them whose removal an earlier retention run began and did not end
	Steps    int64 `json:"steps"`
	Contents int64 `json:"contents"` // to which no other run refers
	Bytes    int64 `json:"bytes"`    // of these contents; rows come on top
	// Chunks is how many transactions it took, Longest how long the longest held other writers up.
	Chunks  int           `json:"chunks"`
	Longest time.Duration `json:"longest_ns"`
}

// RemovedError says that a run's trace was removed: what it answers to is not there any more.
type RemovedError struct {
	RunID int64
	At    int64 // ms since the epoch
}

func (e *RemovedError) Error() string {
	return fmt.Sprintf("the trace of run %d was removed on %s; what is kept is in tillerman show %d", e.RunID, e.Date(), e.RunID)
}

// Date is the day on which the trace was removed, in local time.
func (e *RemovedError) Date() string { return time.UnixMilli(e.At).Format(time.DateOnly) }

// Traced is nil for a run that has its trace, *RemovedError for one whose trace was removed.
func (r Run) Traced() error {
	if r.TraceRemovedAt == 0 {
		return nil
	}
	return &RemovedError{RunID: r.ID, At: r.TraceRemovedAt}
}

// How a removal shares the store with whoever works on it. A chunk ends chunkTime after it began to hold other writers
// up, and then they have restFactor times as long for themselves. markRuns is the most runs that are marked in one chunk.
const (
	chunkTime  = 4 * time.Millisecond
	restFactor = 2
	chunkRows  = 20
	markRuns   = 50
)

// turn is one chunk's share of the store. It ends by the clock, but never before something was done.
type turn struct {
	end   time.Time
	done  int // removals
	limit int // of them, 0 for none: for tests
}

func (t *turn) over() bool {
	return t.done > 0 && (!time.Now().Before(t.end) || t.limit > 0 && t.done >= t.limit)
}

// tree is a root run with its sub-agents.
type tree struct {
	runs  []int64 // the root is last: of a tree whose removal is not complete it has rows
	steps int64
	begun bool
}

// Removable is what Prune would remove of runs that ended before the given time, in ms since the epoch.
func (s *Store) Removable(ctx context.Context, before int64) (Removal, error) {
	var sum Removal
	trees, err := s.endedTrees(ctx, before)
	if err != nil {
		return sum, wrap("read", s.path, err)
	}
	going := map[int64]bool{}
	for _, t := range trees {
		sum.add(t)
		for _, run := range t.runs {
			going[run] = true
		}
	}
	if len(trees) == 0 {
		return sum, nil
	}
	refs, err := newReferences(ctx, s, func(run int64) bool { return going[run] })
	if err != nil {
		return sum, wrap("read", s.path, err)
	}
	theirs := &references{known: map[reference]struct{}{}, from: map[int64]int{}}
	for _, t := range trees {
		for _, run := range t.runs {
			if err := theirs.readRun(s.reader(ctx), run); err != nil {
				return sum, wrap("read", s.path, err)
			}
		}
	}
	err = s.measure(ctx, theirs, refs, &sum)
	return sum, wrap("read", s.path, err)
}

func (sum *Removal) add(t tree) {
	sum.Trees++
	sum.Runs += len(t.runs)
	sum.Steps += t.steps
	if t.begun {
		sum.Begun += len(t.runs)
	}
}

// measure counts the contents to which only theirs refer, a page of all contents at a time.
func (s *Store) measure(ctx context.Context, theirs, others *references, sum *Removal) error {
	after := ""
	for {
		page, err := list(s.reader(ctx), func(r *sql.Rows) (string, error) {
			var digest string
			var size int64
			err := r.Scan(&digest, &size)
			if theirs.needed(digest) && !others.needed(digest) {
				sum.Contents++
				sum.Bytes += size
			}
			return digest, err
		}, `SELECT digest, length(body) FROM contents WHERE digest > ? ORDER BY digest LIMIT ?`, after, referencePage)
		if err != nil || len(page) < referencePage {
			return err
		}
		after = page[len(page)-1]
	}
}

// endedTrees lists the trees of which every run ended before the given time and has its trace, and those whose removal
// has begun.
func (s *Store) endedTrees(ctx context.Context, before int64) ([]tree, error) {
	var trees []tree
	q := s.reader(ctx)
	var after int64
	for {
		roots, err := numbers(q, `SELECT id FROM runs r WHERE status = 'completed' AND parent_id IS NULL AND id > ?
 AND EXISTS (SELECT 1 FROM drives WHERE run_id = r.id) AND (finished_at < ? OR trace_removed_at IS NOT NULL) ORDER BY id LIMIT ?`, after, before, referencePage)
		if err != nil {
			return nil, err
		}
		for _, root := range roots {
			t, ok, err := endedTree(q, root, before)
			if err != nil {
				return nil, err
			}
			if ok {
				trees = append(trees, t)
			}
		}
		if len(roots) < referencePage {
			return trees, nil
		}
		after = roots[len(roots)-1]
	}
}

// endedTree reads one tree. ok is false when one of its runs has not ended, or not long enough ago.
func endedTree(q querier, root, before int64) (t tree, ok bool, err error) {
	ok = true
	t.begun = true
	_, err = list(q, func(r *sql.Rows) (struct{}, error) {
		var run, steps, finished, removed int64
		var status Status
		if err := r.Scan(&run, &status, &steps, &finished, &removed); err != nil {
			return struct{}{}, err
		}
		t.runs = append(t.runs, run)
		t.steps += steps
		t.begun = t.begun && removed != 0
		ok = ok && (removed != 0 || status == Completed && finished < before)
		return struct{}{}, nil
	}, `SELECT id, status, sealed, coalesce(finished_at, 0), coalesce(trace_removed_at, 0) FROM runs WHERE root_id = ? ORDER BY id DESC`, root)
	return t, ok && len(t.runs) > 0, err
}

// pruning is one retention run.
type pruning struct {
	s    *Store
	sum  Removal
	refs *references
	runs []int64 // still to go, in order

	// Of the first of them:
	blanked bool
	table   int                    // its place in traceTables
	read    bool                   // the first rows of the table were read, and their contents are these:
	pending []string               // contents still to go
	dropped map[reference]struct{} // contents that need no second look
}

// Prune removes the traces of runs that have ended before a time: steps, model calls, tool calls, files, checks, spans,
// events and what else belongs to one run, and the contents to which no remaining run refers. The run's row, its summary
// and the decisions about it stay; what a question showed and what the operator told the agent go. Audit rows are never
// touched. A run with its sub-agents goes together; one that is driven, paused or too young keeps the whole tree.
//
// It works in short transactions and leaves room between them, so that other processes go on. Ended at any point, by
// whatever, it has removed whole rows only, and the next Prune goes on with what it began. Several may run at once.
func (s *Store) Prune(ctx context.Context, r Retention) (Removal, error) {
	p := &pruning{s: s}
	trees, err := s.endedTrees(ctx, r.Before)
	if err != nil {
		return p.sum, wrap("read", s.path, err)
	}
	if len(trees) == 0 {
		return p.sum, nil
	}
	if err := p.mark(ctx, r, trees); err != nil {
		return p.sum, err
	}
	// From here on every run with a mark is leaving, also those that another process has just marked.
	if p.runs, err = s.leavingRuns(ctx); err != nil {
		return p.sum, wrap("read", s.path, err)
	}
	leaving := map[int64]bool{}
	for _, run := range p.runs {
		leaving[run] = true
	}
	if p.refs, err = newReferences(ctx, s, func(run int64) bool { return leaving[run] }); err != nil {
		return p.sum, wrap("read", s.path, err)
	}
	for len(p.runs) > 0 {
		if err := p.refs.catchUp(s.reader(ctx)); err != nil { // so that little is left to look at while others wait
			return p.sum, wrap("read", s.path, err)
		}
		if err := p.chunk(ctx, p.remove); err != nil {
			return p.sum, err
		}
	}
	return p.sum, s.emptyLog(ctx)
}

// chunk runs fn in a transaction of its own and then rests, so that other writers get their turn: they look for it at
// intervals, and would find the store taken every time.
func (p *pruning) chunk(ctx context.Context, fn func(*conn, *turn) error) error {
	var begun time.Time
	err := p.s.write(ctx, func(c *conn) error {
		begun = time.Now()
		return fn(c, &turn{end: begun.Add(chunkTime), limit: p.s.opts.chunk})
	})
	if err != nil {
		return err
	}
	held := time.Since(begun)
	p.sum.Chunks++
	p.sum.Longest = max(p.sum.Longest, held)
	rest := time.NewTimer(restFactor * held)
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-rest.C:
		return nil
	}
}

// mark notes on the runs of every tree that their trace is going, from when on nobody takes them up. The first mark
// comes with the audit row.
func (p *pruning) mark(ctx context.Context, r Retention, trees []tree) error {
	planned := Removal{}
	for _, t := range trees {
		planned.add(t)
	}
	todo := slices.DeleteFunc(slices.Clone(trees), func(t tree) bool { return t.begun })
	audited, kept := false, 0
	for !audited || len(todo) > 0 {
		err := p.chunk(ctx, func(c *conn, t *turn) error {
			if !audited {
				if err := p.audit(c, r, "remove", planned.note()); err != nil {
					return err
				}
			}
			for ; len(todo) > 0 && t.done < markRuns && !t.over(); todo = todo[1:] {
				root := todo[0].runs[len(todo[0].runs)-1]
				tree, ok, err := endedTree(c, root, r.Before) // it may have been taken up since
				if err != nil {
					return err
				}
				if !ok {
					kept++
					continue
				}
				if _, err := c.exec(`UPDATE runs SET trace_removed_at = ?, inputs = '{}' WHERE root_id = ? AND trace_removed_at IS NULL`, p.s.now().UnixMilli(), root); err != nil {
					return err
				}
				p.sum.add(tree)
				t.done += len(tree.runs)
			}
			return nil
		})
		if err != nil {
			return err
		}
		audited = true
	}
	for _, t := range trees {
		if t.begun {
			p.sum.add(t)
		}
	}
	if kept == 0 {
		return nil
	}
	return p.chunk(ctx, func(c *conn, _ *turn) error {
		return p.audit(c, r, "keep", fmt.Sprintf("%d of these trees, taken up meanwhile", kept))
	})
}

func (sum Removal) note() string {
	s := fmt.Sprintf("%d runs in %d trees, %d steps", sum.Runs, sum.Trees, sum.Steps)
	if sum.Begun > 0 {
		s += fmt.Sprintf("; %d of the runs begun before", sum.Begun)
	}
	return s
}

// audit records the retention run. It belongs to no run.
func (p *pruning) audit(c *conn, r Retention, decision, note string) error {
	tx := &Tx{conn: c, store: p.s, at: p.s.now().UnixMilli(), version: r.Version}
	return tx.Audit(AuditRow{
		Action: audit.Retention, Actor: r.By, Target: "traces of runs that ended before " + time.UnixMilli(r.Before).UTC().Format(time.RFC3339),
		Decision: decision, Reason: r.Asked, Note: note,
	})
}

// leavingRuns lists the runs whose trace is going and of which something is left.
func (s *Store) leavingRuns(ctx context.Context) ([]int64, error) {
	var all []int64
	var after int64
	for {
		page, err := numbers(s.reader(ctx), `SELECT id FROM runs r WHERE status = 'completed' AND id > ? AND trace_removed_at IS NOT NULL
 AND EXISTS (SELECT 1 FROM drives WHERE run_id = r.root_id) ORDER BY id LIMIT ?`, after, referencePage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < referencePage {
			slices.Reverse(all) // sub-agents before their root, whose rows say that the tree is not done
			return all, nil
		}
		after = page[len(page)-1]
	}
}
