package audit

import (
	"fmt"
	"strings"
	"time"

	"tillerman/db/audit"
	"tillerman/tui/frame"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// detailLines is how many lines below the list tell of the selected row, where there is room for them; who let it happen
// may take half of the window.
const detailLines = 6

// detail says how many lines the selected row gets in this window.
func (m *Model) detail() int {
	if m.height < 16 {
		return 0
	}
	lines := 1
	for _, w := range m.account {
		lines += len(m.wrapped(w))
	}
	return max(detailLines, min(lines, m.height/2))
}

// indent is where the detail's text begins.
const indent = 12

func (m *Model) wrapped(s string) []string {
	return text.WrapWords(text.Line(s), max(8, m.width-indent-2))
}

// room is how many rows the list shows.
func (m *Model) room() int { return max(1, m.height-5-m.detail()) }

// View draws the screen.
func (m *Model) View() string {
	p := m.deps.Painter
	if frame.TooSmall(m.width, m.height) {
		return frame.Small(p, m.width, m.height)
	}
	lines := append([]string{m.header()}, m.state()...)
	for i := range m.room() {
		switch at := m.top + i; {
		case at < len(m.rows):
			lines = append(lines, m.row(m.rows[at], at == m.selected))
		case i == 0:
			lines = append(lines, m.nothing())
		default:
			lines = append(lines, p.Line(m.width, paint.Plain).String())
		}
	}
	if n := m.detail(); n > 0 {
		lines = append(lines, m.about(n)...)
	}
	return frame.Exactly(p, append(lines, m.footer()), m.width, m.height)
}

func (m *Model) header() string {
	p := m.deps.Painter
	of := "all runs"
	if m.run != 0 {
		of = fmt.Sprintf("run %d", m.run)
	}
	l := frame.Title(p, m.width).Gap(2).Add(paint.Strong, "audit trail").Gap(3).Add(paint.Soft, of)
	switch {
	case m.unproven != nil:
		l.Right(paint.Person, p.Pick("◐", "?")+" cannot be verified")
	case m.report == nil:
		l.Right(paint.Soft, "verifying"+p.Pick("…", "..."))
	case m.report.Verdict == audit.Intact:
		l.Right(paint.Good, p.Pick("✓", "+")+" intact")
	case m.report.Verdict == audit.Unverifiable:
		l.Right(paint.Person, p.Pick("◐", "?")+" cannot be verified")
	default:
		l.Right(paint.Bad, p.Pick("✗", "x")+" "+string(m.report.Verdict))
	}
	return l.Right(paint.Soft, "  ").String()
}

// state says what verifying came to, and how much that is worth.
func (m *Model) state() []string {
	p := m.deps.Painter
	first, second := p.Line(m.width, paint.Plain).Gap(2), p.Line(m.width, paint.Plain).Gap(2)
	switch {
	case m.unproven != nil:
		first.Add(paint.Person, m.cut(m.unproven.Error()))
	case m.report == nil:
		first.Add(paint.Soft, fmt.Sprintf("looked at %s rows so far", plain.Count(m.checked)))
	default:
		r := m.report
		role := paint.Text
		if r.Verdict != audit.Intact {
			role = paint.Bad
		}
		first.Add(role, m.cut(r.Msg))
		worth := []string{"no key"}
		if r.KeyedFrom > 0 {
			worth = []string{fmt.Sprintf("keyed from row %s on", plain.Count(r.KeyedFrom))}
		}
		if r.Anchored > 0 {
			worth = append(worth, fmt.Sprintf("anchored up to row %s of %s", plain.Count(r.Anchored), plain.Count(r.Rows)))
		} else {
			worth = append(worth, "no anchor")
		}
		second.Add(paint.Soft, m.cut(strings.Join(worth, ", ")+"; what that cannot notice: tillerman audit verify"))
	}
	return []string{first.String(), second.String(), p.Line(m.width, paint.Plain).String()}
}

// cut makes outside text one line of the window.
func (m *Model) cut(s string) string {
	return text.Truncate(text.Line(s), max(1, m.width-4), m.deps.Painter.Pick("…", "~"))
}

func (m *Model) nothing() string {
	l := m.deps.Painter.Line(m.width, paint.Plain).Gap(4)
	switch {
	case m.err != nil:
		return l.Add(paint.Bad, m.cut(m.err.Error())).String()
	case m.asked > 0 && m.rows == nil && m.report == nil:
		return l.Add(paint.Italic, "reading the store").String()
	}
	return l.Add(paint.Italic, "no rows").String()
}

// role is the colour of an action by what it means; its word stands beside it.
func role(e audit.Entry) paint.Role {
	switch {
	case e.Action == audit.Denial, e.Decision == "deny", e.Action == audit.Kill:
		return paint.Bad
	case e.Action == audit.Request, e.Action == audit.Decision, e.Action == audit.Wait, e.Action == audit.Cancel, e.Action == audit.Recovery:
		return paint.Person
	case e.Action == audit.Gate:
		return paint.Good
	case audit.Acts(e.Action):
		return paint.Tool
	}
	return paint.Soft
}

func (m *Model) row(e audit.Entry, selected bool) string {
	p := m.deps.Painter
	ground, mark := paint.Plain, "  "
	if selected {
		ground, mark = paint.Selected, p.Pick("▌ ", "> ")
	}
	l := p.Line(m.width, ground).Add(paint.Accent, mark).Add(paint.Soft, fmt.Sprintf("%6d  ", e.Seq))
	form := "15:04:05"
	if m.width >= 100 {
		form = "2006-01-02 15:04:05"
	}
	if m.width >= 60 {
		l.Add(paint.Soft, time.UnixMilli(e.At).Format(form)+"  ")
	}
	if wide := 17; m.width >= 70 {
		if m.run != 0 {
			wide = 10
		}
		l.Add(paint.Soft, fmt.Sprintf("%-*s", wide, where(e, m.run)))
	}
	l.Add(role(e), fmt.Sprintf("%-9s", text.Line(e.Action))).Gap(1).Add(paint.Text, text.Line(what(e)))
	if m.width >= 50 {
		l.Right(paint.Soft, "  "+text.Truncate(text.Line(e.User), 16, p.Pick("…", "~"))+"  ")
	}
	return l.String()
}

// where is the place in the run that a row is about.
func where(e audit.Entry, run int64) string {
	var parts []string
	if run == 0 && e.RunID != 0 {
		parts = append(parts, fmt.Sprintf("run %d", e.RunID))
	}
	if e.Step != 0 {
		parts = append(parts, fmt.Sprintf("step %d", e.Step))
	}
	return strings.Join(parts, " ")
}

// what is the row's matter in a few words.
func what(e audit.Entry) string {
	var parts []string
	if e.Act != "" && e.Act != e.Action {
		parts = append(parts, e.Act)
	}
	for _, s := range []string{e.Verdict(), e.Target, e.Note} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 && e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	return strings.Join(parts, "  ")
}

// about tells of the selected row: its fields, or who let it happen once that was asked.
func (m *Model) about(n int) []string {
	p := m.deps.Painter
	lines := []string{p.Line(m.width, paint.Panel).String()}
	if m.selected < len(m.rows) {
		for _, f := range m.fields(m.rows[m.selected]) {
			l := p.Line(m.width, paint.Plain).Gap(2).Add(paint.Dim, f[0]).To(indent).Add(paint.Text, text.Truncate(text.Line(f[1]), max(1, m.width-indent-2), p.Pick("…", "~")))
			lines = append(lines, l.String())
		}
	}
	for len(lines) < n {
		lines = append(lines, p.Line(m.width, paint.Plain).String())
	}
	return lines[:n]
}

func (m *Model) fields(e audit.Entry) [][2]string {
	if m.account != nil {
		out := [][2]string{}
		for i, w := range m.account {
			for _, part := range m.wrapped(w) {
				name := ""
				if i == 0 && len(out) == 0 {
					name = "let by"
				}
				out = append(out, [2]string{name, part})
			}
		}
		return out
	}
	by := e.User + " through " + e.Surface
	if e.Terminal != "" {
		by += " on " + e.Terminal
	}
	rule := e.Layer
	if e.Rule != "" {
		rule = fmt.Sprintf("%s, layer %s", e.Rule, e.Layer)
	}
	return [][2]string{
		{"by", fmt.Sprintf("%s, %s, process %d; tillerman %s", by, e.Host, e.PID, e.Version)},
		{"what", what(e)},
		{"rule", strings.TrimSpace(rule + "   policy " + e.PolicyDigest)},
		{"model", e.Model},
		{"reason", e.Reason},
	}
}

func (m *Model) footer() string {
	var caps []keys.Binding
	for _, a := range []keys.Action{keys.Open, keys.OneRun, keys.Verify} {
		if b, ok := m.deps.Keys.Get(a, keys.OnAudit); ok {
			if a == keys.OneRun && m.run != 0 {
				b.Name = "all runs"
			}
			caps = append(caps, b)
		}
	}
	for _, a := range []keys.Action{keys.Back, keys.Help, keys.Quit} {
		if b, ok := m.deps.Keys.Get(a, keys.Anywhere); ok {
			caps = append(caps, b)
		}
	}
	return frame.Caps(m.deps.Painter.Line(m.width, paint.Plain).Gap(2), caps, m.width)
}
