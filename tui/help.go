package tui

import (
	"fmt"
	"strings"

	"tillerman/tui/frame"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// helpView lists every key that means something here, and why some mean nothing now. It is made from the key map.
func (m *Model) helpView() string {
	p := m.painter
	var lines []string
	places := []keys.Place{keys.Anywhere}
	switch m.screen {
	case liveScreen:
		places = []keys.Place{keys.OnCard, keys.InReason, keys.OnRule, keys.InRule, keys.InChange, keys.OnChange, keys.OnLive, keys.InRules, keys.InTell, keys.InBudget, keys.Killing, keys.Anywhere}
		const ofCard = 6 // the places about a call that asks
		switch {
		case m.live == nil:
		case m.live.Stuck():
			places = append([]keys.Place{keys.OnStuck, keys.InFinding}, places[ofCard:]...)
		case m.live.Asked():
			places = append([]keys.Place{keys.OnAsk, keys.InAnswer, keys.InReason}, places[ofCard:]...)
		}
	case runsScreen:
		places = []keys.Place{keys.OnRuns, keys.Anywhere}
	case auditScreen:
		places = []keys.Place{keys.OnAudit, keys.Anywhere}
	case summaryScreen:
		places = []keys.Place{keys.OnSummary, keys.Anywhere}
	}
	for _, place := range places {
		lines = append(lines, p.Line(m.width, paint.Plain).Gap(2).Add(paint.Dim, strings.ToUpper(string(place))).String())
		for _, b := range m.opts.Keys.In(place) {
			lines = append(lines, m.helpLines(b)...)
		}
	}
	head := []string{frame.Title(p, m.width).Gap(2).Add(paint.Strong, "keys").String(), p.Line(m.width, paint.Plain).String()}
	room := max(1, m.height-len(head)-1)
	m.helpTop = max(0, min(m.helpTop, len(lines)-room))
	foot := p.Line(m.width, paint.Plain).Gap(2).Add(paint.Soft, "esc closes")
	if over := len(lines) - m.helpTop - room; over > 0 {
		foot.Gap(2).Add(paint.Person, fmt.Sprintf("%d more: pgdn", over))
	}
	lines = append(head, lines[m.helpTop:min(len(lines), m.helpTop+room)]...)
	for len(lines) < m.height-1 {
		lines = append(lines, p.Line(m.width, paint.Plain).String())
	}
	return frame.Exactly(p, append(lines, foot.String()), m.width, m.height)
}

// helpLines are a key and what it does, in as many lines as that takes.
func (m *Model) helpLines(b keys.Binding) []string {
	p := m.painter
	column := min(24, m.width/2)
	l := p.Line(m.width, paint.Plain).Gap(4)
	for _, k := range b.Keys {
		l.On(paint.Strong, paint.Cap, " "+keys.Cap(k)+" ").Gap(1)
	}
	var out []string
	say := func(role paint.Role, words string) {
		for _, part := range text.WrapWords(words, max(8, m.width-column-1)) {
			out = append(out, l.To(column).Add(role, strings.TrimLeft(part, " ")).String())
			l = p.Line(m.width, paint.Plain)
		}
	}
	if why := m.disabled(b); why != "" {
		why = "not now: " + text.Line(why)
		if column+text.Width(why)+2+text.Width(b.Help) < m.width {
			return []string{l.To(column).Add(paint.Person, why).Gap(2).Add(paint.Text, b.Help).String()}
		}
		say(paint.Person, why)
	}
	say(paint.Text, b.Help)
	return out
}

// disabled is why a key does nothing now, "" when it does something.
func (m *Model) disabled(b keys.Binding) string {
	if b.Place == keys.Leaving {
		return m.leaveDisabled(b.Action)
	}
	if m.screen != liveScreen || m.live == nil {
		return ""
	}
	switch {
	case b.Place == keys.OnCard && !m.live.Waiting():
		return "nothing is asked"
	case b.Place == keys.OnCard:
		return m.live.Off(b.Action)
	case b.Place == keys.OnLive && b.Action == keys.Summary:
		if s := m.live.Snapshot(); s == nil || s.Summary == nil {
			return "the run has not ended"
		}
	case b.Place == keys.OnLive:
		return m.live.Disabled(b.Action)
	}
	return ""
}
