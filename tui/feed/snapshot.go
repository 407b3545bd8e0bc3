// Package feed brings a run to the screen: live, attached or past, by the same path. Events and commits are notices that
// something happened; what the screen shows are the facts that they point to, read from the store at most once a frame.
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tillerman/core"
	"tillerman/db"
)

// Snapshot is what a screen shows of a run. It is a function of the store and of the window asked for, and never
// changes once it was made.
type Snapshot struct {
	Run    db.Run
	Limits Limits
	Gates  int // checks that decide

	State   string // in a word or two: running, waits for you, cancelling, paused, interrupted, or the outcome
	Driven  bool   // somebody drives it
	Driver  db.Owner
	Unseen  bool // whether the driver lives cannot be seen from here
	Now     Activity
	Rows    []Row // of the window
	First   int   // step of the first row
	Total   int   // steps there are, one under way included
	Open    []db.Request
	Asks    Asks        // about the oldest open question
	Rules   []db.Rule   // that people gave for the rest of the run, revoked ones included
	Cancel  *db.Control // a cancel or kill that was asked for and not acted on, the kill first
	Pause   *db.Control // a pause that nobody has lifted; it is in force once it was observed
	Told    []Told      // messages to the agent, oldest first
	Budget  *db.Control // a change of budgets that is not in force yet
	Stuck   *Stuck      // a call that a crash interrupted and that must not happen twice, while it waits for a word
	Spend   Spend
	Summary *db.Summary // of a run that has ended
	// DrivenMS is how long the run was driven in all.
	DrivenMS int64
}

// Held says that an operator's pause is in force.
func (s *Snapshot) Held() bool { return s.Pause != nil && s.Pause.ObservedAt != nil }

// Elapsed is how long the run has lasted at nowMS, in ms: to its end, or until now while it is driven. A run that nobody
// drives stands still.
func (s *Snapshot) Elapsed(nowMS int64) int64 {
	switch {
	case s.Summary != nil:
		return s.Summary.DurationMS
	case s.Driven:
		return max(0, nowMS-s.Run.CreatedAt)
	}
	return s.DrivenMS
}

// Activity is what a run is doing.
type Activity struct {
	Kind   string // model, call, question, retry, gate, pause; "" when nothing is under way
	Name   string
	Step   int
	Since  int64  // wall clock, ms
	Target string // of a call: what it is about
	Reach  string // of a call: how it can be stopped; see the tools
	Retry  *Retry // of a wait between two model calls
}

// Retry is a wait before a model is asked again.
type Retry struct {
	Until  int64  // wall clock, ms
	Kind   string // of the failure
	Next   int    // the attempt that follows, from 1
	Of     int    // attempts in all
	Hinted bool   // the server named the time
}

// Spend is what a run has consumed.
type Spend struct {
	Billed     int64 // tokens, every call counted
	Estimated  bool  // some of it was not measured
	CostMicros int64
	Unpriced   int // answered calls without a price
	Priced     int // answered calls with one
}

// Row is one step in a list.
type Row struct {
	Step     int
	Sealed   bool
	Calls    []Call
	Said     string
	Tokens   int64
	Measured bool
	MS       int64 // of model and calls
	Final    bool  // a final message
	Note     string
	Gates    []Gate
	Failures int // model calls that failed before the answer
	// FellBack says in words who could not answer and who did in its place, "" when the first provider did.
	FellBack string
}

// Gate is one check that ran after a step.
type Gate struct{ Phase, State string }

// Call is one call of a step in a list.
type Call struct {
	Name, Target string
	State        string // given, judged, asked, begun, ended
	Effect       string
	Failed       bool
	Changed      bool
	Exit         int // exit code of a command, 0 also when there is none
	Refused      bool
	Rule         string
	Layer        string
	Decision     string // of a person: approve, deny
	By           string
	WaitedMS     int64
}

// loader makes snapshots of one run, keeping what need not be read again. It is for one goroutine.
type loader struct {
	store *db.Store
	runID int64

	self     db.Actor // who looks
	contract core.Contract
	read     string // the contract as it was stored
	spend    Spend
	asks     Asks
	counted  int // attempts that are in spend for good
	begun    int // the newest step among them
}

// load reads a snapshot with at most size rows from step first on; first 0 is the newest.
func (l *loader) load(ctx context.Context, first, size int) (*Snapshot, error) {
	run, err := l.store.Run(ctx, l.runID)
	if err != nil {
		return nil, err
	}
	if err := run.Traced(); err != nil {
		return nil, err
	}
	if l.read != run.Contract { // its ceilings may change
		l.contract = core.Contract{}
		if err := json.Unmarshal([]byte(run.Contract), &l.contract); err != nil {
			return nil, fmt.Errorf("the stored contract of run %d cannot be read: %w", l.runID, err)
		}
		l.read = run.Contract
	}
	s := &Snapshot{Run: run, Limits: contractLimits(l.contract), Gates: len(l.contract.Gates)}
	if err := l.standing(ctx, s); err != nil {
		return nil, err
	}
	if err := l.count(ctx, s); err != nil {
		return nil, err
	}
	if err := l.now(ctx, s); err != nil {
		return nil, err
	}
	return s, l.rows(ctx, s, first, size)
}

// standing reads how the run stands: who drives it, what waits, how it ended.
func (l *loader) standing(ctx context.Context, s *Snapshot) error {
	var err error
	if s.Open, err = l.store.OpenRequests(ctx, l.runID); err != nil {
		return err
	}
	if err := l.about(ctx, s); err != nil {
		return err
	}
	if s.Rules, err = l.store.Rules(ctx, l.runID); err != nil {
		return err
	}
	if s.Run.Status == db.Completed {
		sum, err := l.store.Summary(ctx, l.runID)
		if err == nil {
			s.Summary = &sum
		} else if !errors.Is(err, db.ErrNotFound) {
			return err
		}
	} else {
		owner, life, held, err := l.store.Driver(ctx, l.runID)
		if err != nil {
			return err
		}
		s.Driver, s.Driven, s.Unseen = owner, held && life != db.Dead, held && life == db.Unknown
		drives, err := l.store.Drives(ctx, l.runID)
		if err != nil {
			return err
		}
		for _, d := range drives {
			s.DrivenMS += d.ElapsedMS
		}
	}
	if err := l.orders(ctx, s); err != nil {
		return err
	}
	listed := db.Listed{Run: s.Run, Driven: s.Driven, Unseen: s.Unseen, Waiting: len(s.Open), Cancelling: s.Cancel != nil}
	if s.Pause != nil {
		listed.Pause = db.OperatorPause{Asked: !s.Held(), InForce: s.Held(), By: s.Pause.By}
	}
	s.State = listed.State()
	return l.stuck(ctx, s)
}

// count adds up what was spent. Settled calls are counted once and for all; the newest ones are read again.
func (l *loader) count(ctx context.Context, s *Snapshot) error {
	if sum := s.Summary; sum != nil && l.counted == 0 { // of an ended run the row says it
		s.Total = s.Run.Sealed
		s.Spend = Spend{Billed: sum.TokensBilled, Estimated: sum.Unmeasured > 0, Unpriced: sum.Calls}
		if sum.CostMicros != nil {
			s.Spend.CostMicros, s.Spend.Priced, s.Spend.Unpriced = *sum.CostMicros, sum.Calls, 0
		}
		return nil
	}
	attempts, err := l.store.AttemptsAfter(ctx, l.runID, l.counted)
	if err != nil {
		return err
	}
	s.Total = max(s.Run.Sealed, l.begun)
	total := l.spend
	settled := true
	for _, a := range attempts {
		if a.State != db.AttemptOpen { // what a call in flight may come to is held, not spent
			total.Billed += a.Billed()
			total.Estimated = total.Estimated || !a.Measured() && a.State != db.AttemptFailed
		}
		if a.CostMicros != nil {
			total.CostMicros += *a.CostMicros
			total.Priced++
		} else if a.Measured() {
			total.Unpriced++
		}
		s.Total = max(s.Total, a.Step)
		if settled = settled && a.State != db.AttemptOpen; settled {
			l.spend, l.counted, l.begun = total, a.Attempt, max(l.begun, a.Step)
		}
	}
	s.Spend = total
	return nil
}

// rows reads the steps of the window.
func (l *loader) rows(ctx context.Context, s *Snapshot, first, size int) error {
	if first <= 0 || first > s.Total {
		first = max(1, s.Total-size+1)
	}
	last := min(s.Total, first+size-1)
	s.First = first
	if last < first {
		return nil
	}
	w, err := l.store.Window(ctx, l.runID, first, last)
	if err != nil {
		return err
	}
	s.Rows = make([]Row, last-first+1)
	for i := range s.Rows {
		s.Rows[i].Step = first + i
	}
	at := func(step int) *Row { return &s.Rows[step-first] }
	for _, a := range w.Attempts {
		r := at(a.Step)
		if a.TotalMS != nil {
			r.MS += *a.TotalMS
		}
		switch a.State {
		case db.AttemptAnswered:
			r.Tokens, r.Measured = r.Tokens+a.Tokens(), a.Measured()
			if r.FellBack != "" {
				r.FellBack += ", answered by " + a.Served
			}
		case db.AttemptFailed:
			r.Failures++
			r.FellBack = passedOn(r.FellBack, a)
		case db.AttemptLost:
			r.FellBack = ""
		}
	}
	for _, c := range w.Calls {
		r := at(c.Step)
		if c.DurationMS != nil {
			r.MS += *c.DurationMS
		}
		row := Call{
			Name: c.Name, Target: c.Target, State: string(c.State), Effect: c.Effect, Failed: c.Failed, Changed: c.Changed,
			Refused: c.Effect == "deny",
		}
		if c.Rule != nil {
			row.Rule = *c.Rule
		}
		if c.Layer != nil {
			row.Layer = *c.Layer
		}
		if c.ExitCode != nil {
			row.Exit = *c.ExitCode
		}
		if row.Target == "" {
			row.Target = target(c.Arguments)
		}
		r.Calls = append(r.Calls, row)
	}
	for _, req := range w.Requests {
		if req.Position == nil || req.State != "decided" {
			continue
		}
		if calls := at(req.Step).Calls; *req.Position <= len(calls) {
			c := &calls[*req.Position-1]
			c.Decision, c.WaitedMS = req.Decision, max(0, req.DecidedAt-req.AskedAt)
			if req.DecidedBy != nil {
				c.By = req.DecidedBy.Who(l.self)
			}
		}
	}
	for _, st := range w.Steps {
		r := at(st.Step)
		r.Sealed, r.Said = true, st.Said
		r.Final = len(r.Calls) == 0
		if r.Final {
			r.Note = st.Decision
		}
	}
	for _, g := range w.Gates {
		at(g.Step).Gates = append(at(g.Step).Gates, Gate{g.Phase, g.State})
	}
	return nil
}

// passedOn adds a failed call to who could not answer. With the failure of the last of a chain it begins anew.
func passedOn(before string, a db.Attempt) string {
	switch {
	case !a.Inner:
		return ""
	case before != "":
		before += ", "
	}
	return before + a.Provider + " " + a.Kind
}

// target is the first thing a call that was not judged yet points at, from its arguments.
func target(arguments string) string {
	var args struct {
		Path    string   `json:"path"`
		Pattern string   `json:"pattern"`
		Glob    string   `json:"glob"`
		Argv    []string `json:"argv"`
	}
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return ""
	}
	for _, s := range []string{args.Path, args.Pattern, args.Glob, strings.Join(args.Argv, " ")} {
		if s != "" {
			return s
		}
	}
	return ""
}

// Idle is what a run with nothing under way is doing, in words.
func Idle(s *Snapshot) string {
	switch {
	case s.Summary != nil:
		return "it has ended"
	case s.Run.Status == db.Paused:
		return "it is paused"
	case s.Driven:
		return "between two steps"
	}
	return "nobody drives it"
}
