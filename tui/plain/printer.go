package plain

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/text"
)

// Printer writes a run as lines. An event says what to look at; what is printed are the facts. It is for one goroutine.
type Printer struct {
	W     io.Writer
	Store *db.Store
	Width int // cells
	// Quiet leaves out the payload of questions: whoever asks shows it.
	Quiet bool
	// ASCII keeps our own words and signs to ASCII.
	ASCII bool

	runID int64
	err   error
}

// margin is where the text of a line begins, under a step's number.
const margin = "      "

// outputLines is how much of a failed call's or check's output is shown: its end, where the reason usually is.
const outputLines = 12

// Event prints what an event is about.
func (p *Printer) Event(ctx context.Context, ev observer.Event) error {
	p.runID = ev.RunID
	switch k := ev.Kind.(type) {
	case observer.Started:
		return p.started(ctx, ev, k)
	case observer.Step:
		return p.step(ctx, ev)
	case observer.Refused:
		why := "by default"
		if k.Rule != nil || k.Layer != nil {
			why = ruleWords(k.Rule, k.Layer)
		}
		p.mark("x", "refused: %s %s (%s)", k.Act, k.Target, why)
	case observer.ApprovalRequested:
		return p.asked(ctx, ev)
	case observer.ApprovalDecided:
		return p.decided(ctx, ev, k)
	case observer.Endpoint:
		if k.Effect != "allow" {
			p.mark("?", "host %s: %s (%s)", k.Host, k.Effect, ruleWords(k.Rule, k.Layer))
		}
	case observer.ModelCall:
		return p.failed(ctx, ev, k)
	case observer.Retry:
		p.mark("~", "asking again in %s (try %d: %s)", Duration(k.DelayMillis), k.Attempt, k.Kind)
	case observer.FellBackTo:
		p.mark("~", "answered by %s instead", k.Provider)
	case observer.Replan:
		p.mark("~", "no progress for %d steps; the agent was told to try something else", k.Window)
	case observer.Compacted:
		p.mark("~", "history cut from about %s to %s tokens, %d results left out", Count(k.BeforeTokens), Count(k.AfterTokens), k.Stubs)
	case observer.Gate:
		return p.gate(ctx, ev, k)
	case observer.CancelRequested:
		when := "it stops at the next safe point"
		if k.Kind == observer.StopKill {
			when = "it is ended now"
		}
		p.mark("!", "%s requested by %s (%s); %s", k.Kind, k.By, k.Through, when)
	case observer.Paused:
		p.mark("!", "paused by %s%s", k.By, because(k.Reason))
	case observer.Continued:
		p.mark("!", "continued by %s", k.By)
	case observer.Told:
		p.mark(">", "%s says: %s", k.By, k.Text)
	case observer.BudgetChanged:
		p.mark("!", "%s", changed(k))
	case observer.Recovery:
		p.mark("!", "%s %s: %s, says the operator", k.Name, k.Target, k.Decision)
	case observer.Finished:
		return p.finished(ctx, ev, k)
	}
	return p.err
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// changed is a new ceiling in words.
func changed(k observer.BudgetChanged) string {
	if k.Limit == nil {
		return fmt.Sprintf("no ceiling of %s any more, says %s", k.Budget, k.By)
	}
	limit := Count(*k.Limit)
	switch k.Budget {
	case "time":
		limit = Duration(*k.Limit)
	case "money":
		limit = Amount(*k.Limit)
	}
	return fmt.Sprintf("the ceiling of %s is %s now, says %s", k.Budget, limit, k.By)
}

// line prints one cleaned line.
func (p *Printer) line(format string, args ...any) {
	if _, err := fmt.Fprintln(p.W, strings.TrimRight(text.Line(fmt.Sprintf(format, args...)), " ")); err != nil && p.err == nil {
		p.err = err
	}
}

// Note prints one line of our own words and cleaned values.
func (p *Printer) Note(format string, args ...any) { p.line(format, args...) }

// Err is the first failure to print.
func (p *Printer) Err() error { return p.err }

// pick is fancy, or plain where only ASCII is taken.
func (p *Printer) pick(fancy, plain string) string {
	if p.ASCII {
		return plain
	}
	return fancy
}

// mark prints a line with a sign in the margin.
func (p *Printer) mark(sign, format string, args ...any) {
	p.line("   %s  %s", sign, fmt.Sprintf(format, args...))
}

// block prints text as it is, each line behind a bar, so that none can pass for one of ours.
func (p *Printer) block(s string) {
	for _, l := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		if _, err := fmt.Fprintln(p.W, margin+"| "+text.Line(text.Expand(l, 8, false))); err != nil && p.err == nil {
			p.err = err
		}
	}
}

// tail prints the end of a long text.
func (p *Printer) tail(s string) {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if n := len(lines) - outputLines; n > 1 { // a line alone takes no more room than the word of it
		p.line(margin+"| %s %d lines before", p.pick("…", "..."), n)
		lines = lines[n:]
	}
	p.block(strings.Join(lines, "\n"))
}

func (p *Printer) started(ctx context.Context, ev observer.Event, k observer.Started) error {
	run, err := p.Store.Run(ctx, ev.RunID)
	if err != nil {
		return err
	}
	verb := "run"
	if ev.Drive > 1 {
		verb = "resumed run"
	}
	p.line("%s %d  %s", verb, run.ID, run.Goal)
	p.line(margin+"workspace %s %s %s %s", run.Workspace, p.pick("·", "-"), k.Provider, run.Model)
	return p.err
}

// failed prints a model call that failed and after which somebody is asked again. One that ends the run is its last line.
func (p *Printer) failed(ctx context.Context, ev observer.Event, k observer.ModelCall) error {
	if k.Failure == nil {
		return p.err
	}
	attempts, err := p.Store.StepAttempts(ctx, ev.RunID, ev.Step)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if a.Attempt == k.Attempt && (a.Inner || a.DelayMS != nil) {
			p.mark("~", "%s", Failure(a))
		}
	}
	return p.err
}

// Failure is a failed model call in words: who was asked for which model, what kind of failure it was and what it said.
func Failure(a db.Attempt) string {
	s := fmt.Sprintf("%s %s: %s", a.Provider, a.Model, a.Kind)
	if a.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", a.Status)
	}
	if a.Message != "" {
		s += ": " + a.Message
	}
	return s
}

func (p *Printer) step(ctx context.Context, ev observer.Event) error {
	steps, err := p.Store.Steps(ctx, ev.RunID, ev.Step-1, 1)
	if err != nil || len(steps) == 0 {
		return err
	}
	attempts, err := p.Store.StepAttempts(ctx, ev.RunID, ev.Step)
	if err != nil {
		return err
	}
	calls, err := p.Store.StepCalls(ctx, ev.RunID, ev.Step)
	if err != nil {
		return err
	}
	st, dot := steps[0], p.pick("·", "-")
	tokens, took := "tokens not measured", int64(0)
	if st.Measured {
		tokens = Count(st.Tokens) + " tokens"
	}
	for _, a := range attempts {
		if a.TotalMS != nil {
			took += *a.TotalMS
		}
	}
	p.line("%4d  %s %s %s %s model %s", st.Step, st.Decision, dot, tokens, dot, Duration(took))
	if said := strings.TrimSpace(st.Said); said != "" {
		for _, l := range text.WrapWords(text.Clean(said), max(20, p.Width-len(margin)-2)) {
			p.line(margin+"%s", strings.TrimLeft(l, " "))
		}
	}
	for _, c := range calls {
		if c.Name == "exec" && c.Failed && c.ExitCode != nil {
			p.tail(c.Result)
		}
	}
	return p.err
}

func (p *Printer) asked(ctx context.Context, ev observer.Event) error {
	if p.Quiet || ev.RequestID == nil {
		return nil
	}
	req, err := p.Store.Request(ctx, *ev.RequestID)
	if err != nil {
		return err
	}
	return p.Question(req)
}

// Question prints a request completely.
func (p *Printer) Question(req db.Request) error {
	p.mark("?", "request %d@%s: %s %s", req.ID, ShortDigest(req.Digest), req.Act, req.Target)
	why := req.Act + " asks by default"
	if req.Rule != nil || req.Layer != nil {
		why = ruleWords(req.Rule, req.Layer)
	}
	if req.Part != "" {
		why += "; " + req.Part
	}
	p.line(margin+"why      %s", why)
	p.line(margin+"sandbox  %s", req.Sandbox)
	if req.Covers != "" {
		p.line(margin+"not seen %s", req.Covers)
	}
	before, err := p.Store.Before(context.Background(), req)
	if err != nil {
		return err
	}
	if words := BeforeWords(before); words != "" {
		p.line(margin+"before   %s", words)
	}
	head := "what would happen:"
	switch req.Act {
	case db.QuestionAct:
		head = "the agent asks:"
	case db.BudgetAct:
		head = "what is used up:"
	}
	if _, err := fmt.Fprintln(p.W, margin+head); err != nil {
		return err
	}
	for _, l := range strings.Split(req.Payload, "\n") {
		for _, part := range text.Wrap(text.Payload(text.Expand(l, 8, false)), max(20, p.Width-len(margin)-2)) {
			if _, err := fmt.Fprintln(p.W, margin+"| "+part); err != nil {
				return err
			}
		}
	}
	if said := strings.TrimSpace(req.Said); said != "" {
		p.line(margin + "the model's own words, not checked:")
		for _, l := range text.WrapWords(text.Clean(said), max(20, p.Width-len(margin)-4)) {
			p.line(margin+"  %s", strings.TrimLeft(l, " "))
		}
	}
	return p.err
}

func (p *Printer) decided(ctx context.Context, ev observer.Event, k observer.ApprovalDecided) error {
	if ev.RequestID == nil {
		return nil
	}
	req, err := p.Store.Request(ctx, *ev.RequestID)
	if err != nil || req.DecidedBy == nil {
		return err
	}
	word := map[string]string{"approve": "approved", "deny": "denied", "defer": "put off"}[k.Decision]
	if k.Decision != req.Decision { // it was decided otherwise since
		p.mark("=", "%s", word)
		return p.err
	}
	reason := ""
	if req.Reason != "" {
		reason = ": " + req.Reason
	}
	p.mark("=", "%s by %s (%s)%s", word, req.DecidedBy.User, req.DecidedBy.Surface, reason)
	return p.err
}

func (p *Printer) gate(ctx context.Context, ev observer.Event, k observer.Gate) error {
	switch k.State {
	case observer.GatePassed:
		p.mark("+", "check passed: %s", k.Target)
	case observer.GateInterrupted:
		p.mark("!", "check interrupted: %s", k.Target)
	case observer.GateFailed:
		p.mark("x", "check failed: %s", k.Target)
		gates, err := p.Store.Gates(ctx, ev.RunID)
		if err != nil {
			return err
		}
		for i := len(gates) - 1; i >= 0; i-- {
			if gates[i].Step == ev.Step && gates[i].Phase == k.Phase {
				p.tail(gates[i].Output)
				break
			}
		}
	}
	return p.err
}

func (p *Printer) finished(ctx context.Context, ev observer.Event, k observer.Finished) error {
	row, _ := k.Outcome.Row()
	run, err := p.Store.Run(ctx, ev.RunID)
	if err != nil {
		return err
	}
	if row.Status == observer.StatusPaused {
		why := row.Words // a run that has gone on since
		if run.Outcome == string(k.Outcome) && run.StopReason != "" {
			why = run.StopReason
		}
		p.line("run %d waits: %s", run.ID, why)
		return p.err
	}
	sum, err := p.Store.Summary(ctx, ev.RunID)
	if err != nil {
		return err
	}
	return p.Summary(sum)
}
