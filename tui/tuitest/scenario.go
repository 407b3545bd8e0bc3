package tuitest

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// scenario is a parsed scenario.
type scenario struct {
	steps []step
	files []file
}

// step is a line of a scenario.
type step struct {
	line int
	text string // as it was written
	do   action
}

// file is put into the working directory before anything starts.
type file struct{ name, data string }

// parse reads a scenario. Every error names the line.
func parse(name, text string) (*scenario, error) {
	var s scenario
	at := place{running: map[string]bool{}, started: map[string]bool{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if marker, ok := fileMarker(line); ok {
			if !filepath.IsLocal(marker) || path.Clean(marker) != marker || marker == "." {
				return nil, fmt.Errorf("%s:%d: %q is no place inside the working directory", name, n, marker)
			}
			s.files = append(s.files, file{name: marker})
			continue
		}
		if len(s.files) > 0 {
			s.files[len(s.files)-1].data += line + "\n"
			continue
		}
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		do, err := parseStep(line, &at)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		s.steps = append(s.steps, step{n, line, do})
	}
	if len(s.steps) == 0 {
		return nil, fmt.Errorf("%s: no steps", name)
	}
	return &s, nil
}

// fileMarker reads a line "-- name --".
func fileMarker(line string) (string, bool) {
	line = strings.TrimRight(line, " \t")
	rest, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	name, ok := strings.CutSuffix(rest, " --")
	name = strings.TrimSpace(name)
	return name, ok && name != ""
}

// place is where a step stands among the others, as far as the text tells.
type place struct {
	current string
	running map[string]bool // and its exit was not looked at
	started map[string]bool
}

func parseStep(line string, at *place) (action, error) {
	rest, negated := strings.CutPrefix(line, "!")
	rest = strings.TrimSpace(rest)
	name, args := rest, ""
	if i := strings.IndexAny(rest, " \t"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	v, ok := verbs[name]
	if !ok {
		return nil, fmt.Errorf("no step is named %q", name)
	}
	if negated {
		if v.not == nil {
			return nil, fmt.Errorf("%q has no opposite", name)
		}
		v.parse = v.not
	}
	switch {
	case v.when == before && at.running[at.current]:
		return nil, fmt.Errorf("%q comes before start", name)
	case v.when == after && !at.started[at.current]:
		return nil, fmt.Errorf("%q needs a program that was started", name)
	}
	do, err := v.parse(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch name {
	case "terminal":
		at.current = args
	case "start":
		at.running[at.current], at.started[at.current] = true, true
	case "exit":
		at.running[at.current] = false
	}
	return do, nil
}

// oneText reads TEXT.
func oneText(args string) (string, error) {
	if args == "" {
		return "", errors.New("a text is missing")
	}
	if args[0] != '"' {
		return args, nil
	}
	text, err := strconv.Unquote(args)
	if err != nil {
		return "", fmt.Errorf("%s is not one string in quotes", args)
	}
	return text, nil
}

// words reads WORDS.
func words(args string) ([]string, error) {
	var all []string
	for args = strings.TrimLeft(args, " \t"); args != ""; args = strings.TrimLeft(args, " \t") {
		end := strings.IndexAny(args, " \t")
		if args[0] != '"' {
			if end < 0 {
				end = len(args)
			}
			all, args = append(all, args[:end]), args[end:]
			continue
		}
		quoted, err := strconv.QuotedPrefix(args)
		if err != nil {
			return nil, fmt.Errorf("the string %s has no end", args)
		}
		args = args[len(quoted):]
		if args != "" && args[0] != ' ' && args[0] != '\t' {
			return nil, fmt.Errorf("no space behind %s", quoted)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("%s is not a string in quotes", quoted)
		}
		all = append(all, word)
	}
	return all, nil
}
