package tuitest

import (
	"fmt"
	"strings"
)

// look is what can be seen of a cell beside its text.
type look struct {
	Style
	link string
}

// blank is what can be seen of it when the text is a blank.
func (l look) blank() look {
	s := l.Style
	if s.Reverse {
		return l // which ground is seen depends on the text's colour
	}
	l.Style = Style{Bg: s.Bg, Underline: s.Underline, Strike: s.Strike}
	if s.Underline != "" {
		l.UnderlineColor, l.Fg = s.UnderlineColor, s.Fg
	} else if s.Strike {
		l.Fg = s.Fg
	}
	return l
}

func (l look) String() string {
	var words []string
	add := func(on bool, word string) {
		if on {
			words = append(words, word)
		}
	}
	add(l.Fg != "", "fg="+l.Fg)
	add(l.Bg != "", "bg="+l.Bg)
	add(l.Bold, "bold")
	add(l.Faint, "faint")
	add(l.Italic, "italic")
	add(l.Underline != "", "underline="+l.Underline)
	add(l.UnderlineColor != "", "underline-colour="+l.UnderlineColor)
	add(l.Blink, "blink")
	add(l.Reverse, "reverse")
	add(l.Conceal, "conceal")
	add(l.Strike, "strike")
	add(l.link != "", fmt.Sprintf("link=%q", l.link))
	return strings.Join(words, " ")
}

// run is a stretch of cells that look the same: columns from up to to.
type run struct {
	from, to int
	look     look
}

// lookRuns divides a row into stretches. A blank belongs to the stretch before
// it when nothing that can be seen tells them apart, so that a styled sentence
// is one stretch.
func lookRuns(row []Cell) []run {
	var runs []run
	for x, c := range row {
		if c.Width == 0 && c.Text == "" && len(runs) > 0 {
			runs[len(runs)-1].to = x + 1 // the second cell of a wide cluster
			continue
		}
		l := look{c.Style, c.Link}
		empty := strings.TrimSpace(c.Text) == ""
		if empty {
			l = l.blank()
		}
		if n := len(runs); n > 0 {
			last := &runs[n-1]
			if l == last.look || empty && l == last.look.blank() {
				last.to = x + 1
				continue
			}
		}
		runs = append(runs, run{x, x + 1, l})
	}
	return runs
}

// styleRuns are the stretches of a row that are not plain, written out.
func styleRuns(row []Cell) []string {
	var all []string
	for _, r := range lookRuns(row) {
		if r.look.blank() == (look{}) {
			for r.to > r.from && strings.TrimSpace(row[r.to-1].Text) == "" && row[r.to-1].Width == 1 {
				r.to--
			}
		}
		switch {
		case r.look == look{} || r.to == r.from:
		case r.to == r.from+1:
			all = append(all, fmt.Sprintf("%d %s", r.from, r.look))
		default:
			all = append(all, fmt.Sprintf("%d-%d %s", r.from, r.to-1, r.look))
		}
	}
	return all
}
