package plain

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tillerman/core/approval"
	"tillerman/db"
	"tillerman/tui/text"
)

// quiet is how long a question must have been on the screen before an answer counts: what was typed before was not
// meant for it.
const quiet = 400 * time.Millisecond

// Asker asks on a terminal by line: a letter and Enter. It is an approval.Approver.
type Asker struct {
	printer *Printer
	lines   *lines
	now     func() time.Time
	flush   func()
	mu      sync.Mutex // one question at a time
}

// NewAsker asks on in, printing through p. flush, when set, throws away what the terminal holds typed already.
func NewAsker(p *Printer, in io.Reader, now func() time.Time, flush func()) *Asker {
	if flush == nil {
		flush = func() {}
	}
	return &Asker{printer: p, lines: newLines(in, now), now: now, flush: flush}
}

// Surface is "terminal".
func (a *Asker) Surface() string { return "terminal" }

// Attended is true: a person sits at the terminal.
func (a *Asker) Attended() bool { return true }

// Decide shows the request completely and reads the answer. When the terminal is gone the question stays open for any
// other.
func (a *Asker) Decide(ctx context.Context, r approval.Request) (approval.Decision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flush()
	err := a.printer.Question(db.Request{
		ID: r.ID, Act: r.Act, Target: r.Target, Payload: r.Payload, Digest: r.Digest, Covers: r.Covers, Said: r.Said,
		Rule: optional(r.Rule), Layer: optional(r.Layer), Part: r.Part, Sandbox: r.Sandbox,
	})
	if err != nil {
		return approval.Decision{}, err
	}
	prompt := "a approve · d REASON deny · D REASON deny and end the run · f not now"
	switch r.Act {
	case db.QuestionAct:
		prompt = "a TEXT or a NUMBER answer · d REASON decline · f not now"
	case db.BudgetAct:
		prompt = fmt.Sprintf("raise it with tillerman budget %d in another terminal · d end the run · f not now", r.RunID)
	}
	for {
		fmt.Fprint(a.printer.W, margin+strings.ReplaceAll(prompt, "·", a.printer.pick("·", "-"))+"  > ")
		shown := a.now()
		line, err := a.lines.after(ctx, shown.Add(quiet))
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(a.printer.W)
			return approval.Decision{}, context.Cause(ctx)
		case err != nil:
			fmt.Fprintln(a.printer.W, "(no terminal any more: answer with tillerman approve or tillerman deny)")
			<-ctx.Done()
			return approval.Decision{}, context.Cause(ctx)
		}
		if dec, ok := parse(line, r.Act); ok {
			return dec, nil
		}
		fmt.Fprintf(a.printer.W, margin+"%s is none of these\n", text.Quote(line))
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// parse reads an answer. Enter alone decides nothing.
func parse(line, act string) (approval.Decision, bool) {
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	reason = strings.TrimSpace(reason)
	switch word {
	case "a":
		fits := reason == "" && act != db.BudgetAct
		if act == db.QuestionAct {
			fits = reason != ""
		}
		return approval.Decision{Answer: approval.Approve, Reason: reason}, fits
	case "d", "D":
		return approval.Decision{Answer: approval.Deny, Reason: reason, Stop: word == "D"}, true
	case "f":
		return approval.Decision{Answer: approval.Defer}, reason == ""
	}
	return approval.Decision{}, false
}

// lines reads lines all the time, so that it is known when each was typed.
type lines struct {
	ch chan typed
}

type typed struct {
	line string
	at   time.Time
	err  error
}

func newLines(in io.Reader, now func() time.Time) *lines {
	l := &lines{ch: make(chan typed)}
	go func() {
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			l.ch <- typed{strings.TrimRight(line, "\r\n"), now(), err}
			if err != nil {
				return
			}
		}
	}()
	return l
}

// after returns the first line that was typed at or after t.
func (l *lines) after(ctx context.Context, t time.Time) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case got := <-l.ch:
			if got.err != nil {
				go func() { l.ch <- got }() // the end stays the end for the next question
				return "", got.err
			}
			if !got.at.Before(t) {
				return got.line, nil
			}
		}
	}
}
