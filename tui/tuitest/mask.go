package tuitest

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Mask covers text that differs from run to run, in goldens only. What its
// expression finds in a row, or the first group of it where it has one, is
// replaced by as many fillers as it has cells, so that columns stay true. Text
// whose width differs needs a fixed clock instead.
type Mask struct {
	Find *regexp.Regexp
	Fill rune // one cell wide
}

// Cover masks what an expression finds with the filler ░. It panics when the
// expression is wrong, as regexp.MustCompile does.
func Cover(expr string) Mask { return Mask{regexp.MustCompile(expr), '░'} }

// Durations masks spans of time: "12.4 s", "350ms", "1m 02s", "2h3m".
func Durations() Mask {
	const one = `\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|min|m|h)`
	return Mask{regexp.MustCompile(`\b` + one + `(?: ?` + one + `)*\b`), 'd'}
}

// Clocks masks times of day and dates: "15:04", "15:04:05.123", "2006-01-02",
// with or without what RFC 3339 puts around them.
func Clocks() Mask {
	const clock = `\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?`
	return Mask{regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}(?:[T ]` + clock + `(?:Z|[+-]\d{2}:\d{2})?)?|\b` + clock + `\b`), 't'}
}

// Digests masks runs of eight or more hexadecimal digits in lower case.
func Digests() Mask { return Mask{regexp.MustCompile(`\b[0-9a-f]{8,}\b`), 'x'} }

// PIDs masks the number behind a word for a process: "pid 123", "process 123".
func PIDs() Mask {
	return Mask{regexp.MustCompile(`(?i)\b(?:pid|process|pgid|group)[ :=]+(\d+)\b`), 'p'}
}

// Paths masks the home's directory wherever it stands.
func (h *Home) Paths() Mask { return Mask{regexp.MustCompile(regexp.QuoteMeta(h.Dir)), '~'} }

// cover applies masks to a row, each to what the ones before left.
func cover(line string, masks []Mask) string {
	for _, m := range masks {
		var b strings.Builder
		done := 0
		for _, at := range m.Find.FindAllStringSubmatchIndex(line, -1) {
			from, to := at[0], at[1]
			if len(at) > 2 && at[2] >= 0 {
				from, to = at[2], at[3]
			}
			b.WriteString(line[done:from])
			b.WriteString(strings.Repeat(string(m.Fill), ansi.StringWidth(line[from:to])))
			done = to
		}
		line = b.String() + line[done:]
	}
	return line
}
