package tuitest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Unsized as a number of columns or rows is a terminal that does not know: the
// program is told 0.
const Unsized = -1

const (
	defaultCols, defaultRows = 80, 24
	defaultTimeout           = 20 * time.Second
)

// Options say what is started and in which terminal. The zero value is the
// program under test without arguments in a dark, silent 80×24 true-colour
// terminal.
type Options struct {
	// Cmd is the command to run; nil is the program that Build gives. Its path,
	// arguments, environment, directory and credentials are taken over, and it
	// is not itself started, so that one Cmd may serve often.
	Cmd  *exec.Cmd
	Args []string // more arguments
	Env  []string // more variables, KEY=VALUE; the last of a name counts
	Dir  string   // where it starts; empty is the home's Work
	Home *Home    // nil is a new one

	Cols, Rows int     // 0 is 80 and 24
	Profile    Profile // empty is TrueColor
	Light      bool    // a light background

	// Answer lets the terminal answer what programs ask: colours (OSC 10, 11,
	// 12), device attributes, the cursor's position, and modes, of which it
	// knows synchronised output (2026) and grapheme clusters (2027).
	Answer bool

	Pace    time.Duration // between two keys; 0 is as fast as the program reads them
	Timeout time.Duration // of waits that name none; 0 is 20 s
}

// command is the command to start, never one that was started before.
func (o Options) command(tb testing.TB) *exec.Cmd {
	tb.Helper()
	from := o.Cmd
	if from == nil {
		from = exec.Command(Build(tb))
	}
	if from.Err != nil {
		tb.Fatalf("start %s: %v", from.Path, from.Err)
	}
	args := from.Args
	if len(args) == 0 {
		args = []string{from.Path}
	}
	cmd := &exec.Cmd{Path: from.Path, Dir: from.Dir, SysProcAttr: from.SysProcAttr}
	cmd.Args = append(append([]string(nil), args...), o.Args...)
	if o.Dir != "" {
		cmd.Dir = o.Dir
	}
	if cmd.Dir == "" {
		cmd.Dir = o.Home.Work
	}
	cmd.Env = mergeEnv(o.Home.Env(o.Profile), from.Env, o.Env)
	return cmd
}

// mergeEnv joins environments; the last of a name counts.
func mergeEnv(lists ...[]string) []string {
	var merged []string
	at := map[string]int{}
	for _, list := range lists {
		for _, entry := range list {
			name, _, _ := strings.Cut(entry, "=")
			if i, ok := at[name]; ok {
				merged[i] = entry
				continue
			}
			at[name] = len(merged)
			merged = append(merged, entry)
		}
	}
	return merged
}

// reported is what the program is told of a dimension.
func reported(n, usual int) (int, error) {
	switch {
	case n == 0:
		return usual, nil
	case n == Unsized:
		return 0, nil
	case n < 0 || n > 65535:
		return 0, fmt.Errorf("%d is no size for a terminal", n)
	default:
		return n, nil
	}
}

// drawn is a dimension of the screen behind one that is reported: a terminal
// that does not tell its size still has one.
func drawn(n, usual int) int {
	if n == 0 {
		return usual
	}
	return n
}
