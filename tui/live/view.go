package live

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/card"
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
	if m.stuck != nil {
		m.stuck.Repaint()
	}
	m.layout()
}

// Resize tells the screen its size.
func (m *Model) Resize(width, height int) tea.Cmd {
	small := m.tooSmall()
	m.width, m.height = width, height
	m.detailLines = nil
	seen := small && !m.tooSmall() // nothing was until now
	if seen {
		m.rearm()
	}
	m.layout()
	if seen {
		return arm(card.ArmAfter)
	}
	return nil
}

func (m *Model) tooSmall() bool { return frame.TooSmall(m.width, m.height) }

// areas are the heights of the screen's parts.
type areas struct {
	body, panel, gauge int
	banner             []string
	gap                int  // empty lines under the header and over what follows the body: 0 or 1
	apart              int  // empty lines between banner and question: 0 or 1
	compact            bool // the question leaves out what it can
	list, detail       int  // widths; 0 is not drawn
}

// areas divides the screen: header and keys one line each, the gauge where there is room, banner and question what they
// need but never the whole.
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
	if m.snap != nil && (m.over != killing || m.height >= 20) { // in a low window the question needs the room
		most := rest / 2
		if m.panelLines(true) > 0 {
			most = rest / 3
		}
		a.banner = m.banner(max(1, most))
		rest -= len(a.banner)
	}
	a.compact = rest < 10 || m.card != nil && m.card.Request.Act == db.BudgetAct
	if a.gap > 0 && len(a.banner) > 0 && (m.card != nil || m.stuck != nil || m.covers()) {
		a.apart = 1
		rest--
	}
	if want := m.panelLines(a.compact); want > 0 {
		least, most := min(want, m.frameLines(a.compact)+1), rest*2/3
		if m.height < 30 { // the newest steps have to do
			most = max(most, rest-4)
		}
		a.panel = min(want, max(least, most), rest)
		rest -= a.panel
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
	m.fitQuestions(0)                                               // lays out, so that areas knows how much there is
	if a := m.areas(); !m.covers() && !m.covered && !m.tooSmall() { // what is not seen is not read
		m.fitQuestions(max(0, a.panel-m.frameLines(a.compact)))
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

// fitQuestions gives the questions their windows.
func (m *Model) fitQuestions(height int) {
	width := max(4, m.width-4)
	if m.card != nil {
		m.card.Resize(m.deps.Painter, width, height)
	}
	if m.stuck != nil {
		m.stuck.Resize(m.deps.Painter, width, height)
	}
}

// View draws the screen: exactly height lines of width cells.
func (m *Model) View() string {
	if m.tooSmall() {
		return frame.Small(m.deps.Painter, m.width, m.height)
	}
	p := m.deps.Painter
	if m.snap == nil {
		return frame.Message(p, m.width, m.height, "reading run "+fmt.Sprint(m.runID), m.fault())
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
	lines = append(lines, a.banner...)
	if a.apart > 0 {
		lines = append(lines, empty)
	}
	if a.panel > 0 {
		lines = append(lines, m.panel(a)...)
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
	by := ""
	if s.Pause != nil {
		by = s.Pause.By.Who(m.self)
	}
	sign, role, word := frame.StateBy(p, s.State, by)
	if s.State == "waits for you" && s.Held() {
		word += ", paused"
	}
	l := p.Line(m.width, paint.Panel).Gap(2).Add(paint.Accent, "tillerman").Gap(2).Add(paint.Strong, text.Line(s.Run.Goal)).
		Gap(3).Add(paint.Soft, m.home(text.Line(s.Run.Workspace)))
	l.Right(role, sign+" "+word)
	if m.width >= 60 {
		l.Right(paint.Soft, "   step ").Right(paint.Strong, fmt.Sprint(s.Total)).Right(paint.Soft, fmt.Sprintf("/%d", s.Limits.Steps))
	}
	if m.width >= 76 {
		l.Right(paint.Soft, "   "+plain.Duration(m.elapsed()/1000*1000))
	}
	return l.Right(paint.Soft, fmt.Sprintf("   run %d  ", m.runID)).String()
}

func (m *Model) elapsed() int64 {
	s := m.snap
	switch { // the clock stands still on the screen while nothing moves
	case s.Now.Kind == "question", s.Now.Kind == "pause":
		return max(0, s.Now.Since-s.Run.CreatedAt)
	case s.Held() && s.Driven && s.Now.Kind == "":
		return max(0, *s.Pause.ObservedAt-s.Run.CreatedAt)
	}
	return s.Elapsed(m.deps.Now().UnixMilli())
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

// liveText is what a model or a command is giving right now, when the step under way is the selected one. The facts say who
// gives: the event that ends a text comes after the commit that shows what became of it.
func (m *Model) liveText(width int) []string {
	step, kind, tail := m.feed.Live().Tail()
	if kind == "" || step != m.selected {
		return nil
	}
	switch m.snap.Now.Kind {
	case "model":
		if kind == "output" {
			return nil
		}
	case "call", "gate":
		if kind != "output" {
			return nil
		}
	default:
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

func (m *Model) gauge() string {
	s := m.snap
	return gauge.Gauge{
		Used: s.Spend.Billed, Limit: s.Limits.Tokens, By: s.Limits.TokensBy, Estimated: s.Spend.Estimated,
		CostMicros: s.Spend.CostMicros, CostLimit: s.Limits.MoneyMicros, CostBy: s.Limits.MoneyBy, Unpriced: s.Spend.Unpriced > 0,
		Calls: s.Spend.Priced + s.Spend.Unpriced, Priced: s.Spend.Priced, RunningMS: m.elapsed(),
	}.Render(m.deps.Painter, m.width)
}

// footer is a field for a message, what the last key led to, or what the keys do.
func (m *Model) footer() string {
	l := m.deps.Painter.Line(m.width, paint.Plain).Gap(2)
	switch {
	case m.over == telling: // what is written stays in sight, whatever there is to say
		return m.tellLine()
	case m.notice != "":
		return l.Add(paint.Person, text.Line(m.notice)).String()
	case m.over != nothing: // it shows its own
		return l.String()
	case m.fault() != nil:
		return l.Add(paint.Bad, text.Line(m.fault().Error())).String()
	case m.Typing(): // what is open has the keys
		return l.String()
	}
	return frame.Caps(l, m.caps(), m.width)
}

// caps are the keys that do something now. In a narrow window the ones that are needed most come first.
func (m *Model) caps() []keys.Binding {
	var out []keys.Binding
	add := func(a keys.Action, place keys.Place, when bool) {
		b, ok := m.deps.Keys.Get(a, place)
		if !ok || !when || b.Name == "" || place == keys.OnLive && m.Disabled(a) != "" {
			return
		}
		if a == keys.Pause && m.snap.Pause != nil {
			b.Name = "go on"
		}
		out = append(out, b)
	}
	narrow := m.width < 60
	add(keys.Cancel, keys.OnLive, true)
	add(keys.Kill, keys.OnLive, m.snap.Cancel != nil)
	add(keys.Pause, keys.OnLive, true)
	add(keys.Help, keys.Anywhere, narrow)
	add(keys.Tell, keys.OnLive, true)
	add(keys.Budget, keys.OnLive, true)
	add(keys.Rules, keys.OnLive, len(m.snap.Rules) > 0)
	add(keys.Summary, keys.OnLive, m.snap.Summary != nil)
	add(keys.Detail, keys.OnLive, m.width < twoPanes)
	add(keys.Follow, keys.OnLive, !m.follow)
	add(keys.Help, keys.Anywhere, !narrow)
	add(keys.Runs, keys.Anywhere, m.width >= twoPanes)
	add(keys.Quit, keys.Anywhere, true)
	add(keys.Runs, keys.Anywhere, m.width < twoPanes)
	return out
}
