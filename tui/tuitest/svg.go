package tuitest

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The grid of pictures, in pixels. A glyph of a monospace font is 0.6 of its
// size wide, so 15 px gives whole cells.
const (
	cellWidth, cellHeight = 9, 18
	fontSize, baseline    = 15, 14
	margin                = 12
	fonts                 = `ui-monospace, 'JetBrains Mono', 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace`
)

// SVG draws the frame as a picture that needs nothing else: the ground, a
// rectangle behind every stretch with a ground of its own, the text on its
// grid, and the characters that join with their neighbours, such as lines and
// bars, as shapes. The same frame gives the same bytes.
func (f Frame) SVG() []byte {
	var b bytes.Buffer
	w, h := f.Cols*cellWidth, f.Rows*cellHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="%s" font-size="%d" xml:space="preserve">`+"\n",
		w+2*margin, h+2*margin, w+2*margin, h+2*margin, fonts, fontSize)
	if f.Title != "" {
		fmt.Fprintf(&b, "<title>%s</title>\n", escape(f.Title))
	}
	// Cells stand from left to right whatever script they hold, as in a terminal.
	b.WriteString("<style>text{white-space:pre;unicode-bidi:bidi-override;direction:ltr}rect,path{shape-rendering:crispEdges}</style>\n")
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", hexOf(f.Ground))
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", margin, margin)
	for y, row := range f.Cells {
		f.drawRow(&b, row, y*cellHeight)
	}
	if c := f.Cursor; !c.Hidden && c.X >= 0 && c.X < f.Cols && c.Y >= 0 && c.Y < f.Rows {
		fmt.Fprintf(&b, `<rect x="%d.5" y="%d.5" width="%d" height="%d" fill="none" stroke="%s"/>`+"\n",
			c.X*cellWidth, c.Y*cellHeight, cellWidth-1, cellHeight-1, hexOf(f.Text))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

func (f Frame) drawRow(b *bytes.Buffer, row []Cell, top int) {
	runs := lookRuns(row)
	for i := 0; i < len(runs); {
		from := runs[i].from
		_, ground := f.inks(runs[i].look.Style)
		for i++; i < len(runs); i++ { // one rectangle for neighbours of one ground: no seams
			if _, next := f.inks(runs[i].look.Style); next != ground {
				break
			}
		}
		if ground != hexOf(f.Ground) {
			rect(b, from*cellWidth, top, (runs[i-1].to-from)*cellWidth, cellHeight, ground)
		}
	}
	for _, r := range runs {
		ink, _ := f.inks(r.look.Style)
		for _, p := range pieces(row, r.from, r.to) {
			if shape, ok := shapeOf(p.text); ok {
				shape.draw(b, p.from*cellWidth, top, p.cells, ink)
				continue
			}
			f.drawText(b, p, top, r.look, ink)
		}
		drawLines(b, r, top, ink, seen(r.look.UnderlineColor, f.Text))
	}
}

func (f Frame) drawText(b *bytes.Buffer, p textPiece, top int, l look, ink string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s"`, p.from*cellWidth, top+baseline, ink)
	if p.cells > 1 {
		fmt.Fprintf(b, ` textLength="%d" lengthAdjust="spacingAndGlyphs"`, p.cells*cellWidth)
	}
	if l.Bold {
		b.WriteString(` font-weight="bold"`)
	}
	if l.Italic {
		b.WriteString(` font-style="italic"`)
	}
	b.WriteString(">" + escape(p.text) + "</text>\n")
}

// drawLines draws what runs under and through a stretch.
func drawLines(b *bytes.Buffer, r run, top int, ink, under string) {
	x, w := r.from*cellWidth, (r.to-r.from)*cellWidth
	if r.look.UnderlineColor == "" {
		under = ink
	}
	if r.look.Underline != "" {
		rect(b, x, top+cellHeight-2, w, 1, under)
	}
	if r.look.Underline == "double" {
		rect(b, x, top+cellHeight-4, w, 1, under)
	}
	if r.look.Strike {
		rect(b, x, top+cellHeight/2, w, 1, ink)
	}
}

func rect(b *bytes.Buffer, x, y, w, h int, fill string) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", x, y, w, h, fill)
}

// textPiece is text that is drawn in one go.
type textPiece struct {
	from, cells int
	text        string
}

// pieces divides cells into texts: letters that every monospace font has go
// together, so do the cells of a rule or a bar, and whatever else a font may draw
// wider or narrower stands alone. Blanks at the ends are left out.
func pieces(row []Cell, from, to int) []textPiece {
	var all []textPiece
	joined := false
	for x := from; x < to; x++ {
		c := row[x]
		if c.Text == "" || c.Text == " " && !joined {
			continue
		}
		r, size := utf8.DecodeRuneInString(c.Text)
		joins := size == len(c.Text) && r < 0x250 && c.Width == 1
		if joins && joined {
			last := &all[len(all)-1]
			last.text, last.cells = last.text+c.Text, last.cells+1
			continue
		}
		if n := len(all); n > 0 && all[n-1].text == c.Text && all[n-1].from+all[n-1].cells == x && runsOn(c.Text) {
			all[n-1].cells++
			continue
		}
		all = append(all, textPiece{x, max(1, c.Width), c.Text})
		joined = joins
	}
	for i, p := range all {
		text := strings.TrimRight(p.text, " ")
		all[i].text, all[i].cells = text, p.cells-(len(p.text)-len(text))
	}
	return all
}

// escape makes text fit for XML and HTML: markup is escaped, and what no XML
// document may hold (XML 1.0, 2.2) becomes the replacement character.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case r < ' ', r == 0x7f, r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
