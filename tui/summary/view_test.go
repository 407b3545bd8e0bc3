package summary

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"tillerman/themes"
	"tillerman/tui/paint"
)

// TestWordsKeepTheShapeOfATextThatIsBroken wants the indent of code in a final message, and its empty lines.
func TestWordsKeepTheShapeOfATextThatIsBroken(t *testing.T) {
	o := &page{p: paint.New(themes.Theme{}, colorprofile.ASCII, false), width: 30}
	o.words(paint.Text, "It works:\n\n    if a {\n        return the first of them\n    }\ndone")
	want := []string{
		"  It works:", "", "      if a {", "          return the first", "          of them", "      }", "  done",
	}
	var got []string
	for _, l := range o.lines {
		got = append(got, strings.TrimRight(ansi.Strip(l), " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
