package script

import (
	"errors"
	"fmt"
)

// compile reads a turn's conditions. named has the calls that each named turn makes.
func (d *docWhen) compile(named map[string][]made) (when, error) {
	w := when{
		turns: span{d.Turns.Min, d.Turns.Max}, checks: span{d.Checks.Min, d.Checks.Max}, stuck: d.Stuck,
	}
	if err := errors.Join(w.turns.check(), w.checks.check()); err != nil {
		return w, err
	}
	for _, field := range []struct {
		from []string
		to   *[]pattern
	}{{d.Last, &w.last}, {d.Seen, &w.seen}, {d.Unseen, &w.unseen}} {
		for _, text := range field.from {
			p, err := parsePattern(text, named)
			if err != nil {
				return w, err
			}
			*field.to = append(*field.to, p)
		}
	}
	for _, c := range d.Count {
		p, err := parsePattern(c.Of, named)
		t := tally{of: p, number: span{c.Min, c.Max}}
		if err := errors.Join(err, t.number.check()); err != nil {
			return w, err
		}
		w.count = append(w.count, t)
	}
	if d.Gate != nil {
		failed := *d.Gate == "failed"
		if !failed && *d.Gate != "quiet" {
			return w, fmt.Errorf(`gate is "failed" or "quiet", not %q`, *d.Gate)
		}
		w.gateFailed = &failed
	}
	return w, d.words(&w)
}

// words reads the conditions about what somebody said.
func (d *docWhen) words(w *when) error {
	if len(d.UnlessLater) > 0 && len(d.Heard) == 0 {
		return errors.New("unless_later needs heard")
	}
	for _, field := range []struct {
		from []string
		to   *phrases
	}{
		{d.Told, &w.told},
		{d.Heard, &w.heard},
		{d.UnlessLater, &w.takenBack},
		{d.Unheard, &w.unheard},
		{d.Declined, &w.declined},
		{d.Undeclined, &w.undeclined},
		{d.Result, &w.result},
		{d.Said, &w.said},
		{d.Unsaid, &w.unsaid},
	} {
		p, err := parsePhrases(field.from)
		if err != nil {
			return err
		}
		*field.to = p
	}
	return nil
}

// holds says whether all conditions hold.
func (w *when) holds(sc *scene) bool {
	return w.callsHold(sc) && w.wordsHold(sc) &&
		w.turns.holds(len(sc.said)) && w.checks.holds(sc.checks) &&
		(w.gateFailed == nil || *w.gateFailed == sc.gateFailed) &&
		(w.stuck == nil || *w.stuck == sc.stuck)
}

func (w *when) callsHold(sc *scene) bool {
	if len(w.last) > 0 {
		newest := sc.newest()
		fits := false
		for i := range w.last {
			fits = fits || newest != nil && w.last[i].fits(newest)
		}
		if !fits {
			return false
		}
	}
	for i := range w.seen {
		if sc.count(&w.seen[i]) == 0 {
			return false
		}
	}
	for i := range w.unseen {
		if sc.count(&w.unseen[i]) > 0 {
			return false
		}
	}
	for i := range w.count {
		if !w.count[i].number.holds(sc.count(&w.count[i].of)) {
			return false
		}
	}
	return true
}

func (w *when) wordsHold(sc *scene) bool {
	var result []string
	if newest := sc.newest(); newest != nil {
		result = []string{newest.text}
	}
	for _, c := range []struct {
		p     phrases
		texts []string
		want  bool
	}{
		{w.told, sc.told, true},
		{w.heard, sc.operator, true},
		{w.unheard, sc.operator, false},
		{w.declined, sc.reasons, true},
		{w.undeclined, sc.reasons, false},
		{w.result, result, true},
		{w.said, sc.said, true},
		{w.unsaid, sc.said, false},
	} {
		if c.p.any() && (c.p.newest(c.texts) >= 0) != c.want {
			return false
		}
	}
	return !w.takenBack.any() || w.takenBack.newest(sc.operator) <= w.heard.newest(sc.operator)
}
