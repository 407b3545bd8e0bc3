package frame

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tillerman/themes"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
)

// TestKeysAreWhole wants every key that is shown to be shown with all of its words, in windows of any width.
func TestKeysAreWhole(t *testing.T) {
	theme, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	p, all := paint.New(theme, 0, false), keys.Default().In(keys.OnLive)
	for width := 3; width < 200; width++ {
		got := ansi.Strip(Caps(p.Line(width, paint.Plain).Gap(2), all, width))
		if strings.Contains(got, "…") {
			t.Errorf("%d: %s", width, got)
		}
	}
}
