// Package gauge draws what a run has consumed: used of its ceiling, money, rate, time to the ceiling.
package gauge

import (
	"strings"

	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// Gauge is what there is to draw. Token figures count every call.
type Gauge struct {
	Used, Limit int64  // tokens; Limit 0 is no ceiling
	By          string // who set the ceiling of tokens while the run was going, "" for nobody
	Estimated   bool   // some of it was not measured
	CostMicros  int64
	CostLimit   int64  // in millionths of the currency's unit, 0 for no ceiling
	CostBy      string // who set that one
	Unpriced    bool   // a call has no price: the cost is a floor or unknown
	Calls       int    // that were answered
	Priced      int    // of them, with a price
	RunningMS   int64  // for the rate; 0 draws none
}

// eighths are the partial cells of a bar.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// Render draws the gauge as one line of width cells. The bar is that of the ceiling which is nearer.
func (g Gauge) Render(p *paint.Painter, width int) string {
	l := p.Line(width, paint.Plain).Gap(2).Add(paint.Dim, "spend ")
	about, approx := p.Pick("≈ ", "~ "), ""
	if g.Estimated {
		approx = about
	}
	if bar := min(32, width/4); bar >= 8 && (g.Limit > 0 || g.CostLimit > 0) {
		g.bar(l, p, bar)
		l.Gap(2)
	}
	l.Add(paint.Strong, approx+plain.Count(g.Used))
	if g.Limit > 0 {
		l.Add(paint.Dim, " of "+plain.Count(g.Limit)+" tok")
		setBy(l, g.By)
	} else {
		l.Add(paint.Dim, " tok, no ceiling")
	}
	l.Gap(3)
	g.cost(l, p)
	if (g.Limit > 0 && g.Used >= g.Limit) || (g.CostLimit > 0 && g.CostMicros >= g.CostLimit) {
		return l.Gap(3).Add(paint.Bad, "ceiling reached").String()
	}
	if rate := g.perMinute(); rate > 0 {
		l.Gap(3).Add(paint.Dim, plain.Count(rate)+" tok/min")
		if left := g.Limit - g.Used; g.Limit > 0 && left > 0 {
			l.Gap(3).Add(paint.Dim, plain.Duration(left*60_000/rate)+" to the ceiling")
		}
	}
	return l.String()
}

// cost is the money part.
func (g Gauge) cost(l *paint.Line, p *paint.Painter) {
	switch {
	case g.Priced == 0 && g.Calls > 0:
		l.Add(paint.Dim, p.Pick("≈ ", "~ ")+"? no price known")
	case g.Calls > 0:
		l.Add(paint.Text, plain.Cost(&g.CostMicros, p.ASCII()))
	}
	if g.CostLimit > 0 {
		if g.Calls == 0 {
			l.Add(paint.Text, plain.Amount(0))
		}
		l.Add(paint.Dim, " of "+plain.Amount(g.CostLimit))
		setBy(l, g.CostBy)
	}
	if g.Unpriced && g.Priced > 0 {
		l.Add(paint.Dim, " and calls without a price")
	}
}

// setBy says who moved a ceiling while the run was going.
func setBy(l *paint.Line, who string) {
	if who != "" {
		l.Add(paint.Person, " set by "+text.Line(who))
	}
}

// share is the used part of the ceiling that is nearer, in thousandths.
func (g Gauge) share() int64 {
	of := func(used, limit int64) int64 {
		if limit <= 0 {
			return 0
		}
		return int64(1000 * min(1, float64(max(0, used))/float64(limit)))
	}
	return max(of(g.Used, g.Limit), of(g.CostMicros, g.CostLimit))
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
	used := int64(cells*8) * g.share() / 1000
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
