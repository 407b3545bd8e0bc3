// Package summary is the screen of a run that has ended: did it work, why did it stop, what did it cost, where did the
// time go. It reads the store and nothing else.
package summary

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/detail"
	"tillerman/tui/frame"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// Deps is what the screen works with.
type Deps struct {
	Store   *db.Store
	Keys    *keys.Map
	Painter *paint.Painter
}

// Model is the screen. It is for the UI goroutine.
type Model struct {
	deps   Deps
	runID  int64
	data   *data
	err    error
	top    int
	width  int
	height int
}

// data is what the store holds about an ended run.
type data struct {
	run      db.Run
	summary  db.Summary
	slowest  string
	refusals []db.Verdict
	left     []string // processes that outlived a run that was stopped, in words
}

type loadedMsg struct {
	runID int64
	data  *data
	err   error
}

// OpenSteps asks for the steps of a run.
type OpenSteps struct{ ID int64 }

// New makes the screen for a run.
func New(deps Deps, runID int64) *Model { return &Model{deps: deps, runID: runID} }

// RunID is the run on the screen.
func (m *Model) RunID() int64 { return m.runID }

// Init reads the store.
func (m *Model) Init() tea.Cmd {
	store, id := m.deps.Store, m.runID
	return func() tea.Msg {
		d, err := load(context.Background(), store, id)
		return loadedMsg{id, d, err}
	}
}

func load(ctx context.Context, store *db.Store, id int64) (*data, error) {
	var d data
	var err error
	if d.run, err = store.Run(ctx, id); err != nil {
		return nil, err
	}
	if d.summary, err = store.Summary(ctx, id); err != nil {
		return nil, err
	}
	verdicts, err := store.Refusals(ctx, id, 20)
	if err != nil {
		return nil, err
	}
	d.refusals = verdicts
	if d.run.TraceRemovedAt == 0 {
		if d.left, err = survivors(ctx, store, d.summary); err != nil {
			return nil, err
		}
	}
	sp, err := store.SlowestSpan(ctx, id)
	if err != nil {
		return nil, err
	}
	if sp != nil && sp.DurationMS != nil && *sp.DurationMS > 0 {
		d.slowest = fmt.Sprintf("step %d, %s took %s: %s", sp.Step, who(sp.Kind), plain.Duration(*sp.DurationMS), sp.Name)
		if sp.Step == 0 {
			d.slowest = fmt.Sprintf("before the first step, %s took %s: %s", who(sp.Kind), plain.Duration(*sp.DurationMS), sp.Name)
		}
	}
	return &d, nil
}

// survivors are the processes that the last step of a stopped run left behind.
func survivors(ctx context.Context, store *db.Store, s db.Summary) ([]string, error) {
	if out := observer.Outcome(s.Outcome); out != observer.OutcomeKilled && out != observer.OutcomeCancelled || s.Steps == 0 {
		return nil, nil
	}
	calls, err := store.StepCalls(ctx, s.RunID, s.Steps)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range calls {
		if words := detail.Survivors(c.LeftRunning); words != "" {
			out = append(out, c.Name+" "+c.Target+": "+words)
		}
	}
	return out, nil
}

// who took the time of a span.
func who(kind string) string {
	switch kind {
	case "question":
		return "a person"
	case "retry":
		return "waiting to ask again"
	case "gate":
		return "a check"
	case "call":
		return "a tool"
	}
	return "the model"
}

// Update handles what is not a key.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(loadedMsg); ok && msg.runID == m.runID {
		m.data, m.err = msg.data, msg.err
	}
	return nil
}

// Press handles a key.
func (m *Model) Press(msg tea.KeyPressMsg) (handled bool, cmd tea.Cmd) {
	b, ok := m.deps.Keys.Find(msg.String(), keys.OnSummary)
	if !ok {
		return false, nil
	}
	switch b.Action {
	case keys.Up:
		m.top = max(0, m.top-1)
	case keys.Down:
		m.top++
	case keys.Open:
		id := m.runID
		return true, func() tea.Msg { return OpenSteps{id} }
	default:
		return false, nil
	}
	return true, nil
}

// SetPainter changes the theme.
func (m *Model) SetPainter(p *paint.Painter) {
	m.deps.Painter = p
}

// Resize tells the screen its size.
func (m *Model) Resize(width, height int) { m.width, m.height = width, height }

// View draws the screen.
func (m *Model) View() string {
	p := m.deps.Painter
	if frame.TooSmall(m.width, m.height) {
		return frame.Small(p, m.width, m.height)
	}
	if m.data == nil {
		return frame.Message(p, m.width, m.height, fmt.Sprintf("reading run %d", m.runID), m.err)
	}
	lines := []string{m.header()}
	body := m.body()
	m.top = max(0, min(m.top, len(body)-(m.height-2)))
	body = body[m.top:]
	room := m.height - 2
	if len(body) > room {
		body = body[:room]
		body[room-1] = p.Line(m.width, paint.Plain).Gap(2).Add(paint.Dim, "more below: down").String()
	}
	for len(body) < room {
		body = append(body, p.Line(m.width, paint.Plain).String())
	}
	lines = append(append(lines, body...), m.footer())
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

func (o *page) words(role paint.Role, s string) {
	for _, l := range text.WrapWords(text.Clean(s), max(8, o.width-4)) {
		o.lines = append(o.lines, o.start().Add(role, strings.TrimLeft(l, " ")).String())
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
