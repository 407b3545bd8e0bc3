package sandbox

import (
	"strings"
	"unicode"
)

// process is a row of the system's process table.
type process struct {
	identity
	parent  int
	group   int
	session int
	name    string
	dead    bool // ended, and not yet waited for
}

// identity tells a process from a later one with the same pid.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in the system's own unit; 0 is unknown
}

// printable makes a name that a process chose safe to print.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, name)
}
