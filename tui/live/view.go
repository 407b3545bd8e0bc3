package live

import (
	"fmt"
	"strings"
	"time"

	"tillerman/tui/card"
	"tillerman/tui/feed"
	"tillerman/tui/frame"
	"tillerman/tui/gauge"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/steps"
	"tillerman/tui/text"
)

// twoPanes is the width from which steps and detail stand side by side.
const twoPanes = 96

// SetPainter changes the theme.
func (m *Model) SetPainter(p *paint.Painter) {
	m.deps.Painter = p
	m.detailLines = nil
	m.list = steps.List{}
	if m.card != nil {
		m.card.Repaint()
	}
	m.layout()
}

// Resize tells the screen its size.
func (m *Model) Resize(width, height int) {
	m.width, m.height = width, height
	m.detailLines = nil
	m.layout()
}

func (m *Model) tooSmall() bool { return frame.TooSmall(m.width, m.height) }

// areas are the heights of the screen's parts.
type areas struct {
	body, card, gauge int
	gap               int  // empty lines under the header and over what follows the body: 0 or 1
	compact           bool // the question leaves out what it can
	list, detail      int  // widths; 0 is not drawn
}

// areas divides the screen: header and keys one line each, the gauge where there is room, the question what it needs but
// never the whole.
func (m *Model) areas() areas {
	a := areas{}
	rest := m.height - 2
	if m.height >= 10 {
		a.gauge = 1
		rest--
	}
	if m.height >= 20 {
		a.gap = 1
		rest -= 2
	}
	if m.card != nil {
		a.compact = rest < 10
		around := card.Frame(a.compact)
		most := max(around+1, rest*2/3)
		a.card = min(around+max(1, m.card.Lines()), most, rest)
		rest -= a.card
	}
	a.body = max(0, rest)
	switch {
	case m.width >= twoPanes:
		a.list = m.width / 2
		a.detail = m.width - a.list - 3
	case m.onlyDetail:
		a.detail = m.width
	default:
		a.list = m.width
	}
	return a
}

// layout fits the window of rows, the detail and the question to the screen.
func (m *Model) layout() {
	if m.width <= 0 || m.height <= 0 {
		return
	}
	if m.card != nil {
		m.card.Resize(m.deps.Painter, max(4, m.width-4), 0) // lays out, so that areas knows how much there is
		a := m.areas()
		m.card.Resize(m.deps.Painter, max(4, m.width-4), max(0, a.card-card.Frame(a.compact)))
	}
	rows := max(1, m.areas().body-1)
	if m.selected < m.top || m.top == 0 {
		m.top = m.selected
	}
	if m.selected >= m.top+rows {
		m.top = m.selected - rows + 1
	}
	m.top = max(1, min(m.top, max(1, m.total()-rows+1)))
	first := m.top
	if m.follow {
		first = 0
	}
	m.feed.Window(first, rows)
}

// View draws the screen: exactly height lines of width cells.
func (m *Model) View() string {
	if m.tooSmall() {
		return frame.Small(m.deps.Painter, m.width, m.height)
	}
	p := m.deps.Painter
	if m.snap == nil {
		return frame.Message(p, m.width, m.height, "reading run "+fmt.Sprint(m.runID), m.err)
	}
	a := m.areas()
	lines := []string{m.header()}
	empty := p.Line(m.width, paint.Plain).String()
	if a.gap > 0 {
		lines = append(lines, empty)
	}
	lines = append(lines, m.body(a)...)
	if a.gap > 0 {
		lines = append(lines, empty)
	}
	if m.card != nil && a.card > 0 {
		lines = append(lines, m.drawCard(a)...)
	}
	if a.gauge > 0 {
		lines = append(lines, m.gauge())
	}
	lines = append(lines, m.footer())
	m.list.Frame()
	return frame.Exactly(p, lines, m.width, m.height)
}

// header is the run in a line.
func (m *Model) header() string {
	s, p := m.snap, m.deps.Painter
	sign, role, word := frame.State(p, s.State)
	l := p.Line(m.width, paint.Panel).Gap(2).Add(paint.Accent, "tillerman").Gap(2).Add(paint.Strong, text.Line(s.Run.Goal)).
		Gap(3).Add(paint.Soft, m.home(text.Line(s.Run.Workspace)))
	l.Right(role, sign+" "+word)
	if m.width >= 60 {
		l.Right(paint.Soft, "   step ").Right(paint.Strong, fmt.Sprint(s.Total)).Right(paint.Soft, fmt.Sprintf("/%d", s.MaxSteps))
	}
	if m.width >= 76 {
		l.Right(paint.Soft, "   "+plain.Duration(m.elapsed()/1000*1000))
	}
	return l.Right(paint.Soft, fmt.Sprintf("   run %d  ", m.runID)).String()
}

func (m *Model) elapsed() int64 {
	if m.snap.Now.Kind == "question" { // the clock stands still on the screen while nothing moves
		return max(0, m.snap.Now.Since-m.snap.Run.CreatedAt)
	}
	return m.snap.Elapsed(m.deps.Now().UnixMilli())
}

func (m *Model) home(path string) string {
	if m.deps.Home != "" && (path == m.deps.Home || strings.HasPrefix(path, m.deps.Home+"/")) {
		return "~" + strings.TrimPrefix(path, m.deps.Home)
	}
	return path
}

// body is the steps and the selected one's detail.
func (m *Model) body(a areas) []string {
	var left, right []string
	if a.list > 0 {
		left = m.steps(a.list, a.body)
	}
	if a.detail > 0 {
		right = m.drawDetail(a.detail, a.body)
	}
	switch {
	case a.list == 0:
		return right
	case a.detail == 0:
		return left
	}
	rule := m.deps.Painter.Line(3, paint.Plain).Gap(1).Add(paint.Faint, m.deps.Painter.Pick("│", "|")).String()
	out := make([]string, a.body)
	for i := range out {
		out[i] = left[i] + rule + right[i]
	}
	return out
}

// steps is the list: a heading, then the rows that are in sight.
func (m *Model) steps(width, height int) []string {
	p, s := m.deps.Painter, m.snap
	head := p.Line(width, paint.Plain).Gap(2).Add(paint.Dim, "STEPS")
	if !m.follow {
		behind := s.Total - m.selected
		head.Gap(2).Add(paint.Person, fmt.Sprintf("not following, behind by %d: G follows", behind))
	}
	out := []string{head.String()}
	for i := 0; i < height-1; i++ {
		step := m.top + i
		at := step - s.First
		if at < 0 || at >= len(s.Rows) {
			out = append(out, p.Line(width, paint.Plain).String())
			continue
		}
		out = append(out, m.list.Row(p, s.Rows[at], s.Now, width, step == m.selected))
	}
	if s.Total == 0 && height > 2 {
		out[2] = p.Line(width, paint.Plain).Gap(2).Add(paint.Italic, m.doing()).String()
	}
	return out[:min(len(out), height)]
}

// drawDetail is the selected step whole, scrolled, or the text that is coming in.
func (m *Model) drawDetail(width, height int) []string {
	p := m.deps.Painter
	if m.detailLines == nil || m.detailWidth != width {
		m.detailLines, m.detailWidth = nil, width
		if m.detailKnown {
			m.detailLines = m.detail.Render(p, width)
		}
	}
	lines := m.detailLines
	if live := m.liveText(width); live != nil {
		lines = append(append([]string(nil), lines...), live...)
		m.detailTop = max(0, len(lines)-height)
	}
	m.detailTop = max(0, min(m.detailTop, len(lines)-height))
	out := append([]string(nil), lines[min(m.detailTop, len(lines)):]...)
	if len(out) > height {
		out = out[:height]
		if height > 1 {
			out[height-1] = p.Line(width, paint.Plain).Add(paint.Dim, fmt.Sprintf("%s %d more lines: pgdn", p.Pick("▼", "v"), len(lines)-m.detailTop-height+1)).String()
		}
	}
	for len(out) < height {
		out = append(out, p.Line(width, paint.Plain).String())
	}
	return out
}

// liveText is what a model or a command is giving right now, when the step under way is the selected one.
func (m *Model) liveText(width int) []string {
	step, kind, tail := m.feed.Live().Tail()
	if kind == "" || step != m.selected || m.snap.Now.Kind == "" {
		return nil
	}
	p := m.deps.Painter
	role := paint.Italic
	if kind == "output" {
		role = paint.Soft
	}
	out := []string{p.Line(width, paint.Plain).String(), p.Line(width, paint.Plain).Add(paint.Dim, strings.ToUpper(kind)+", as it comes").String()}
	for _, l := range strings.Split(strings.TrimRight(tail, "\n"), "\n") {
		for _, part := range text.Wrap(text.Line(text.Expand(l, 8, false)), max(8, width)) {
			out = append(out, p.Line(width, paint.Plain).Add(role, part).String())
		}
	}
	return out
}

func (m *Model) drawCard(a areas) []string {
	return m.card.Render(card.View{
		Painter: m.deps.Painter, Keys: m.deps.Keys, Place: m.home(m.snap.Run.Workspace), Nth: 1, Of: len(m.snap.Open),
		Waits: "since " + time.UnixMilli(m.card.Request.AskedAt).Format("15:04:05"), Armed: m.card.Armed(m.deps.Pressed()), Compact: a.compact,
	}, m.width)
}

func (m *Model) gauge() string {
	s := m.snap
	return gauge.Gauge{
		Used: s.Spend.Billed, Limit: s.TokenLimit, Estimated: s.Spend.Estimated, CostMicros: s.Spend.CostMicros, Unpriced: s.Spend.Unpriced > 0,
		Calls: s.Spend.Priced + s.Spend.Unpriced, Priced: s.Spend.Priced, RunningMS: m.elapsed(),
	}.Render(m.deps.Painter, m.width)
}

// footer says what the run waits for, or what the keys do.
func (m *Model) footer() string {
	s, p := m.snap, m.deps.Painter
	l := p.Line(m.width, paint.Plain).Gap(2)
	switch {
	case m.err != nil:
		return l.Add(paint.Bad, text.Line(m.err.Error())).String()
	case m.notice != "":
		return l.Add(paint.Person, text.Line(m.notice)).String()
	case s.Cancel != nil:
		ago := plain.Duration(max(0, m.deps.Now().UnixMilli()-s.Cancel.RequestedAt))
		return l.Add(paint.Person, fmt.Sprintf("cancel requested %s ago, stops after step %d", ago, s.Total)).Add(paint.Soft, " ("+m.doing()+")").String()
	}
	return frame.Caps(l, m.caps(), m.width)
}

// doing is what the run is at, and for how long.
func (m *Model) doing() string {
	s := m.snap
	since := plain.Duration(max(0, m.deps.Now().UnixMilli()-s.Now.Since) / 1000 * 1000)
	switch s.Now.Kind {
	case "model":
		return "waiting for the model, " + since
	case "call":
		return "waiting for " + text.Line(s.Now.Name) + ", " + since
	case "question":
		return "waiting for you"
	case "retry":
		return "waiting to ask again: " + text.Line(s.Now.Name)
	case "gate":
		return "checking: " + text.Line(s.Now.Name) + ", " + since
	}
	return feed.Idle(s)
}

// caps are the keys that do something now.
func (m *Model) caps() []keys.Binding {
	var out []keys.Binding
	add := func(a keys.Action, place keys.Place, when bool) {
		if b, ok := m.deps.Keys.Get(a, place); ok && when && b.Name != "" {
			out = append(out, b)
		}
	}
	add(keys.Cancel, keys.OnLive, m.Cancellable() == "")
	add(keys.Summary, keys.OnLive, m.snap.Summary != nil)
	add(keys.Detail, keys.OnLive, m.width < twoPanes)
	add(keys.Follow, keys.OnLive, !m.follow)
	add(keys.Runs, keys.Anywhere, true)
	add(keys.Help, keys.Anywhere, true)
	add(keys.Quit, keys.Anywhere, true)
	return out
}
