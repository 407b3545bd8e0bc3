package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/frame"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// View draws the screen.
func (m *Model) View() string {
	p := m.deps.Painter
	if frame.TooSmall(m.width, m.height) {
		return frame.Small(p, m.width, m.height)
	}
	if m.data == nil {
		return frame.Message(p, m.width, m.height, fmt.Sprintf("reading run %d", m.runID), m.err)
	}
	if m.lines == nil {
		m.lines = m.body()
	}
	room := m.room()
	m.top = max(0, min(m.top, len(m.lines)-room))
	body := slices.Clone(m.lines[m.top:min(m.top+room, len(m.lines))])
	if len(m.lines) > m.top+room {
		body[room-1] = p.Line(m.width, paint.Plain).Gap(2).Add(paint.Dim, "more below: pgdn").String()
	}
	for len(body) < room {
		body = append(body, p.Line(m.width, paint.Plain).String())
	}
	lines := append(append([]string{m.header()}, body...), m.footer())
	return frame.Exactly(p, lines, m.width, m.height)
}

func (m *Model) header() string {
	p, s := m.deps.Painter, m.data.summary
	sign, role, word := frame.State(p, s.Outcome)
	l := frame.Title(p, m.width).Gap(2).Add(paint.Strong, text.Line(m.data.run.Goal))
	return l.Right(role, sign+" "+word).Right(paint.Soft, fmt.Sprintf("   %d steps   %s   run %d  ", s.Steps, plain.Duration(s.DurationMS), m.runID)).String()
}

func (m *Model) body() []string {
	p, s := m.deps.Painter, m.data.summary
	o := &page{p: p, width: m.width}
	o.blank()
	o.words(paint.Text, ending(s))
	if s.Late != "" {
		o.words(paint.Person, s.Late)
	}
	o.blank()
	o.lines = append(o.lines, p.Line(m.width, paint.Plain).Gap(2).Add(paint.Dim, "TIME").Right(paint.Strong, plain.Duration(s.DurationMS)+"  ").String())
	o.bar(s.Time, s.DurationMS)
	if m.data.slowest != "" {
		o.lines = append(o.lines, o.start().Gap(2).Add(paint.Dim, "slowest: ").Add(paint.Text, text.Line(m.data.slowest)).String())
	}
	o.blank()
	m.fields(o)
	if said := strings.TrimSpace(s.Said); said != "" {
		o.blank()
		o.lines = append(o.lines, o.start().Add(paint.Dim, "SAID").String())
		o.words(paint.Text, said)
	}
	return o.lines
}

// ending is the first thing a person wants to know.
func ending(s db.Summary) string {
	row, _ := observer.Outcome(s.Outcome).Row()
	switch {
	case s.StopReason == "":
		return row.Words
	case strings.HasPrefix(s.StopReason, row.Words):
		return strings.Replace(s.StopReason, " by "+db.Here("").User+" (", " by you (", 1)
	}
	return row.Words + ": " + s.StopReason
}

func (m *Model) fields(o *page) {
	s := m.data.summary
	switch {
	case s.GateChanged:
		o.field("checks", paint.Person, "passed, but a file that decides them changed since the start")
	case s.Verified == nil:
		o.field("checks", paint.Soft, "none were set: the result is unverified")
	case *s.Verified:
		o.field("checks", paint.Good, "passed")
	default:
		o.field("checks", paint.Bad, "not passed, or not run")
	}
	o.field("tokens", paint.Text, plain.Tokens(s))
	o.field("cost", paint.Text, plain.Cost(s.CostMicros, o.p.ASCII()))
	answered := strings.Join(s.ModelsServed, ", ")
	if answered == "" {
		answered = "nobody"
	}
	o.field("models", paint.Text, fmt.Sprintf("asked %s, answered by %s, %d calls", strings.Join(s.ModelsAsked, ", "), answered, s.Calls))
	files := "none"
	if len(s.Files) > 0 {
		files = strings.Join(s.Files, "   ")
	}
	o.field("files", paint.Text, files)
	var decided []string
	for _, a := range s.Approvals {
		decided = append(decided, fmt.Sprintf("%s %d%s by %s", a.Decision, a.Count, o.p.Pick("×", "x"), you(a.By)))
	}
	if len(decided) == 0 {
		decided = []string{"nobody decided anything"}
	}
	o.field("approvals", paint.Text, strings.Join(decided, "   "))
	for i, v := range m.data.refusals {
		name := ""
		if i == 0 {
			name = "refused"
		}
		why := ""
		if v.Rule != nil && v.Layer != nil {
			why = fmt.Sprintf("   %s, layer %s", *v.Rule, *v.Layer)
		} else if v.Layer != nil {
			why = "   layer " + *v.Layer
		}
		o.field(name, paint.Bad, v.Act+" "+v.Target+why)
	}
	cancel := "not asked"
	if s.CancelMS != nil {
		cancel = fmt.Sprintf("by %s, stopped after %s", you(s.CancelledBy), plain.Duration(*s.CancelMS))
	}
	name := "cancel"
	if observer.Outcome(s.Outcome) == observer.OutcomeKilled {
		name = "kill"
	}
	o.field(name, paint.Soft, cancel)
	for i, words := range m.data.left {
		name := "processes"
		if i > 0 {
			name = ""
		}
		o.field(name, paint.Bad, words)
	}
	o.field("workspace", paint.Soft, m.data.run.Workspace)
	if at := m.data.run.TraceRemovedAt; at != 0 {
		o.field("trace", paint.Soft, "removed on "+time.UnixMilli(at).Format(time.DateOnly)+": the steps are not there any more")
	}
}

// you shows the decisions of whoever looks as theirs.
func you(by string) string {
	self := db.Here("").User
	if rest, ok := strings.CutPrefix(by, self+" ("); ok {
		return "you (" + rest
	}
	return by
}

func (m *Model) footer() string {
	var caps []keys.Binding
	for _, a := range []keys.Action{keys.Open, keys.Audit} {
		if b, ok := m.deps.Keys.Get(a, keys.OnSummary); ok {
			caps = append(caps, b)
		}
	}
	for _, a := range []keys.Action{keys.Runs, keys.Help, keys.Quit} {
		if b, ok := m.deps.Keys.Get(a, keys.Anywhere); ok {
			caps = append(caps, b)
		}
	}
	return frame.Caps(m.deps.Painter.Line(m.width, paint.Plain).Gap(2), caps, m.width)
}

// page is the body under construction.
type page struct {
	p     *paint.Painter
	width int
	lines []string
}

func (o *page) start() *paint.Line { return o.p.Line(o.width, paint.Plain).Gap(2) }
func (o *page) blank()             { o.lines = append(o.lines, o.p.Line(o.width, paint.Plain).String()) }

// words adds a text, each of its lines indented as it is, also where it has to be broken.
func (o *page) words(role paint.Role, s string) {
	for line := range strings.SplitSeq(text.Clean(s), "\n") {
		words := strings.TrimLeft(line, " ")
		if words == "" {
			o.blank()
			continue
		}
		indent := min(len(line)-len(words), o.width/2)
		for _, l := range text.WrapWords(words, max(8, o.width-4-indent)) {
			o.lines = append(o.lines, o.start().Gap(indent).Add(role, strings.TrimLeft(l, " ")).String())
		}
	}
}

func (o *page) field(name string, role paint.Role, value string) {
	const indent = 14
	for i, part := range text.WrapWords(text.Line(value), max(8, o.width-indent-2)) {
		l := o.start()
		if i == 0 {
			l.Add(paint.Dim, name)
		}
		o.lines = append(o.lines, l.To(indent).Add(role, strings.TrimLeft(part, " ")).String())
	}
}

// share is one part of a run's time.
type share struct {
	name string
	role paint.Role
	ms   int64
}

// bar draws where the time went: one bar that adds up, and its parts in words.
func (o *page) bar(t db.Split, total int64) {
	shares := []share{
		{"model", paint.Model, t.Model},
		{"tools", paint.Tool, t.Tool},
		{"waiting for you", paint.Person, t.Person},
		{"retry", paint.Bad, t.Retry},
		{"checks", paint.Good, t.Gate},
		{"away", paint.Faint, t.Away},
		{"engine", paint.Soft, t.Engine},
	}
	cells := max(1, o.width-4)
	bar := o.start()
	if total <= 0 {
		o.lines = append(o.lines, bar.Add(paint.Faint, strings.Repeat(o.p.Pick("░", "."), cells)).String())
		return
	}
	used, sum := 0, int64(0)
	legend, at := []*paint.Line{o.start()}, 2
	for _, s := range shares {
		sum += s.ms
		to := int(int64(cells) * min(sum, total) / total)
		fill := o.p.Fill("█", strings.ToUpper(s.name[:1]))
		bar.Add(s.role, strings.Repeat(fill, max(0, to-used)))
		used = max(used, to)
		if s.ms > 0 {
			words := " " + s.name + " " + plain.Duration(s.ms)
			if need := 1 + text.Width(words); at+need > o.width-2 && at > 2 {
				legend, at = append(legend, o.start()), 2+need+3
			} else {
				at += need + 3
			}
			legend[len(legend)-1].Add(s.role, o.p.Fill("■", strings.ToUpper(s.name[:1]))).Add(paint.Text, words).Gap(3)
		}
	}
	o.lines = append(o.lines, bar.String())
	for _, l := range legend {
		o.lines = append(o.lines, l.String())
	}
}
