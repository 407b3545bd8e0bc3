package plain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// Summary prints the row of a finished run.
func (p *Printer) Summary(s db.Summary) error {
	row, _ := observer.Outcome(s.Outcome).Row()
	p.line("run %d: %s (%s)", s.RunID, row.Words, s.Outcome)
	if s.StopReason != "" {
		p.field("why", "%s", s.StopReason)
	}
	if s.Late != "" {
		p.field("note", "%s", s.Late)
	}
	switch {
	case s.GateChanged:
		p.field("checks", "passed, but a file that decides them changed since the start")
	case s.Verified == nil:
		p.field("checks", "none were set: the result is unverified")
	case *s.Verified:
		p.field("checks", "passed")
	default:
		p.field("checks", "not passed, or not run")
	}
	p.field("steps", "%d", s.Steps)
	p.field("tokens", "%s", Tokens(s))
	p.field("cost", "%s", Cost(s.CostMicros, p.ASCII))
	p.field("time", "%s = %s", Duration(s.DurationMS), Split(s.Time))
	if len(s.Files) > 0 {
		p.field("files", "%s", strings.Join(s.Files, ", "))
	}
	if s.Refusals > 0 {
		p.field("refused", "%d by policy", s.Refusals)
	}
	for _, a := range s.Approvals {
		p.field("decided", "%s %d%s by %s", a.Decision, a.Count, p.pick("×", "x"), a.By)
	}
	if s.CancelMS != nil {
		name := "cancel"
		if s.Outcome == string(observer.OutcomeKilled) {
			name = "kill"
		}
		p.field(name, "by %s, stopped after %s", s.CancelledBy, Duration(*s.CancelMS))
	}
	p.field("model", "asked %s, answered by %s", strings.Join(s.ModelsAsked, ", "), orNone(strings.Join(s.ModelsServed, ", ")))
	return p.err
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (p *Printer) field(name, format string, args ...any) {
	p.line("  %-9s %s", name, fmt.Sprintf(format, args...))
}

// Tokens is what a run consumed, by kind; what was not reported is called so.
func Tokens(s db.Summary) string {
	if s.Input == nil && s.Unmeasured > 0 {
		return "not measured"
	}
	parts := []string{}
	for _, kind := range []struct {
		name string
		n    *int64
	}{{"input", s.Input}, {"cache read", s.CacheRead}, {"cache write", s.CacheWrite}, {"output", s.Output}, {"of it reasoning", s.Reasoning}} {
		if kind.n != nil {
			parts = append(parts, kind.name+" "+Count(*kind.n))
		}
	}
	out := Count(s.Tokens)
	if len(parts) > 0 {
		out += " (" + strings.Join(parts, ", ") + ")"
	}
	if s.TokensBilled != s.Tokens {
		out += ", " + Count(s.TokensBilled) + " with every call counted"
	}
	if s.Unmeasured > 0 {
		out += fmt.Sprintf(", %d calls not measured", s.Unmeasured)
	}
	return out
}

// Cost is what calls came to in words, from millionths of the currency's unit: always an estimate, and marked so. ascii
// is for terminals and pipes that take nothing else. nil is not known.
func Cost(micros *int64, ascii bool) string {
	switch {
	case micros == nil:
		return "unknown"
	case ascii:
		return "~ " + Amount(*micros)
	}
	return "≈ " + Amount(*micros)
}

// Amount is an amount in millionths of the currency's unit: cents, and more digits below one cent.
func Amount(micros int64) string {
	if micros > 0 && micros < 10_000 {
		return fmt.Sprintf("0.%04d", (micros+50)/100)
	}
	cents := (micros + 5_000) / 10_000
	return fmt.Sprintf("%d.%02d", cents/100, cents%100)
}

// Split is where the time went, largest words first in a fixed order; parts of no time are left out.
func Split(t db.Split) string {
	var parts []string
	for _, part := range []struct {
		name string
		ms   int64
	}{{"model", t.Model}, {"tools", t.Tool}, {"people", t.Person}, {"retries", t.Retry}, {"checks", t.Gate}, {"away", t.Away}, {"engine", t.Engine}} {
		if part.ms > 0 {
			parts = append(parts, part.name+" "+Duration(part.ms))
		}
	}
	if len(parts) == 0 {
		return "nothing worth a figure"
	}
	return strings.Join(parts, ", ")
}

// Duration is a time in milliseconds for people.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// Count is a number with its thousands set apart.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Bytes is a size for people.
func Bytes(n int64) string {
	const step = 1024
	if n < step {
		return fmt.Sprintf("%d bytes", n)
	}
	size, units := float64(n)/step, []string{"KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && size >= step {
		size, units = size/step, units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}
