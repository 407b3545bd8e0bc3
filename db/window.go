package db

import "context"

// Window is everything a screen shows about a range of steps, sealed or under way.
type Window struct {
	Steps    []Step
	Attempts []Attempt
	Calls    []Call
	Gates    []Gate
	Requests []Request
}

// Window reads the facts of the steps from first to last, both included.
func (s *Store) Window(ctx context.Context, runID int64, first, last int) (Window, error) {
	var w Window
	var err error
	q := s.reader(ctx)
	if w.Steps, err = list(q, scanStep, selectStep+` AND step BETWEEN ? AND ? ORDER BY step`, runID, first, last); err != nil {
		return w, wrap("read", s.path, err)
	}
	if w.Attempts, err = list(q, scanAttempt, selectAttempt+` AND step BETWEEN ? AND ? ORDER BY step, attempt`, runID, first, last); err != nil {
		return w, wrap("read", s.path, err)
	}
	if w.Calls, err = list(q, scanCall, selectCall+` AND step BETWEEN ? AND ? ORDER BY step, position`, runID, first, last); err != nil {
		return w, wrap("read", s.path, err)
	}
	if w.Gates, err = list(q, scanGate, selectGate+` AND step BETWEEN ? AND ? ORDER BY ordinal`, runID, first, last); err != nil {
		return w, wrap("read", s.path, err)
	}
	w.Requests, err = list(q, scanRequests, selectRequest+` WHERE r.run_id = ? AND r.step BETWEEN ? AND ? ORDER BY r.id`, runID, first, last)
	return w, wrap("read", s.path, err)
}

// AttemptsAfter lists a run's model calls with a number above after: what a gauge has not counted yet.
func (s *Store) AttemptsAfter(ctx context.Context, runID int64, after int) ([]Attempt, error) {
	a, err := list(s.reader(ctx), scanAttempt, selectAttempt+` AND attempt > ? ORDER BY attempt`, runID, after)
	return a, wrap("read", s.path, err)
}

// RecentSpans lists the newest spans of a run, newest first: what is going on now is among them.
func (s *Store) RecentSpans(ctx context.Context, runID int64, limit int) ([]Span, error) {
	sp, err := list(s.reader(ctx), scanSpan, selectSpan+` ORDER BY span DESC LIMIT ?`, runID, limit)
	return sp, wrap("read", s.path, err)
}

// OpenRequests lists a run's open questions, oldest first.
func (s *Store) OpenRequests(ctx context.Context, runID int64) ([]Request, error) {
	r, err := list(s.reader(ctx), scanRequests, selectRequest+` WHERE r.run_id = ? AND r.state = 'open' ORDER BY r.id`, runID)
	return r, wrap("read", s.path, err)
}

// UnstoppedControls lists the cancels and kills of a run that have not stopped it yet.
func (s *Store) UnstoppedControls(ctx context.Context, runID int64) ([]Control, error) {
	c, err := list(s.reader(ctx), scanControl, selectControl+` WHERE run_id = ? AND `+unstopped+` ORDER BY id`, runID)
	return c, wrap("read", s.path, err)
}
