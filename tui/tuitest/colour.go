package tuitest

import (
	"fmt"
	"image/color"
	"strconv"

	"github.com/charmbracelet/x/ansi"
)

// colourName is a colour as a Style holds it.
func colourName(c color.Color) string {
	switch c := c.(type) {
	case nil:
		return ""
	case ansi.BasicColor:
		return strconv.Itoa(int(c))
	case ansi.IndexedColor:
		return strconv.Itoa(int(c))
	default:
		return hexOf(c)
	}
}

// hexOf is a colour as #rrggbb.
func hexOf(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// seen is what a named colour looks like: itself, the palette's, or usual where
// there is none.
func seen(name string, usual color.Color) string {
	if name == "" {
		return hexOf(usual)
	}
	if n, err := strconv.ParseUint(name, 10, 8); err == nil {
		return hexOf(ansi.IndexedColor(n))
	}
	return name
}

// mix lies halfway between two colours, #rrggbb each.
func mix(a, b string) string {
	x, errX := strconv.ParseUint(a[1:], 16, 24)
	y, errY := strconv.ParseUint(b[1:], 16, 24)
	if errX != nil || errY != nil {
		return a
	}
	half := func(shift uint) uint64 { return ((x>>shift)&0xff + (y>>shift)&0xff) / 2 }
	return fmt.Sprintf("#%02x%02x%02x", half(16), half(8), half(0))
}

// inks are the colours in which the cell's text and ground are seen.
func (f Frame) inks(s Style) (text, ground string) {
	text, ground = seen(s.Fg, f.Text), seen(s.Bg, f.Ground)
	if s.Reverse {
		text, ground = ground, text
	}
	if s.Faint {
		text = mix(text, ground)
	}
	if s.Conceal {
		text = ground
	}
	return text, ground
}
