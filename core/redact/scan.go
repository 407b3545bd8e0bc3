package redact

import (
	"cmp"
	"slices"
	"strings"
)

// span is a part of a text that a mark replaces.
type span struct{ from, to, mark int }

// query says what to look for.
type query struct {
	rules bool // shapes, too
	first bool // one is enough
	more  bool // the text may go on
	// seen is how much at the beginning is only there for context: what is found in it is left out.
	seen int
}

// result is what a text holds.
type result struct {
	spans []span // unordered, overlapping
	// hold is the first byte of what might become a secret if the text goes on; len(text) if nothing might.
	hold int
}

func (r *Redactor) scan(s string, q query) result {
	found := result{hold: len(s)}
	for _, v := range views(s, q.more) {
		r.scanView(v, q, &found)
		if q.first && len(found.spans) > 0 {
			return found
		}
		if q.more {
			r.holdBack(v, q, &found)
		}
	}
	found.hold = max(found.hold, q.seen)
	if q.seen > 0 {
		found.spans = slices.DeleteFunc(found.spans, func(m span) bool { return m.to <= q.seen })
		for i := range found.spans {
			found.spans[i].from = max(found.spans[i].from, q.seen)
		}
	}
	return found
}

// margin is how far before an escape a rule's match that the escape belongs to may begin.
const margin = 64

// scanView looks at every place of the text itself, and at those places of another view from where a match could
// reach an escape: all others are the same in its parent.
func (r *Redactor) scanView(v *view, q query, found *result) {
	v.first = len(found.spans)
	if v.parent == nil {
		r.scanPart(v, q, 0, len(v.text), found)
		return
	}
	done := 0
	reach := max(margin, r.index.longest)
	for _, p := range v.pieces {
		at := int(p.at)
		done = r.scanPart(v, q, max(done, at-reach), at+int(p.n)+1, found)
		if q.first && len(found.spans) > v.first {
			return
		}
	}
	if v.cut >= 0 {
		r.scanPart(v, q, max(done, len(v.text)-reach), len(v.text), found)
	}
}

// scanPart looks for what begins in v.text[i:end]. It returns where to go on: after the last rule's match, because
// shapes inside it are part of it.
func (r *Redactor) scanPart(v *view, q query, i, end int, found *result) int {
	s := v.text
	skip := i
	for i = r.index.next(s, i, end); i >= 0; i = r.index.next(s, i+1, end) {
		if p, ok := r.index.at(s, i); ok {
			to := i + len(p.text)
			if p.partial {
				to = widen(s, to)
			}
			found.add(v, span{i, to, p.mark})
			if to == len(s) && p.partial {
				found.holdAt(v, i)
			}
			if q.first {
				return end
			}
		}
		if q.rules && i >= skip {
			skip = max(skip, r.applyRules(v, q, i, found))
		}
	}
	return max(skip, end)
}

// applyRules adds what rules find at v.text[i] and returns where that ends.
func (r *Redactor) applyRules(v *view, q query, i int, found *result) int {
	s := v.text
	end := 0
	for _, k := range r.heads[s[i]] {
		rule := &r.rules[k]
		if !strings.HasPrefix(s[i:], rule.head) || rule.word && !q.wordStart(s, i) {
			continue
		}
		from, to, open := rule.match(s, i)
		if to > 0 {
			found.add(v, span{from, to, r.known + k})
			end = to
		}
		if open {
			found.holdAt(v, i)
		}
	}
	return end
}

// widen takes in what follows a base64 pattern that ends inside a character: that character, and padding.
func widen(s string, to int) int {
	if to < len(s) && isBase64(s[to]) {
		to++
	}
	for to < len(s) && s[to] == '=' {
		to++
	}
	return to
}

// wordStart reports whether a word may begin at s[i]. Context begins anywhere, so its first byte tells nothing.
func (q query) wordStart(s string, i int) bool {
	if i == 0 {
		return q.seen == 0
	}
	return !dashed(s[i-1])
}

// add maps a span of a view to the text. Spans of one view come in the order of their start, so that those that
// overlap are joined at once and a text full of them stays small.
func (f *result) add(v *view, m span) {
	m.from, m.to = v.source(m.from, m.to)
	if last := len(f.spans) - 1; last >= v.first && m.from < f.spans[last].to && m.mark == f.spans[last].mark {
		f.spans[last].from = min(f.spans[last].from, m.from)
		f.spans[last].to = max(f.spans[last].to, m.to)
		return
	}
	f.spans = append(f.spans, m)
}

func (f *result) holdAt(v *view, i int) {
	from, _ := v.source(i, i+1)
	f.hold = min(f.hold, from)
}

// holdBack finds what at the end of a view might become a secret.
func (r *Redactor) holdBack(v *view, q query, found *result) {
	s := v.text
	if v.cut >= 0 {
		from, _ := v.parent.source(v.cut, v.cut+1)
		found.hold = min(found.hold, from)
	}
	if i := r.index.begun(s); i < len(s) {
		found.holdAt(v, i)
	}
	for _, rule := range r.rules {
		for i := max(0, len(s)-len(rule.head)+1); i < len(s); i++ {
			if strings.HasPrefix(rule.head, s[i:]) && (!rule.word || q.wordStart(s, i)) {
				found.holdAt(v, i)
			}
		}
	}
}

// merge orders spans and joins those that overlap. A known secret's name goes before a rule's.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.mark, b.mark))
	})
	merged := spans[:0]
	for _, m := range spans {
		if last := len(merged) - 1; last >= 0 && m.from < merged[last].to {
			merged[last].to = max(merged[last].to, m.to)
			merged[last].mark = min(merged[last].mark, m.mark)
			continue
		}
		merged = append(merged, m)
	}
	return merged
}
