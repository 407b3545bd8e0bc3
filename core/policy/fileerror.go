package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// FileError is one thing wrong with a policy file: where, what, and what to do about it. Errors of Parse and Load that
// concern the contents are one of these or several joined by errors.Join.
type FileError struct {
	File    string
	Line    int // from 1
	Column  int // from 1, in characters
	Problem string
	Advice  string
}

// Error is in the form that editors jump by: file:line:column: text.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s; %s", e.File, e.Line, e.Column, e.Problem, e.Advice)
}

// flaw is what keeps a rule from being enforced, and what to do about it.
type flaw struct{ problem, advice string }

func (f flaw) Error() string { return f.problem + "; " + f.advice }

// in says what the flaw is found in.
func (f flaw) in(kind, text string) flaw {
	return flaw{kind + " " + quoted(text) + ": " + f.problem, f.advice}
}

// quoted is text from outside as errors show it: cut where it is long, and everything in it visible.
func quoted(text string) string {
	const longest = 80
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return strconv.Quote(text)
}

// visible shows every character of a text that could move a cursor or hide another one.
func visible(text string) string {
	inner := strings.Trim(strconv.Quote(text), `"`)
	return strings.ReplaceAll(inner, `\"`, `"`)
}
