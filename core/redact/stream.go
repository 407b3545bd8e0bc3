package redact

import "io"

// Writer redacts what is written to it, also where a secret is split between two writes: it passes on at once all but
// the end that could be the beginning of a secret. It must be closed to pass on that end. One goroutine may use it.
type Writer struct {
	r    *Redactor
	w    io.Writer
	text string // context that was passed on, then what is held back
	seen int    // length of the context
	n    int
}

// context is how many bytes before the held-back ones are kept to read them by: whether a word begins there, and
// whether a long run of base64 stands before a line break.
const context = 2 * wrapWidth

// mostHeld bounds what is held back. Only text that overlaps with itself as a secret without end gets there.
const mostHeld = 256 << 10

// Stream returns a writer that passes on to w what is written to it, redacted.
func (r *Redactor) Stream(w io.Writer) *Writer {
	return &Writer{r: r, w: w}
}

// Count is how many secrets were replaced so far.
func (w *Writer) Count() int { return w.n }

// Write takes all of p, and fails when the writer below fails.
func (w *Writer) Write(p []byte) (int, error) {
	w.text += string(p)
	if err := w.pass(true); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close passes on what was held back. It does not close the writer below.
func (w *Writer) Close() error {
	return w.pass(false)
}

func (w *Writer) pass(more bool) error {
	if len(w.text) == w.seen {
		return nil
	}
	found := w.r.scan(w.text, query{rules: true, more: more, seen: w.seen})
	spans := merge(found.spans)
	cut := len(w.text)
	if more && len(w.text)-w.seen < mostHeld {
		cut = found.hold
		for i, m := range spans {
			if m.to > cut {
				cut = min(cut, m.from)
				spans = spans[:i]
				break
			}
		}
	}
	for i := range spans {
		spans[i].from -= w.seen
		spans[i].to -= w.seen
	}
	clean := w.r.replace(w.text[w.seen:cut], spans)
	w.n += len(spans)
	w.forget(cut)
	if len(spans) > 0 {
		var again int
		clean, again = w.r.String(clean)
		w.n += again
	}
	if clean == "" {
		return nil
	}
	_, err := io.WriteString(w.w, clean)
	return err
}

// forget drops what was passed on up to cut, except for some context. The context must not begin inside an escape.
func (w *Writer) forget(cut int) {
	from := max(0, cut-context)
	for from > 0 && cut-from < 1<<10 && (w.text[from-1] == '\\' || w.text[from-1] == '%') {
		from--
	}
	w.text = w.text[from:]
	w.seen = cut - from
}
