package themes

import (
	"image/color"
	"math"
	"strings"
	"testing"
)

// luminance and contrast are those of WCAG 2.1.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	channel := func(v uint32) float64 {
		s := float64(v) / 0xffff
		if s <= 0.03928 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(r) + 0.7152*channel(g) + 0.0722*channel(b)
}

func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestTextIsReadableOnEveryGroundItIsDrawnOn(t *testing.T) {
	for _, name := range Names() {
		th, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		inks := map[string]color.Color{
			"text": th.Text, "soft": th.Soft, "accent": th.Accent, "amber": th.Amber, "red": th.Red, "green": th.Green, "blue": th.Blue, "violet": th.Violet,
		}
		grounds := map[string]color.Color{"ground": th.Ground, "panel": th.Panel, "selection": th.Selection}
		for i, ink := range inks {
			for g, ground := range grounds {
				if c := contrast(ink, ground); c < 4.5 {
					t.Errorf("%s: %s on %s is %.2f:1, want 4.5:1", name, i, g, c)
				}
			}
		}
		for pair, c := range map[string]float64{
			"dim on ground": contrast(th.Dim, th.Ground), "text on key cap": contrast(th.Text, th.KeyCap),
			"green on added": contrast(th.Green, th.Added), "red on removed": contrast(th.Red, th.Removed),
		} {
			if c < 4.5 {
				t.Errorf("%s: %s is %.2f:1, want 4.5:1", name, pair, c)
			}
		}
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{"name = \"x\"\n", "ground"}, {"name = \"x\"\nground = \"blue\"\n", "#rrggbb"}, {"colour = 1\n", "theme x.toml"},
	} {
		if _, err := Parse("x.toml", []byte(tc.body)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v", tc.body, err)
		}
	}
	if _, err := Load("none"); err == nil || !strings.Contains(err.Error(), "dark") {
		t.Errorf("%v", err)
	}
}
