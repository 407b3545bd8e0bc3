package live

import (
	"fmt"
	"strings"
	"time"

	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/feed"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// readFor is how long a message that was read stays on the screen.
const readFor = 30 * time.Second

// banner is what has to be said about how the run stands, the most important first, laid out in lines of the screen's
// width and at most most of them.
func (m *Model) banner(most int) []string {
	p := m.deps.Painter
	width := max(4, m.width-3)
	var out []string
	for _, words := range m.says() {
		for _, part := range text.WrapWords(text.Line(words), width) {
			role := paint.Text
			if len(out) == 0 {
				role = paint.Person
			}
			out = append(out, p.Line(m.width, paint.Panel).Add(paint.Person, p.Pick("▌", "|")).Gap(1).Add(role, strings.TrimLeft(part, " ")).String())
		}
	}
	return out[:min(len(out), max(0, most))]
}

// says are the banner's sentences.
func (m *Model) says() []string {
	s := m.snap
	var out []string
	add := func(words string) {
		if words != "" {
			out = append(out, words)
		}
	}
	if s.Summary == nil {
		if m.deps.Leaves != nil && m.deps.Leaves() {
			add("Leaving: a process of its own takes the run over at the next safe point (" + m.doing() + "). You may close this terminal.")
		}
		add(m.nobody())
		if s.Unseen {
			add(fmt.Sprintf("Its driver was process %d on %s, which cannot be seen from here. If you know that it is gone: tillerman resume %d --take-over",
				s.Driver.PID, s.Driver.Host, m.runID))
		}
		add(m.stopping())
		add(m.pause())
		add(m.countdown())
		add(m.ceilings())
	}
	add(m.message())
	return out
}

// nobody says why nobody drives the run, and how it goes on.
func (m *Model) nobody() string {
	s := m.snap
	if s.Driven {
		return ""
	}
	goOn := fmt.Sprintf("tillerman resume %d", m.runID)
	end := ""
	if m.deps.Settle != nil {
		end = ", or c ends it here"
	}
	if s.Run.Status == db.Running {
		return "Interrupted: nobody drives this run. Go on with " + goOn + end
	}
	switch observer.Outcome(s.Run.Outcome) {
	case observer.OutcomeAwaitingApproval:
		if len(s.Open) > 0 {
			return "Nobody drives this run: answer, then go on with " + goOn + end
		}
		return "It is answered: go on with " + goOn + end
	case observer.OutcomeAwaitingBudget:
		if s.Budget != nil {
			return "A new budget is set: go on with " + goOn + end
		}
		return "A budget is used up: b raises it, then go on with " + goOn + end
	case observer.OutcomeNeedsOperator:
		if s.Stuck != nil {
			return ""
		}
		return "What you found is recorded: go on with " + goOn + end
	case observer.OutcomePausedByOperator:
		if s.Pause != nil {
			return fmt.Sprintf("Paused by %s: p lifts the pause, then go on with %s%s", s.Pause.By.Who(m.self), goOn, end)
		}
		return "The pause is lifted: go on with " + goOn + end
	}
	return "Nobody drives this run: go on with " + goOn + end
}

// stopping is a cancel or kill that was asked for: since when, what it waits for, what it cannot reach.
func (m *Model) stopping() string {
	s := m.snap
	c := s.Cancel
	if c == nil {
		return ""
	}
	by := ""
	if who := c.By.Who(m.self); who != "you" {
		by = " by " + who
	}
	words := fmt.Sprintf("%s requested %s ago%s, stops after step %d (%s)", c.Kind, m.age(c.RequestedAt), by, max(1, s.Total), m.doing())
	if c.Kind == "kill" {
		words = fmt.Sprintf("kill requested %s ago%s: ends the model call and every process now (%s)", m.age(c.RequestedAt), by, m.doing())
	}
	if s.Now.Kind == "call" && s.Now.Reach == string(tool.ReachNone) {
		words += "; cannot reach: " + text.Line(s.Now.Name)
	}
	if s.Unseen {
		words += fmt.Sprintf("; if its driver is gone: tillerman %s %d --take-over", c.Kind, m.runID)
	}
	return words
}

// pause is an operator's pause, in force or asked for.
func (m *Model) pause() string {
	s := m.snap
	switch {
	case s.Pause == nil || !s.Driven || s.Cancel != nil:
		return ""
	case s.Held():
		return fmt.Sprintf("Paused by %s since %s: p lets it go on", s.Pause.By.Who(m.self), clock(*s.Pause.ObservedAt))
	}
	return fmt.Sprintf("pause requested %s ago by %s, takes hold at the next boundary (%s)", m.age(s.Pause.RequestedAt), s.Pause.By.Who(m.self), m.doing())
}

// countdown is a wait between two model calls.
func (m *Model) countdown() string {
	if m.snap.Now.Kind != "retry" || !m.snap.Driven {
		return ""
	}
	return strings.ToUpper(m.doing()[:1]) + m.doing()[1:]
}

// ceilings is a change of budgets that is not in force yet.
func (m *Model) ceilings() string {
	c := m.snap.Budget
	if c == nil {
		return ""
	}
	b, err := db.ParseBudget(c.Body)
	if err != nil {
		return ""
	}
	var parts []string
	put := func(name string, none bool, value string) {
		if none {
			value = "no ceiling"
		}
		parts = append(parts, name+" "+value)
	}
	if b.MaxSteps != nil {
		put("steps", false, fmt.Sprint(*b.MaxSteps))
	}
	if b.TimeMS != nil {
		put("time", *b.TimeMS == 0, plain.Duration(*b.TimeMS))
	}
	if b.Tokens != nil {
		put("tokens", *b.Tokens == 0, plain.Count(*b.Tokens))
	}
	if b.MoneyMicros != nil {
		put("money", *b.MoneyMicros == 0, plain.Amount(*b.MoneyMicros))
	}
	return fmt.Sprintf("new ceilings by %s, in force at the next boundary: %s", c.By.Who(m.self), strings.Join(parts, ", "))
}

// message is the newest message to the agent: queued, or read a moment ago.
func (m *Model) message() string {
	all := m.snap.Told
	if len(all) == 0 {
		return ""
	}
	queued := 0
	for _, t := range all {
		if t.ReadAt == 0 {
			queued++
		}
	}
	t := all[len(all)-1]
	words, _, _ := strings.Cut(t.Text, "\n")
	switch {
	case queued > 1:
		return fmt.Sprintf("%d messages queued, the newest by %s: %s", queued, t.By, words)
	case queued == 1 && t.ReadAt == 0 && m.snap.Summary != nil:
		return fmt.Sprintf("message by %s, never read: %s", t.By, words)
	case queued == 1 && t.ReadAt == 0:
		return fmt.Sprintf("message by %s, queued: %s", t.By, words)
	case t.ReadAt != 0 && m.deps.Now().UnixMilli()-t.ReadAt < readFor.Milliseconds():
		return fmt.Sprintf("message by %s, read at %s: %s", t.By, t.Point, words)
	}
	return ""
}

// doing is what the run is at, and for how long.
func (m *Model) doing() string {
	s := m.snap
	since := plain.Duration(max(0, m.deps.Now().UnixMilli()-s.Now.Since) / 1000 * 1000)
	switch s.Now.Kind {
	case "model":
		return "waiting for the model, " + since
	case "call":
		return "waiting for " + m.call() + ", " + since
	case "question":
		return "waiting for you"
	case "retry":
		return m.asksAgain()
	case "gate":
		return "checking: " + text.Line(s.Now.Name) + ", " + since
	case "pause":
		return "it is paused"
	}
	return feed.Idle(s)
}

// asksAgain is a wait between two model calls with its countdown.
func (m *Model) asksAgain() string {
	r := m.snap.Now.Retry
	if r == nil {
		return "waiting to ask again: " + text.Line(m.snap.Now.Name)
	}
	left := (r.Until - m.deps.Now().UnixMilli() + 999) / 1000
	when := "in " + plain.Duration(left*1000)
	switch {
	case left <= 0:
		when = "now"
	case left < 100:
		when = fmt.Sprintf("in %d s", left)
	}
	words := fmt.Sprintf("asks again %s (%s, attempt %d of %d", when, text.Line(r.Kind), r.Next, r.Of)
	if r.Hinted {
		words += ", the server asked for it"
	}
	return words + ")"
}

// call names the call under way.
func (m *Model) call() string {
	if m.snap.Now.Target == "" {
		return text.Line(m.snap.Now.Name)
	}
	return `"` + text.Truncate(text.Line(m.snap.Now.Target), 40, m.deps.Painter.Pick("…", "...")) + `"`
}

// age is how long ago a wall-clock time was.
func (m *Model) age(atMS int64) string {
	return plain.Duration(max(0, m.deps.Now().UnixMilli()-atMS))
}

func clock(atMS int64) string { return time.UnixMilli(atMS).Format("15:04:05") }
