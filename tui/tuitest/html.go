package tuitest

import (
	"bytes"
	"fmt"
	"strings"
)

// HTML draws the frame as a page that needs nothing else, with text that can be
// selected. The same frame gives the same bytes.
func (f Frame) HTML() []byte {
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(f.Title))
	fmt.Fprintf(&b, "<style>\nbody{margin:0;background:%s;color:%s}\n", hexOf(f.Ground), hexOf(f.Text))
	fmt.Fprintf(&b, "pre{margin:%dpx;font:%dpx/%dpx %s}\n", margin, fontSize, cellHeight, fonts)
	// Inline blocks of whole cells keep the grid with glyphs of any width.
	b.WriteString("pre span{display:inline-block;height:1.2em;white-space:pre;overflow:hidden;vertical-align:top;unicode-bidi:bidi-override;direction:ltr}\n</style>\n</head>\n<body>\n<pre>")
	for y, row := range f.Cells {
		for _, r := range lookRuns(row) {
			f.htmlRun(&b, row, y, r)
		}
		b.WriteString("\n")
	}
	b.WriteString("</pre>\n</body>\n</html>\n")
	return b.Bytes()
}

// htmlRun writes a stretch, the cell under the cursor apart.
func (f Frame) htmlRun(b *bytes.Buffer, row []Cell, y int, r run) {
	at := f.Cursor.X
	if f.Cursor.Hidden || f.Cursor.Y != y || at < r.from || at >= r.to {
		f.htmlSpan(b, row, r, "")
		return
	}
	width := max(1, row[at].Width)
	for _, part := range []run{{r.from, at, r.look}, {at, min(at+width, r.to), r.look}, {min(at+width, r.to), r.to, r.look}} {
		extra := ""
		if part.from == at {
			extra = ";outline:1px solid " + hexOf(f.Text)
		}
		if part.from < part.to {
			f.htmlSpan(b, row, part, extra)
		}
	}
}

func (f Frame) htmlSpan(b *bytes.Buffer, row []Cell, r run, extra string) {
	style := f.css(r.look) + extra
	// Cells of the width of their glyph share a span, all others have their own.
	for x := r.from; x < r.to; {
		text, to := row[x].Text, x+max(1, row[x].Width)
		for ascii(text) && to < r.to && ascii(row[to].Text) {
			text += row[to].Text
			to++
		}
		fmt.Fprintf(b, `<span style="width:%dch%s">%s</span>`, to-x, style, escape(text))
		x = to
	}
}

func ascii(text string) bool {
	return text != "" && strings.Trim(text, " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") == ""
}

// css is how a stretch is drawn, each declaration after a semicolon.
func (f Frame) css(l look) string {
	var b strings.Builder
	ink, ground := f.inks(l.Style)
	if ink != hexOf(f.Text) {
		b.WriteString(";color:" + ink)
	}
	if ground != hexOf(f.Ground) {
		b.WriteString(";background:" + ground)
	}
	if l.Bold {
		b.WriteString(";font-weight:bold")
	}
	if l.Italic {
		b.WriteString(";font-style:italic")
	}
	var lines []string
	if l.Underline != "" {
		lines = append(lines, "underline")
	}
	if l.Strike {
		lines = append(lines, "line-through")
	}
	if len(lines) > 0 {
		b.WriteString(";text-decoration:" + strings.Join(lines, " "))
	}
	if l.UnderlineColor != "" {
		b.WriteString(";text-decoration-color:" + seen(l.UnderlineColor, f.Text))
	}
	return b.String()
}

// HTML draws the screen as it is now; see Frame.HTML.
func (t *Term) HTML() []byte {
	t.tb.Helper()
	return t.Frame().HTML()
}

// SVG draws the screen as it is now; see Frame.SVG.
func (t *Term) SVG() []byte {
	t.tb.Helper()
	return t.Frame().SVG()
}
