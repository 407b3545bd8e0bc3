package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tillerman/db"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// nameCells is the most that a name takes in a row of a trace.
const nameCells = 60

// showTrace prints the tree of a run's spans, and where its time went.
func (a *app) showTrace(ctx context.Context, store *db.Store, id int64) error {
	run, err := store.Run(ctx, id)
	if err != nil {
		return err
	}
	if err := run.Traced(); err != nil {
		return err
	}
	drives, err := store.Drives(ctx, id)
	if err != nil {
		return err
	}
	_, life, held, err := store.Driver(ctx, id)
	if err != nil {
		return err
	}
	sum, err := store.Summary(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		sum, err = store.Figures(ctx, id)
	}
	if err != nil {
		return err
	}
	slowest, err := store.SlowestSpan(ctx, id)
	if err != nil {
		return err
	}
	t := &tracer{ctx: ctx, store: store, run: run, driven: held && life != db.Dead}
	if a.json {
		return a.traceJSON(t, drives, sum, slowest)
	}
	p := &tracePrinter{Printer: a.printer(store), drives: drives, driven: t.driven}
	p.Note("run %d  %s", id, run.Goal)
	t.emit = p.row
	if err := t.walk(); err != nil {
		return err
	}
	p.totals(sum, slowest)
	return p.Err()
}

// shownDrive is a drive in show --trace --json.
type shownDrive struct {
	Drive     int      `json:"drive"`
	StartedAt int64    `json:"started_at"`
	ElapsedMS int64    `json:"elapsed_ms"`
	Ended     string   `json:"ended"` // "" while it is driven and after a crash
	Actor     db.Actor `json:"actor"`
	Sandbox   string   `json:"sandbox"`
}

func driveOf(d db.Drive) shownDrive {
	s := shownDrive{Drive: d.Drive, StartedAt: d.StartedAt, ElapsedMS: d.ElapsedMS, Ended: d.Ended, Sandbox: d.Sandbox}
	_ = json.Unmarshal([]byte(d.Actor), &s.Actor) // an unknown actor stays empty
	return s
}

// traceJSON prints the rows as they are read: a long run's trace is never held whole.
func (a *app) traceJSON(t *tracer, drives []db.Drive, sum db.Summary, slowest *db.Span) error {
	list := make([]shownDrive, len(drives))
	for i, d := range drives {
		list[i] = driveOf(d)
	}
	w := &jsonWriter{w: a.Out}
	w.text("{\n  \"run_id\": %d,\n  \"drives\": ", t.run.ID)
	w.value(list)
	w.text(",\n  \"spans\": [")
	first := true
	t.emit = func(r traceRow) error {
		if !first {
			w.text(",")
		}
		first = false
		w.text("\n    ")
		w.value(r)
		return w.err
	}
	if err := t.walk(); err != nil {
		return err
	}
	w.text("\n  ],\n  \"duration_ms\": %d,\n  \"time\": ", sum.DurationMS)
	w.value(sum.Time)
	w.text(",\n  \"slowest_span\": ")
	if slowest == nil {
		w.value(nil)
	} else {
		w.value(slowest.Span)
	}
	w.text(",\n  \"tokens_billed\": %d,\n  \"calls_not_measured\": %d,\n  \"cost_micros\": ", sum.TokensBilled, sum.Unmeasured)
	w.value(sum.CostMicros)
	w.text(",\n  \"files\": ")
	w.value(sum.Files)
	w.text("\n}\n")
	return w.err
}

// jsonWriter writes JSON in parts and keeps the first failure.
type jsonWriter struct {
	w   io.Writer
	err error
}

func (j *jsonWriter) text(format string, args ...any) {
	if j.err == nil {
		_, j.err = fmt.Fprintf(j.w, format, args...)
	}
}

func (j *jsonWriter) value(v any) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && j.err == nil {
		j.err = err
	}
	j.text("%s", strings.TrimSuffix(b.String(), "\n"))
}

// tracePrinter prints rows as an indented tree.
type tracePrinter struct {
	*plain.Printer
	drives []db.Drive
	driven bool
	drive  int // of the row before
}

func (p *tracePrinter) row(r traceRow) error {
	if r.Drive != p.drive {
		p.drive = r.Drive
		p.heading(r.Drive)
	}
	start, took := "", r.State
	if r.StartMS != nil {
		start = plain.Duration(*r.StartMS)
	}
	if r.DurationMS != nil {
		took = plain.Duration(*r.DurationMS)
	}
	p.line(r.Depth, start, took, r.Kind, p.traceWords(r))
	if r.Model != nil {
		for _, in := range r.Model.FellBack {
			p.line(r.Depth+1, "", "", "failed", fmt.Sprintf("%s %s · %s · %s", name(in.Provider), name(in.Model), in.Failure, tokenWords(in.Tokens)))
		}
	}
	if r.Call != nil {
		for _, f := range r.Call.Files {
			by := ""
			if f.Source == "command" {
				by = " by the command"
			}
			p.line(r.Depth+1, "", "", "file", name(f.Path)+" "+f.Change+by)
		}
	}
	return p.Err()
}

func (p *tracePrinter) line(depth int, start, took, kind, words string) {
	p.Note("%9s %11s  %s%-8s %s", start, took, strings.Repeat("  ", depth), kind, words)
}

// heading says who drove from here on.
func (p *tracePrinter) heading(drive int) {
	for i, d := range p.drives {
		if d.Drive != drive {
			continue
		}
		s := driveOf(d)
		end := "ended: " + d.Ended
		switch {
		case d.Ended == "" && p.driven && i == len(p.drives)-1:
			end = "goes on"
		case d.Ended == "":
			end = "cut off"
		}
		p.Note("drive %d in process %d on %s by %s, from %s, %s, %s", drive, s.Actor.PID, name(s.Actor.Host), name(s.Actor.String()),
			time.UnixMilli(d.StartedAt).Format("2006-01-02 15:04:05"), plain.Duration(d.ElapsedMS), end)
	}
	p.Note("%9s %11s", "start", "duration")
}

// name is outside text short enough for a row.
func name(s string) string { return text.Truncate(text.Line(s), nameCells, "…") }

// traceWords is what a row says behind its kind.
func (p *tracePrinter) traceWords(r traceRow) string {
	parts := []string{name(r.Name)}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	outcome := name(r.Outcome)
	switch {
	case r.Model != nil:
		parts = p.modelWords(r.Model)
	case r.Call != nil:
		parts = callWords(r.Call)
		if outcome == parts[0] { // it came to what it was to do
			outcome = ""
		}
	case r.Question != nil:
		switch {
		case r.Question.DecidedBy != "":
			outcome = fmt.Sprintf("%s by %s", r.Question.Decision, name(r.Question.DecidedBy))
		case r.State == "open":
			outcome = "waits for an answer"
		}
	}
	add(outcome)
	return strings.Join(parts, " · ")
}

func (p *tracePrinter) modelWords(m *modelFacts) []string {
	models := name(m.Asked)
	switch {
	case m.Answered == nil && m.Failure == "":
		models += " → no answer"
	case m.Answered != nil && *m.Answered != m.Asked:
		models += " → " + name(*m.Answered)
	}
	parts := []string{models, tokenWords(m.Tokens)}
	if m.Input != nil && m.Output != nil {
		kinds := []string{"input " + plain.Count(*m.Input)}
		if m.CacheRead != nil && *m.CacheRead > 0 {
			kinds = append(kinds, "cache read "+plain.Count(*m.CacheRead))
		}
		if m.CacheWrite != nil && *m.CacheWrite > 0 {
			kinds = append(kinds, "cache write "+plain.Count(*m.CacheWrite))
		}
		parts[1] += " (" + strings.Join(append(kinds, "output "+plain.Count(*m.Output)), ", ") + ")"
	}
	if m.CostMicros != nil {
		parts = append(parts, plain.Cost(m.CostMicros, p.ASCII))
	}
	return parts
}

func tokenWords(n *int64) string {
	if n == nil {
		return "tokens not measured"
	}
	return plain.Count(*n) + " tokens"
}

func callWords(c *callFacts) []string {
	what := name(c.Tool)
	if c.Target != "" {
		what += " " + name(c.Target)
	}
	verdict := "not judged"
	if c.Verdict != nil {
		verdict = *c.Verdict
	}
	if c.DecidedBy != "" {
		verdict += fmt.Sprintf(", %s by %s", c.Decision, name(c.DecidedBy))
	}
	return []string{what, verdict}
}

// totals says where the time, the tokens and the money went.
func (p *tracePrinter) totals(sum db.Summary, slowest *db.Span) {
	p.Note("time      %s = %s", plain.Duration(sum.DurationMS), plain.Split(sum.Time))
	if slowest != nil && slowest.DurationMS != nil {
		p.Note("slowest   %s %s in step %d, %s", slowest.Kind, name(slowest.Name), slowest.Step, plain.Duration(*slowest.DurationMS))
	}
	p.Note("tokens    %s", plain.Tokens(sum))
	p.Note("cost      %s", plain.Cost(sum.CostMicros, p.ASCII))
	files := "none"
	if len(sum.Files) > 0 {
		files = strings.Join(sum.Files, ", ")
	}
	p.Note("files     %s", files)
}
