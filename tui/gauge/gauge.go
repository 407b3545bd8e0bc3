// Package gauge draws what a run has consumed: used of its ceiling, money, rate, time to the ceiling.
package gauge

import (
	"fmt"
	"strings"

	"tillerman/tui/paint"
	"tillerman/tui/plain"
)

// Gauge is what there is to draw. Token figures count every call.
type Gauge struct {
	Used, Limit int64 // tokens; Limit 0 is no ceiling
	Estimated   bool  // some of it was not measured
	CostMicros  int64
	Unpriced    bool  // a call has no price: the cost is a floor or unknown
	Calls       int   // that were answered
	Priced      int   // of them, with a price
	RunningMS   int64 // for the rate; 0 draws none
}

// eighths are the partial cells of a bar.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// Render draws the gauge as one line of width cells.
func (g Gauge) Render(p *paint.Painter, width int) string {
	l := p.Line(width, paint.Plain).Gap(2).Add(paint.Dim, "spend ")
	about, approx := p.Pick("≈ ", "~ "), ""
	if g.Estimated {
		approx = about
	}
	if g.Limit > 0 {
		if bar := min(32, width/4); bar >= 8 {
			g.bar(l, p, bar)
			l.Gap(2)
		}
		l.Add(paint.Strong, approx+plain.Count(g.Used)).Add(paint.Dim, " of "+plain.Count(g.Limit)+" tok")
	} else {
		l.Add(paint.Strong, approx+plain.Count(g.Used)).Add(paint.Dim, " tok, no ceiling")
	}
	l.Gap(3)
	switch {
	case g.Priced == 0 && g.Calls == 0:
	case g.Priced == 0:
		l.Add(paint.Dim, about+"? no price known")
	case g.Unpriced:
		l.Add(paint.Text, about+Money(g.CostMicros)).Add(paint.Dim, " and calls without a price")
	default:
		l.Add(paint.Text, about+Money(g.CostMicros))
	}
	if rate := g.perMinute(); rate > 0 {
		l.Gap(3).Add(paint.Dim, plain.Count(rate)+" tok/min")
		if left := g.Limit - g.Used; g.Limit > 0 && left > 0 {
			l.Gap(3).Add(paint.Dim, plain.Duration(left*60_000/rate)+" to the ceiling")
		}
	}
	if g.Limit > 0 && g.Used >= g.Limit {
		l.Gap(3).Add(paint.Bad, "ceiling reached")
	}
	return l.String()
}

// perMinute is the mean rate so far, 0 while there is too little to say.
func (g Gauge) perMinute() int64 {
	if g.RunningMS < 5000 || g.Used == 0 {
		return 0
	}
	return g.Used * 60_000 / g.RunningMS
}

// bar draws the used part; the last fifth is drawn as a warning.
func (g Gauge) bar(l *paint.Line, p *paint.Painter, cells int) {
	used := int64(cells*8) * min(g.Used, g.Limit) / g.Limit
	full := int(used / 8)
	warn := cells * 4 / 5
	fill := p.Pick("█", "#")
	l.Add(paint.Accent, strings.Repeat(fill, min(full, warn)))
	if full > warn {
		l.Add(paint.Person, strings.Repeat(fill, full-warn))
	}
	rest := cells - full
	if part := eighths[used%8]; part != "" && rest > 0 && !p.ASCII() {
		role := paint.Accent
		if full >= warn {
			role = paint.Person
		}
		l.Add(role, part)
		rest--
	}
	l.Add(paint.Faint, strings.Repeat(p.Pick("░", "."), rest))
}

// Money is an amount in millionths of the currency's unit.
func Money(micros int64) string {
	if micros < 10_000 {
		return fmt.Sprintf("0.%04d", (micros+50)/100)
	}
	cents := (micros + 5_000) / 10_000
	return fmt.Sprintf("%d.%02d", cents/100, cents%100)
}
