// Package paint turns clean text into styled lines of an exact width. It is the only place that knows colours: screens
// name roles. Text must have passed package text before it comes here.
package paint

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"tillerman/themes"
	"tillerman/tui/text"
)

// Role is what a piece of text is, and so how it looks.
type Role int

// The roles of text.
const (
	Text Role = iota
	Strong
	Dim // on the plain ground only; on other grounds it is drawn as Soft
	Soft
	Faint // ornaments: rules, bars that are empty
	Accent
	Person // amber: a person, waiting
	Bad    // red: refusal, failure
	Good   // green: success, checks
	Model  // blue
	Tool   // violet
	Italic
	roles
)

// Ground is what a line lies on.
type Ground int

// The grounds of lines.
const (
	Plain Ground = iota
	Panel
	Selected
	Added
	Removed
	Cap // behind a key
	grounds
)

// Painter holds the styles of one theme. It is immutable and safe for concurrent use.
type Painter struct {
	theme  themes.Theme
	styles [roles][grounds]style
	ascii  bool
	mono   bool // no colours
}

// New makes a painter for a theme and for what the terminal can show. ascii avoids every character outside ASCII in
// ornaments.
func New(t themes.Theme, profile colorprofile.Profile, ascii bool) *Painter {
	p := &Painter{theme: t, ascii: ascii, mono: profile == colorprofile.ASCII || profile == colorprofile.NoTTY}
	inks := [roles]color.Color{
		Text: t.Text, Strong: t.Text, Dim: t.Dim, Soft: t.Soft, Faint: t.Line, Accent: t.Accent, Person: t.Amber, Bad: t.Red, Good: t.Green,
		Model: t.Blue, Tool: t.Violet, Italic: t.Soft,
	}
	papers := [grounds]color.Color{Plain: nil, Panel: t.Panel, Selected: t.Selection, Added: t.Added, Removed: t.Removed, Cap: t.KeyCap}
	switch profile {
	case colorprofile.ANSI256:
		papers = greys(t.Dark)
	case colorprofile.ANSI:
		inks, papers = basic(t.Dark), [grounds]color.Color{}
	}
	for r := range roles {
		for g := range grounds {
			ink := inks[r]
			if r == Dim && g != Plain {
				ink = inks[Soft]
			}
			s := lipgloss.NewStyle()
			if ink != nil {
				s = s.Foreground(ink)
			}
			if papers[g] != nil {
				s = s.Background(papers[g])
			}
			p.styles[r][g] = compile(s.Bold(r == Strong).Italic(r == Italic))
		}
	}
	return p
}

// style is what stands before and behind a text to style it. It is worked out once: a frame styles some hundred pieces.
type style struct{ before, behind string }

func compile(s lipgloss.Style) style {
	before, behind, _ := strings.Cut(s.Render("x"), "x")
	return style{before, behind}
}

func (s style) write(b *strings.Builder, text string) {
	b.WriteString(s.before)
	b.WriteString(text)
	b.WriteString(s.behind)
}

// greys are the grounds of a terminal with 256 colours, chosen from its grey ramp: the nearest colours of its cube are
// loud.
func greys(dark bool) [grounds]color.Color {
	if dark {
		return [grounds]color.Color{Panel: ansi.IndexedColor(234), Selected: ansi.IndexedColor(236), Cap: ansi.IndexedColor(238)}
	}
	return [grounds]color.Color{Panel: ansi.IndexedColor(255), Selected: ansi.IndexedColor(254), Cap: ansi.IndexedColor(252)}
}

// basic are the inks of a terminal with 16 colours. Text and all greys are the terminal's own: its bright black is
// unreadable in many palettes. Yellow is left out on light grounds for the same reason.
func basic(dark bool) [roles]color.Color {
	if dark {
		return [roles]color.Color{
			Accent: ansi.BrightCyan, Person: ansi.BrightYellow, Bad: ansi.BrightRed, Good: ansi.BrightGreen, Model: ansi.BrightBlue, Tool: ansi.BrightMagenta,
		}
	}
	return [roles]color.Color{Accent: ansi.Cyan, Person: ansi.Magenta, Bad: ansi.Red, Good: ansi.Green, Model: ansi.Blue, Tool: ansi.Magenta}
}

// Theme is the painter's palette.
func (p *Painter) Theme() themes.Theme { return p.theme }

// ASCII says that ornaments are plain ASCII.
func (p *Painter) ASCII() bool { return p.ascii }

// Pick is fancy, or plain where only ASCII can be drawn.
func (p *Painter) Pick(fancy, plain string) string {
	if p.ascii {
		return plain
	}
	return fancy
}

// Fill is fancy, or plain where no colour tells one stretch of it from the next.
func (p *Painter) Fill(fancy, plain string) string {
	if p.ascii || p.mono {
		return plain
	}
	return fancy
}

// Line is a line under construction: pieces from the left, and pieces held to the right edge.
type Line struct {
	p           *Painter
	ground      Ground
	width       int
	left, right []piece
}

type piece struct {
	role   Role
	ground Ground
	text   string
	width  int
}

// Line begins a line of width cells.
func (p *Painter) Line(width int, ground Ground) *Line {
	return &Line{p: p, ground: ground, width: max(0, width)}
}

// Add puts clean text behind what is there.
func (l *Line) Add(role Role, s string) *Line { return l.On(role, l.ground, s) }

// On puts clean text on a ground of its own: a key cap.
func (l *Line) On(role Role, ground Ground, s string) *Line {
	l.left = append(l.left, cut(role, ground, s))
	return l
}

// cut makes a piece. Its text takes the same cells in terminals that count clusters and in those that count characters,
// so that what stands behind it stays where it is.
func cut(role Role, ground Ground, s string) piece {
	s = text.Safe(s)
	return piece{role, ground, s, text.Width(s)}
}

// Gap puts n cells of nothing.
func (l *Line) Gap(n int) *Line { return l.Add(Text, strings.Repeat(" ", max(0, n))) }

// To fills up to column n, at least one cell when something stands there already.
func (l *Line) To(n int) *Line {
	used := l.used(l.left)
	if used == 0 && n <= 0 {
		return l
	}
	return l.Gap(max(1, n-used))
}

// Right puts clean text at the right edge, behind what is held there.
func (l *Line) Right(role Role, s string) *Line {
	l.right = append(l.right, cut(role, l.ground, s))
	return l
}

func (l *Line) used(ps []piece) int {
	n := 0
	for _, p := range ps {
		n += p.width
	}
	return n
}

// String is the line, exactly its width. The right side stays whole as long as it fits; the left side is cut with an
// ellipsis where the two would meet.
func (l *Line) String() string {
	var b strings.Builder
	right := l.used(l.right)
	rights := l.right
	if right > l.width {
		rights, right = nil, 0
	}
	room := l.width - right
	if right > 0 && room > 0 {
		room-- // a cell between the sides
	}
	used := 0
	for _, pc := range l.left {
		if used >= room {
			break
		}
		s, w := pc.text, pc.width
		if used+w > room {
			s = text.Fit(text.Truncate(s, room-used, l.p.Pick("…", "~")), room-used)
			w = room - used
		}
		l.p.styles[pc.role][pc.ground].write(&b, s)
		used += w
	}
	if fill := l.width - right - used; fill > 0 {
		l.p.styles[Text][l.ground].write(&b, strings.Repeat(" ", fill))
	}
	for _, pc := range rights {
		l.p.styles[pc.role][pc.ground].write(&b, pc.text)
	}
	return b.String()
}
