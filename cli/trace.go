package cli

import (
	"context"
	"slices"

	"tillerman/db"
)

// traceRow is one span with the facts behind it, or a call that never began and so has no span.
type traceRow struct {
	Span     *int64 `json:"span"` // null: a call that never began
	Parent   *int64 `json:"parent"`
	Depth    int    `json:"depth"`
	Kind     string `json:"kind"` // run, step, model, call, question, retry, gate, pause
	Name     string `json:"name"`
	Step     int    `json:"step"`
	Position *int   `json:"position"`
	Drive    int    `json:"drive"`
	// StartedAt is wall-clock time, StartMS counts from the drive's begin on the monotonic clock.
	StartedAt  *int64 `json:"started_at"`
	StartMS    *int64 `json:"start_ms"`
	DurationMS *int64 `json:"duration_ms"` // null unless it has ended
	State      string `json:"state"`       // ended, open, cut off, not begun
	Outcome    string `json:"outcome"`

	Model    *modelFacts    `json:"model,omitempty"`
	Call     *callFacts     `json:"call,omitempty"`
	Question *questionFacts `json:"question,omitempty"`
}

// modelFacts are what a model call was and cost. Null figures were not measured.
type modelFacts struct {
	Attempt    int         `json:"attempt"`
	Provider   string      `json:"provider"`
	Asked      string      `json:"asked"`
	Answered   *string     `json:"answered"`
	Tokens     *int64      `json:"tokens"` // of all kinds
	Input      *int64      `json:"input"`
	Output     *int64      `json:"output"`
	CacheRead  *int64      `json:"cache_read"`
	CacheWrite *int64      `json:"cache_write"`
	Reasoning  *int64      `json:"reasoning"`
	CostMicros *int64      `json:"cost_micros"`
	FirstMS    *int64      `json:"first_ms"`
	Failure    string      `json:"failure,omitempty"`
	Finish     string      `json:"finish,omitempty"`
	FellBack   []innerFail `json:"fell_back,omitempty"` // providers that failed before the one that answered
}

type innerFail struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Failure  string `json:"failure"`
	Tokens   *int64 `json:"tokens"`
}

// callFacts are what became of a tool call.
type callFacts struct {
	Tool      string       `json:"tool"`
	Act       string       `json:"act"`
	Target    string       `json:"target"`
	Verdict   *string      `json:"verdict"` // allowed, asked, denied; null: it was not judged
	Rule      *string      `json:"rule"`
	Layer     *string      `json:"layer"`
	Decision  string       `json:"decision,omitempty"` // of a person: approve, deny
	DecidedBy string       `json:"decided_by,omitempty"`
	Failed    bool         `json:"failed"`
	Exit      *int         `json:"exit"`
	Files     []tracedFile `json:"files"`
}

type tracedFile struct {
	Path   string `json:"path"`
	Change string `json:"change"`
	Source string `json:"source"` // write, command
}

// questionFacts are how a person answered.
type questionFacts struct {
	Request   int64  `json:"request"`
	Decision  string `json:"decision,omitempty"`
	DecidedBy string `json:"decided_by,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// spanPage is how many spans are read at once: a run may have hundreds of thousands.
const spanPage = 500

// tracer goes through the spans of a run in the order they began, which is that of the tree.
type tracer struct {
	ctx    context.Context
	store  *db.Store
	run    db.Run
	driven bool
	emit   func(traceRow) error

	depth map[int64]int // of runs and steps
	shown map[[2]int]bool

	window db.Window
	files  []db.File
	used   map[int]bool // attempts that a span was found for
}

// walk emits every row. Steps are never cut by a page.
func (t *tracer) walk() error {
	t.depth, t.shown, t.used = map[int64]int{}, map[[2]int]bool{}, map[int]bool{}
	var after int64
	for size := spanPage; ; {
		page, err := t.store.SpansAfter(t.ctx, t.run.ID, after, size)
		if err != nil || len(page) == 0 {
			return err
		}
		last := len(page)
		if last == size {
			for last > 0 && page[last-1].Step == page[size-1].Step {
				last--
			}
			if last == 0 { // one step larger than a page
				size *= 2
				continue
			}
		}
		if err := t.page(page[:last]); err != nil {
			return err
		}
		after, size = page[last-1].Span, spanPage
	}
}

func (t *tracer) page(spans []db.Span) error {
	first, last := spans[0].Step, spans[0].Step
	for _, s := range spans {
		first, last = min(first, s.Step), max(last, s.Step)
	}
	var err error
	if t.window, err = t.store.Window(t.ctx, t.run.ID, first, last); err != nil {
		return err
	}
	if t.files, err = t.store.FilesBetween(t.ctx, t.run.ID, first, last); err != nil {
		return err
	}
	for i, s := range spans {
		if err := t.emit(t.row(s)); err != nil {
			return err
		}
		if i+1 == len(spans) || spans[i+1].Step != s.Step {
			if err := t.notBegun(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// row is a span with its facts.
func (t *tracer) row(s db.Span) traceRow {
	r := traceRow{
		Span: &s.Span, Parent: s.Parent, Kind: s.Kind, Name: s.Name, Step: s.Step, Position: s.Position, Drive: s.Drive,
		StartedAt: &s.StartedAt, StartMS: &s.StartMS, DurationMS: s.DurationMS, State: "ended", Outcome: s.Outcome,
	}
	if s.Parent != nil {
		r.Depth = t.depth[*s.Parent] + 1
	}
	t.depth[s.Span] = r.Depth
	if s.DurationMS == nil {
		r.State = "cut off"
		if t.driven && s.Drive == t.run.Drive {
			r.State = "open"
		}
	}
	switch s.Kind {
	case "model":
		r.Model = t.model(s)
	case "call":
		if s.Position != nil {
			r.Call = t.call(s.Step, *s.Position)
			t.shown[[2]int{s.Step, *s.Position}] = true
		}
	case "question":
		r.Question = t.question(s)
	}
	return r
}

// model finds the model call of a span: both begin in one commit.
func (t *tracer) model(s db.Span) *modelFacts {
	i := slices.IndexFunc(t.window.Attempts, func(a db.Attempt) bool {
		return !a.Inner && !t.used[a.Attempt] && a.Step == s.Step && a.Drive == s.Drive && a.StartedAt == s.StartedAt
	})
	if i < 0 {
		return nil
	}
	a := t.window.Attempts[i]
	t.used[a.Attempt] = true
	m := &modelFacts{
		Attempt: a.Attempt, Provider: a.Provider, Asked: a.Model, Tokens: measured(a), Input: a.Input, Output: a.Output, CacheRead: a.CacheRead,
		CacheWrite: a.CacheWrite, Reasoning: a.Reasoning, CostMicros: a.CostMicros, FirstMS: a.FirstMS, Failure: a.Kind, Finish: a.Finish,
	}
	if a.AnsweredModel != "" {
		m.Answered = &a.AnsweredModel
	}
	for _, in := range t.window.Attempts[i+1:] {
		if !in.Inner || in.Step != a.Step {
			break
		}
		m.FellBack = append(m.FellBack, innerFail{Provider: in.Provider, Model: in.Model, Failure: in.Kind, Tokens: measured(in)})
	}
	return m
}

// measured is what a call consumed, nil when nothing was reported.
func measured(a db.Attempt) *int64 {
	if !a.Measured() {
		return nil
	}
	n := a.Tokens()
	return &n
}

// call reads what became of a call.
func (t *tracer) call(step, position int) *callFacts {
	i := slices.IndexFunc(t.window.Calls, func(c db.Call) bool { return c.Step == step && c.Position == position })
	if i < 0 {
		return nil
	}
	c := t.window.Calls[i]
	f := &callFacts{Tool: c.Name, Act: c.Act, Target: c.Target, Rule: c.Rule, Layer: c.Layer, Failed: c.Failed, Exit: c.ExitCode, Files: []tracedFile{}}
	if word, ok := map[string]string{"allow": "allowed", "ask": "asked", "deny": "denied"}[c.Effect]; ok {
		f.Verdict = &word
	}
	for _, r := range t.window.Requests {
		if r.Step == step && r.Position != nil && *r.Position == position && r.Decision != "" && r.DecidedBy != nil {
			f.Decision, f.DecidedBy = r.Decision, r.DecidedBy.String()
		}
	}
	for _, file := range t.files {
		if file.Step == step && file.Position == position && file.Done && file.Change != "none" {
			f.Files = append(f.Files, tracedFile{Path: file.Path, Change: file.Change, Source: file.Source})
		}
	}
	return f
}

// question finds the question of a span. One that was asked again after a crash began before its newest span.
func (t *tracer) question(s db.Span) *questionFacts {
	var found *db.Request
	for _, r := range t.window.Requests {
		same := r.Position == nil && s.Position == nil || r.Position != nil && s.Position != nil && *r.Position == *s.Position
		if r.Step == s.Step && same && r.AskedAt <= s.StartedAt && r.Target == s.Name {
			found = &r
		}
	}
	if found == nil {
		return nil
	}
	q := &questionFacts{Request: found.ID, Decision: found.Decision, Reason: found.Reason}
	if found.DecidedBy != nil {
		q.DecidedBy = found.DecidedBy.String()
	}
	return q
}

// notBegun emits the calls of a step that ended without having begun: denied, withdrawn, or cut short.
func (t *tracer) notBegun(s db.Span) error {
	for _, c := range t.window.Calls {
		key := [2]int{c.Step, c.Position}
		if c.Step != s.Step || c.State != db.CallEnded || c.Begun > 0 || t.shown[key] {
			continue
		}
		t.shown[key] = true
		row := traceRow{
			Depth: 2, Kind: "call", Name: c.Name, Step: c.Step, Position: &c.Position, Drive: s.Drive, State: "not begun", Outcome: c.Decision,
			Call: t.call(c.Step, c.Position),
		}
		if err := t.emit(row); err != nil {
			return err
		}
	}
	return nil
}
