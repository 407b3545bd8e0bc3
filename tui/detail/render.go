package detail

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"tillerman/core"
	"tillerman/core/sandbox"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// These bound what is laid out of one text, in lines and in bytes: its head and its end; all of it is in the store.
const (
	resultLines = 2000
	resultBytes = 128 << 10
)

// Render lays the step out as lines of width cells.
func (d Detail) Render(p *paint.Painter, width int) []string {
	o := &out{p: p, width: width}
	o.head(fmt.Sprintf("step %d", d.Step))
	d.facts(o)
	if s := strings.TrimSpace(d.Said); s != "" {
		o.blank()
		o.words(paint.Text, s)
	}
	for _, c := range d.Calls {
		o.blank()
		c.render(o, d.self)
	}
	for _, g := range d.Gates {
		o.blank()
		role, word := paint.Good, "passed"
		if g.State != "passed" {
			role, word = paint.Bad, g.State
		}
		o.line(o.start().Add(paint.Soft, "check ").Add(paint.Strong, text.Line(g.Target)).Gap(2).Add(role, word))
		o.output(g.Output)
	}
	if s := strings.TrimSpace(d.Thinking); s != "" {
		o.blank()
		o.section("THINKING")
		o.words(paint.Italic, s)
	}
	return o.lines
}

// facts are the figures of the step.
func (d Detail) facts(o *out) {
	if d.Sealed != nil {
		o.field("decision", paint.Text, d.Sealed.Decision)
	}
	var model, tool, person int64
	for _, a := range d.Attempts {
		if a.TotalMS != nil {
			model += *a.TotalMS
		}
		if a.State == db.AttemptFailed {
			wait := ""
			if a.DelayMS != nil {
				wait = ", asked again after " + plain.Duration(*a.DelayMS)
			}
			o.field("failed", paint.Bad, plain.Failure(a)+wait)
		}
	}
	if n := len(d.Attempts); n > 0 {
		a := d.Attempts[n-1]
		o.field("asked", paint.Text, a.Provider+" "+a.Model)
		if a.AnsweredModel != "" {
			role := paint.Text
			if a.AnsweredModel != a.Model {
				role = paint.Person // another model than the one asked for
			}
			o.field("answered", role, a.AnsweredModel)
		}
		if a.State == db.AttemptAnswered {
			o.field("tokens", paint.Text, tokens(a))
		}
		if a.CostMicros != nil {
			o.field("cost", paint.Text, plain.Cost(a.CostMicros, o.p.ASCII()))
		}
	}
	for _, c := range d.Calls {
		if c.DurationMS != nil {
			tool += *c.DurationMS
		}
		if r := c.Request; r != nil && r.State == "decided" {
			person += max(0, r.DecidedAt-r.AskedAt)
		}
	}
	o.field("time", paint.Text, fmt.Sprintf("model %s   tools %s   you %s", plain.Duration(model), plain.Duration(tool), plain.Duration(person)))
}

func tokens(a db.Attempt) string {
	if !a.Measured() {
		return "not measured"
	}
	in := *a.Input
	cached := ""
	for _, n := range []*int64{a.CacheRead, a.CacheWrite} {
		if n != nil {
			in += *n
		}
	}
	if a.CacheRead != nil && *a.CacheRead > 0 {
		cached = fmt.Sprintf(" (%s cached)", plain.Count(*a.CacheRead))
	}
	s := fmt.Sprintf("in %s%s   out %s", plain.Count(in), cached, plain.Count(*a.Output))
	if a.Reasoning != nil && *a.Reasoning > 0 {
		s += fmt.Sprintf("   reasoning %s", plain.Count(*a.Reasoning))
	}
	return s
}

// Survivors says in words which processes a call left running, from what the store holds of them; "" for none.
func Survivors(stored string) string {
	var left []sandbox.Left
	if stored == "" || json.Unmarshal([]byte(stored), &left) != nil {
		return ""
	}
	var still, ended []string
	for _, p := range left {
		words := fmt.Sprintf("%s (%d)", p.Name, p.PID)
		if p.Ended {
			ended = append(ended, words)
		} else {
			still = append(still, words)
		}
	}
	var parts []string
	if len(still) > 0 {
		parts = append(parts, "may still run: "+strings.Join(still, ", "))
	}
	if len(ended) > 0 {
		parts = append(parts, "ended with it: "+strings.Join(ended, ", "))
	}
	return strings.Join(parts, "; ")
}

// render lays one call out.
func (c Call) render(o *out, self db.Actor) {
	target := c.Target
	if target == "" {
		target = c.Arguments
	}
	role, state := paint.Bad, ""
	switch {
	case c.Effect == "deny":
		state = "refused by policy"
	case c.Request != nil && c.Request.Decision == "deny":
		state = "denied"
	case c.Failed:
		state = "failed"
	case c.State != db.CallEnded:
		role, state = paint.Italic, string(c.State)
	}
	o.call(c.Name, target, role, state)
	if r := c.Request; r != nil {
		switch {
		case r.State == "open":
			o.field("asks", paint.Person, "waits for an answer")
		case r.DecidedBy != nil:
			role, word := paint.Good, "approved"
			switch {
			case r.Decision == "deny":
				role, word = paint.Bad, "denied"
			case r.Act == db.QuestionAct:
				word = "answered"
			}
			by := fmt.Sprintf("%s by %s (%s)", word, r.DecidedBy.Who(self), r.DecidedBy.Surface)
			if r.Reason != "" {
				by += ": " + r.Reason
			}
			o.field("decided", role, by)
		}
	}
	if c.Layer != nil && *c.Layer == core.RememberedLayer && c.Rule != nil {
		o.field("allowed", paint.Person, "by rule "+*c.Rule+", given for this run")
	}
	if c.ChangedArgs != "" {
		o.field("changed", paint.Person, "by the operator, to "+c.ChangedArgs)
	}
	if words := Survivors(c.LeftRunning); words != "" {
		o.field("left", paint.Bad, words)
	}
	for _, f := range c.Files {
		if f.Source == "command" {
			o.field("changed", paint.Text, f.Path+" "+f.Change)
		}
	}
	if c.After != nil && c.State == db.CallEnded && !c.Failed {
		o.diff(c.Files[0].Path, string(c.Before), string(c.After))
		return
	}
	if c.State == db.CallEnded {
		o.output(c.Result)
	}
}

// out is a page under construction.
type out struct {
	p     *paint.Painter
	width int
	lines []string
}

func (o *out) start() *paint.Line { return o.p.Line(o.width, paint.Plain) }
func (o *out) line(l *paint.Line) { o.lines = append(o.lines, l.String()) }
func (o *out) blank()             { o.line(o.start()) }
func (o *out) head(s string)      { o.line(o.start().Add(paint.Strong, s)) }
func (o *out) section(s string)   { o.line(o.start().Add(paint.Dim, s)) }

// field is a name and its value, which may take several lines.
func (o *out) field(name string, role paint.Role, value string) {
	const indent = 10
	for i, part := range text.WrapWords(text.Line(value), max(8, o.width-indent)) {
		part = strings.TrimLeft(part, " ")
		l := o.start()
		if i == 0 {
			l.Add(paint.Dim, name)
		}
		o.line(l.To(indent).Add(role, part))
	}
}

// call heads what a call did: all of what it was about, and how it stands where that needs a word.
func (o *out) call(name, target string, role paint.Role, state string) {
	name = text.Line(name)
	l, indent := o.start().Add(paint.Tool, name).Gap(1), text.Width(name)+1
	if indent > o.width/2 { // no tool of ours has such a name
		o.line(l)
		l, indent = o.start(), 0
	}
	used := indent
	for i, part := range text.Wrap(strings.Repeat(" ", indent)+text.Line(bounded(target)), max(8, o.width)) {
		used = text.Width(part)
		if i == 0 {
			part = part[indent:]
		} else {
			o.line(l)
			l = o.start()
		}
		l.Add(paint.Strong, part)
	}
	if state == "" {
		o.line(l)
		return
	}
	if used+2+text.Width(state) > o.width {
		o.line(l)
		l = o.start()
	}
	o.line(l.Gap(2).Add(role, state))
}

// bounded is a text without its middle where it is too long to be laid out.
func bounded(s string) string {
	s, _ = tool.Bound(s, resultBytes)
	return s
}

// words lays prose out.
func (o *out) words(role paint.Role, s string) {
	s = bounded(s)
	for _, l := range text.WrapWords(text.Clean(s), max(8, o.width)) {
		o.line(o.start().Add(role, strings.TrimLeft(l, " ")))
	}
}

// output lays out what a tool printed: every line whole, wrapped.
func (o *out) output(s string) {
	lines := strings.Split(strings.TrimRight(bounded(s), "\n"), "\n")
	if skip := len(lines) - resultLines; skip > 0 {
		head, tail := lines[:resultLines/2], lines[len(lines)-resultLines/2:]
		lines = append(append(append([]string(nil), head...), fmt.Sprintf("%s %d lines", o.p.Pick("…", "..."), skip)), tail...)
	}
	for _, l := range lines {
		for _, part := range text.Wrap(text.Line(text.Expand(l, 8, false)), max(8, o.width-2)) {
			o.line(o.start().Gap(2).Add(paint.Soft, part))
		}
	}
}

// diff lays a file's change out.
func (o *out) diff(path, before, after string) {
	if before == after {
		o.line(o.start().Gap(2).Add(paint.Dim, "nothing changed"))
		return
	}
	const head = "--- a\n+++ b\n" // the path may hold a newline: it is no part of the diff
	unified := strings.TrimPrefix(udiff.Unified("a", "b", before, after), head)
	added, removed := 0, 0
	for l := range strings.SplitSeq(strings.TrimRight(unified, "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "+"):
			added++
		case strings.HasPrefix(l, "-"):
			removed++
		}
	}
	o.line(o.start().Add(paint.Soft, text.Line(path)).Gap(2).Add(paint.Good, fmt.Sprintf("+%d", added)).Gap(1).Add(paint.Bad, fmt.Sprintf("-%d", removed)))
	for l := range strings.SplitSeq(strings.TrimRight(bounded(unified), "\n"), "\n") {
		ground, role := DiffStyle(paint.Plain, 2, l)
		for _, part := range text.Wrap(text.Payload(text.Expand(l, 8, false)), max(8, o.width)) {
			o.line(o.p.Line(o.width, ground).Add(role, part))
		}
	}
}

// DiffStyle is how the i-th line of a unified diff, which l starts with, is drawn. Lines that did not change lie on ground on.
func DiffStyle(on paint.Ground, i int, l string) (paint.Ground, paint.Role) {
	switch {
	case i < 2 && (strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ")):
		return on, paint.Strong
	case strings.HasPrefix(l, "+"):
		return paint.Added, paint.Good
	case strings.HasPrefix(l, "-"):
		return paint.Removed, paint.Bad
	case strings.HasPrefix(l, "@@"):
		return on, paint.Dim
	}
	return on, paint.Soft
}
