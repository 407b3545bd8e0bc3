package text

import (
	"strconv"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func FuzzClean(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, uint8(20))
	}
	f.Fuzz(func(t *testing.T, s string, width uint8) {
		checkForms(t, s)
		q := Quote(s)
		checkClean(t, q)
		if back, err := strconv.Unquote(q); q != s && (err != nil || back != s) {
			t.Fatalf("Unquote(%s) = %+q, %v; want %+q", q, back, err, s)
		}
		row := Fit(s, int(width))
		if c, w := ansi.StringWidth(row), ansi.StringWidthWc(row); c != int(width) || w != int(width) {
			t.Fatalf("Fit(%+q, %d) = %+q: %d and %d cells", s, width, row, c, w)
		}
		for _, form := range []Form{Natural, Even, Exact} {
			w := Wrapper{Text: s, Width: int(width)%50 + 26, Form: form, Words: width&1 == 0, Tab: 8}
			end := 0
			for _, r := range w.Rows(0, len(s)+1) {
				if r.Start != end || widest(r.Text) > w.Width {
					t.Fatalf("row %+v after %d, width %d", r, end, w.Width)
				}
				end = r.End
			}
			if end != len(s) {
				t.Fatalf("rows end at %d of %d", end, len(s))
			}
		}
	})
}
