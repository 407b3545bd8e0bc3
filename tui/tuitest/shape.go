package tuitest

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// shape is a character that is drawn rather than written, because it has to meet
// its neighbours: boxes inside a cell, in pixels.
type shape struct {
	boxes [][4]int // x, y, width, height
	shade string   // how much of the ink; empty is all
}

// draw draws the shape in a cell, or across several when it runs on.
func (s shape) draw(b *bytes.Buffer, x, y, cells int, ink string) {
	if s.shade != "" {
		b.WriteString(`<g opacity="` + s.shade + `">`)
	}
	for _, box := range s.boxes {
		rect(b, x+box[0], y+box[1], box[2]+(cells-1)*cellWidth, box[3], ink)
	}
	if s.shade != "" {
		b.WriteString("</g>\n")
	}
}

// runsOn reports whether a character is drawn as one box from edge to edge, so
// that a row of it is one longer box.
func runsOn(text string) bool {
	s, ok := shapeOf(text)
	return ok && len(s.boxes) == 1 && s.boxes[0][0] == 0 && s.boxes[0][2] == cellWidth
}

// arms are the directions in which the light and heavy lines of the Box Drawing
// block go from the middle of a cell. Round corners are drawn as square ones.
var arms = map[rune]string{
	'─': "lr", '━': "lr", '│': "ud", '┃': "ud", '╌': "lr", '╎': "ud",
	'┌': "rd", '┐': "ld", '└': "ru", '┘': "lu", '╭': "rd", '╮': "ld", '╰': "ru", '╯': "lu",
	'├': "udr", '┤': "udl", '┬': "lrd", '┴': "lru", '┼': "lrud",
	'╴': "l", '╵': "u", '╶': "r", '╷': "d",
}

// shapeOf gives the shape of a character that has one.
func shapeOf(text string) (shape, bool) {
	r, size := utf8.DecodeRuneInString(text)
	if size != len(text) {
		return shape{}, false
	}
	const w, h = cellWidth, cellHeight
	switch {
	case r >= '▁' && r <= '█': // eighths from below
		high := h * int(r-'▁'+1) / 8
		return shape{boxes: [][4]int{{0, h - high, w, high}}}, true
	case r >= '▉' && r <= '▏': // eighths from the left, falling
		return shape{boxes: [][4]int{{0, 0, max(1, w*int('▐'-r)/8), h}}}, true
	case r == '▀':
		return shape{boxes: [][4]int{{0, 0, w, h / 2}}}, true
	case r == '▐':
		return shape{boxes: [][4]int{{w / 2, 0, w - w/2, h}}}, true
	case r >= '░' && r <= '▓':
		return shape{boxes: [][4]int{{0, 0, w, h}}, shade: [...]string{".25", ".5", ".75"}[r-'░']}, true
	}
	directions, ok := arms[r]
	if !ok {
		return shape{}, false
	}
	thick := 1
	if r == '━' || r == '┃' {
		thick = 2
	}
	midX, midY := w/2, h/2
	var s shape
	for _, d := range directions {
		switch d {
		case 'l':
			s.boxes = append(s.boxes, [4]int{0, midY, midX + thick, thick})
		case 'r':
			s.boxes = append(s.boxes, [4]int{midX, midY, w - midX, thick})
		case 'u':
			s.boxes = append(s.boxes, [4]int{midX, 0, thick, midY + thick})
		case 'd':
			s.boxes = append(s.boxes, [4]int{midX, midY, thick, h - midY})
		}
	}
	switch {
	case strings.Contains(directions, "lr") && len(directions) == 2:
		s.boxes = [][4]int{{0, midY, w, thick}}
	case directions == "ud":
		s.boxes = [][4]int{{midX, 0, thick, h}}
	}
	return s, true
}
