package text

import (
	"fmt"
	"slices"
	"strings"
)

// Excerpt shows long output by its ends: the first head and the last tail lines of
// s, each as a [Line] of at most width cells with an ellipsis where it was cut,
// and between them a line that says how many were left out. If that would save
// nothing, all lines are shown. A width under 1 cuts no line. Only what is shown is
// cleaned.
func Excerpt(s string, head, tail, width int) []string {
	s = strings.TrimSuffix(s, "\n")
	if s == "" {
		return nil
	}
	head, tail = max(head, 0), max(tail, 0)
	left := strings.Count(s, "\n") + 1 - head - tail
	if left <= 1 {
		head, left = head+tail+left, 0
	}
	var rows []string
	for range head {
		line, rest, _ := strings.Cut(s, "\n")
		rows = append(rows, cutLine(line, width))
		s = rest
	}
	if left == 0 {
		return rows
	}
	rows = append(rows, cutLine(fmt.Sprintf("… %d lines left out …", left), width))
	for range tail {
		// From the end, so that what is left out is not walked through.
		i := strings.LastIndexByte(s, '\n')
		rows = append(rows, cutLine(s[i+1:], width))
		s = s[:max(i, 0)]
	}
	slices.Reverse(rows[len(rows)-tail:])
	return rows
}

func cutLine(s string, width int) string {
	if width < 1 {
		return Line(s)
	}
	return Truncate(s, width, ellipsis)
}
