package tuitest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
)

// The things a program can switch in a terminal and has to switch back before
// it goes.
const (
	AlternateScreen  = "alternate screen"
	HiddenCursor     = "hidden cursor"
	CursorShape      = "cursor shape"
	Mouse            = "mouse"
	BracketedPaste   = "bracketed paste"
	KittyKeyboard    = "kitty keyboard"
	OtherKeys        = "modifyOtherKeys"
	FocusReports     = "focus reports"
	SynchronisedDraw = "synchronised output"
	ClusterWidths    = "grapheme clusters"
	Reports          = "other reports" // colour scheme, size
	ApplicationKeys  = "application keys"
	NoWrap           = "no wrapping"
	Origin           = "origin mode"
	ScrollRegion     = "scroll region"
	LineDrawing      = "line drawing characters"
	Colours          = "terminal colours"
	Pen              = "text style"
	Hyperlink        = "hyperlink"
	Progress         = "progress"
	Title            = "title"
)

// decModes are the DEC private modes that matter (xterm's ctlseqs, kitty's and
// contour's documents for the four-digit ones from 2026 on). The value off is
// the setting in which a terminal starts.
var decModes = map[int]struct {
	name string
	off  byte
}{
	1: {ApplicationKeys, 'l'}, 66: {ApplicationKeys, 'l'},
	6: {Origin, 'l'}, 7: {NoWrap, 'h'}, 25: {HiddenCursor, 'h'},
	47: {AlternateScreen, 'l'}, 1047: {AlternateScreen, 'l'}, 1049: {AlternateScreen, 'l'},
	9: {Mouse, 'l'}, 1000: {Mouse, 'l'}, 1001: {Mouse, 'l'}, 1002: {Mouse, 'l'}, 1003: {Mouse, 'l'},
	1005: {Mouse, 'l'}, 1006: {Mouse, 'l'}, 1015: {Mouse, 'l'}, 1016: {Mouse, 'l'},
	1004: {FocusReports, 'l'}, 2004: {BracketedPaste, 'l'},
	2026: {SynchronisedDraw, 'l'}, 2027: {ClusterWidths, 'l'}, 2031: {Reports, 'l'}, 2048: {Reports, 'l'},
}

// switches follows what a program switched. Several switches may stand for one
// thing, as many mouse modes do; the thing is back when all are.
type switches struct {
	on     map[string]string // switch → thing
	sent   map[string]bool   // things of which a switch was turned back, on or not
	kitty  [2]int            // depth of the keyboard's stack on the main and the alternate screen
	pen    uv.Style
	height func(rows int) bool // a height that the terminal has had
}

// switched reads a whole output.
func switched(raw []byte, height func(rows int) bool) *switches {
	s := &switches{on: map[string]string{}, sent: map[string]bool{}, height: height}
	for _, seq := range Scan(raw) {
		if !seq.Ended {
			continue
		}
		switch seq.Kind {
		case CSI:
			s.csi(seq.Body)
		case OSC:
			s.osc(seq.Body)
		case Escape:
			s.escape(seq.Body)
		}
	}
	return s
}

// left names what was not turned back, in order.
func (s *switches) left() []string {
	things := map[string]bool{}
	for _, thing := range s.on {
		things[thing] = true
	}
	if s.kitty[0] > 0 || s.kitty[1] > 0 {
		things[KittyKeyboard] = true
	}
	if !s.pen.IsZero() {
		things[Pen] = true
	}
	return slices.Sorted(maps.Keys(things))
}

func (s *switches) turn(key, thing string, on bool) {
	if on {
		s.on[key] = thing
		return
	}
	delete(s.on, key)
	s.sent[thing] = true
}

func (s *switches) escape(body string) {
	switch body {
	case "=", ">":
		s.turn("keypad", ApplicationKeys, body == "=")
	case "(0", "(B":
		s.turn("G0", LineDrawing, body == "(0")
	case "c": // everything as it was at the start
		*s = switches{on: map[string]string{}, sent: s.sent, height: s.height}
	}
}

func (s *switches) osc(body string) {
	command, rest, _ := strings.Cut(body, ";")
	switch command {
	case "0", "2":
		s.turn("title", Title, rest != "")
	case "4", "10", "11", "12":
		if !strings.HasSuffix(rest, "?") { // which asks
			s.turn("colour "+command, Colours, true)
		}
	case "104", "110", "111", "112":
		set, _ := strconv.Atoi(command)
		s.turn("colour "+strconv.Itoa(set-100), Colours, false)
	case "8":
		_, link, _ := strings.Cut(rest, ";")
		s.turn("link", Hyperlink, link != "")
	case "9":
		if kind, progress, _ := strings.Cut(rest, ";"); kind == "4" {
			s.turn("progress", Progress, !strings.HasPrefix(progress, "0") && progress != "")
		}
	}
}

func (s *switches) csi(body string) {
	final := body[len(body)-1]
	params := body[:len(body)-1]
	switch {
	case strings.HasPrefix(params, "?") && (final == 'h' || final == 'l'):
		for _, p := range numbers(params[1:]) {
			if mode, ok := decModes[p]; ok {
				s.turn("mode "+strconv.Itoa(p), mode.name, final != mode.off)
			}
		}
	case final == 'u':
		s.keyboard(params)
	case strings.HasPrefix(params, ">") && (final == 'm' || final == 'n'):
		if n := append(numbers(params[1:]), 0); n[0] == 4 {
			s.turn("other keys", OtherKeys, final == 'm' && n[1] > 0)
		}
	case final == 'q' && strings.HasSuffix(params, " "):
		n := numbers(strings.TrimSuffix(params, " "))
		s.turn("cursor shape", CursorShape, n[0] > 1)
	case final == 'r' && plain(params):
		n := append(numbers(params), 0)
		s.turn("region", ScrollRegion, n[0] > 1 || n[1] != 0 && !s.height(n[1]))
	case final == 'm' && plain(params):
		uv.ReadStyle(styleParams(params), &s.pen)
		if s.pen.IsZero() {
			s.sent[Pen] = true
		}
	}
}

// keyboard follows the kitty protocol: > pushes, < pops, = sets what is on top.
// Each screen has a stack of its own.
func (s *switches) keyboard(params string) {
	screen := 0
	if slices.Contains(slices.Collect(maps.Values(s.on)), AlternateScreen) {
		screen = 1
	}
	switch {
	case strings.HasPrefix(params, ">"):
		s.kitty[screen]++
	case strings.HasPrefix(params, "<"):
		s.kitty[screen] = max(0, s.kitty[screen]-max(1, numbers(params[1:])[0]))
		s.sent[KittyKeyboard] = true
	case strings.HasPrefix(params, "="):
		n := append(numbers(params[1:]), 1)
		s.turn("kitty set", KittyKeyboard, n[0] > 0 && n[1] != 3)
	}
}

// plain reports whether parameters are without a private prefix and without
// intermediate bytes.
func plain(params string) bool { return strings.Trim(params, "0123456789;:") == "" }

// numbers reads parameters; one that is missing is 0, and there is always one.
func numbers(params string) []int {
	var n []int
	for p := range strings.SplitSeq(params, ";") {
		value, _ := strconv.Atoi(p)
		n = append(n, value)
	}
	return n
}

// styleParams reads the parameters of SGR, where a colon joins those that
// belong together.
func styleParams(params string) ansi.Params {
	var all ansi.Params
	for group := range strings.SplitSeq(params, ";") {
		parts := strings.Split(group, ":")
		for i, p := range parts {
			value, _ := strconv.ParseUint(p, 10, 16)
			param := ansi.Param(value)
			if i < len(parts)-1 {
				param |= parser.HasMoreFlag
			}
			all = append(all, param)
		}
	}
	return all
}
