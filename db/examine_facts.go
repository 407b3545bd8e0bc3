package db

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// someRuns is how many runs an examination looks at for each kind of trouble.
const someRuns = 100

// aheadBy is how far a row may be ahead of the clock before an examination says so.
const aheadBy = 2 * time.Minute

// facts looks at what is left to do for somebody.
func (x *examination) facts(source string) {
	s := &Store{path: x.path, opts: Options{ReadOnly: true, Now: time.Now}, self: Self(), notify: &notifier{}}
	if err := s.pools(source); err != nil {
		x.fail("runs", err)
		return
	}
	for _, look := range []func(*Store) error{x.running, x.waiting, x.effects, x.clock} {
		if err := look(s); err != nil {
			x.fail("runs", err)
			break
		}
	}
	if err := s.Close(); err != nil {
		x.fail("runs", err)
	}
}

// running looks at who drives what says that it runs.
func (x *examination) running(s *Store) error {
	all, err := s.RunsThatAre(x.ctx, Running, someRuns)
	if err != nil {
		return err
	}
	var live int
	var interrupted, unknown []int64
	for _, r := range all {
		switch {
		case !r.Driven:
			interrupted = append(interrupted, r.ID)
		case LifeOf(r.Driver, s.self) == Unknown:
			unknown = append(unknown, r.ID)
		default:
			live++
		}
	}
	if len(interrupted) > 0 {
		x.add(Warn, "interrupted", fmt.Sprintf("go on with tillerman resume %d", interrupted[0]), "nobody drives %s", runWords(interrupted))
	} else {
		x.add(Fine, "interrupted", "", "no run; %d driven now", live)
	}
	if len(unknown) > 0 {
		x.add(Warn, "leases", fmt.Sprintf("if you know that its process is gone: tillerman resume %d --take-over", unknown[0]), "the driver of %s cannot be seen from here", runWords(unknown))
	} else {
		x.add(Fine, "leases", "", "every driver can be seen from here")
	}
	return nil
}

// waiting looks at what waits for a person.
func (x *examination) waiting(s *Store) error {
	paused, err := s.RunsThatAre(x.ctx, Paused, someRuns)
	if err != nil {
		return err
	}
	var ids []int64
	for _, r := range paused {
		ids = append(ids, r.ID)
	}
	if len(ids) > 0 {
		x.add(Warn, "paused", fmt.Sprintf("see what it waits for with tillerman show %d", ids[0]), "%s", runWords(ids))
	} else {
		x.add(Fine, "paused", "", "no run")
	}
	open, err := s.Inbox(x.ctx)
	if err != nil {
		return err
	}
	ids = nil
	for _, r := range open {
		ids = append(ids, r.RunID)
	}
	if len(ids) > 0 {
		x.add(Warn, "questions", "answer them: tillerman inbox", "%d open, of %s", len(ids), runWords(ids))
	} else {
		x.add(Fine, "questions", "", "none open")
	}
	return nil
}

// effects looks at calls of which nobody knows whether they happened.
func (x *examination) effects(s *Store) error {
	open, err := s.OpenEffects(x.ctx, someRuns)
	if err != nil {
		return err
	}
	var ids []int64
	for _, id := range open {
		_, life, held, err := s.Driver(x.ctx, id)
		if err != nil {
			return err
		}
		if !held || life == Dead { // a driven run's call is under way
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		x.add(Warn, "effects", fmt.Sprintf("find out, then tillerman resolve %d --done, --retry or --fail with --reason", ids[0]), "nobody knows whether a call of %s happened", runWords(ids))
	} else {
		x.add(Fine, "effects", "", "no call is in doubt")
	}
	return nil
}

// clock compares the clock with the newest run's.
func (x *examination) clock(s *Store) error {
	now := s.now()
	last, err := s.LastRun(x.ctx)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	ahead := time.UnixMilli(last.CreatedAt).Sub(now)
	switch {
	case now.Year() < 2025:
		x.add(Warn, "clock", "set the clock", "it says %s", now.Format(time.DateTime))
	case ahead > aheadBy:
		x.add(Warn, "clock", "set the clock; the order of runs and steps does not depend on it", "run %d began %s in the future", last.ID, ahead.Round(time.Second))
	default:
		x.add(Fine, "clock", "", "%s", now.Format(time.DateTime))
	}
	return nil
}

// runWords names runs: all of few, the first of many.
func runWords(ids []int64) string {
	const few = 5
	seen := map[int64]bool{}
	var names []string
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			names = append(names, fmt.Sprint(id))
		}
	}
	word := "run "
	if len(names) > 1 {
		word = "runs "
	}
	if len(names) > few {
		return fmt.Sprintf("%s%s and %d more", word, strings.Join(names[:few], ", "), len(names)-few)
	}
	return word + strings.Join(names, ", ")
}
