// Package gate holds the checks that decide whether a task is done: a command that must succeed, a file that must
// contain a text.
package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"tillerman/core/sandbox"
)

// Gate is one check. Exactly one of Argv and File is set.
type Gate struct {
	Argv []string `json:"argv,omitempty"`
	// Shell says that Argv is sh -c and a line that is no simple command.
	Shell bool   `json:"shell,omitempty"`
	File  string `json:"file,omitempty"` // workspace-relative
	Text  string `json:"text,omitempty"`
}

// timeout bounds one command: a check that hangs must not hold a run for ever.
const timeout = 30 * time.Minute

// readLimit bounds how much of a file a contains check reads.
const readLimit = 64 << 20

// Command makes a gate of a command line. One simple command becomes its words; anything with operators, expansions or
// redirections is run by sh -c and shown so.
func Command(line string) (Gate, error) {
	if strings.TrimSpace(line) == "" {
		return Gate{}, errors.New("the command is empty")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return Gate{}, fmt.Errorf("the command cannot be read: %v", err)
	}
	if argv, ok := simple(file); ok {
		return Gate{Argv: argv}, nil
	}
	return Gate{Argv: []string{"sh", "-c", line}, Shell: true}, nil
}

// simple is the words of a file that is one command made of literals.
func simple(file *syntax.File) ([]string, bool) {
	if len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, false
	}
	st := file.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || len(st.Redirs) > 0 || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil, false
	}
	var argv []string
	for _, word := range call.Args {
		s, ok := literal(word)
		if !ok {
			return nil, false
		}
		argv = append(argv, s)
	}
	return argv, true
}

// literal is a word's text when nothing in it would be expanded.
func literal(word *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "\\*?[~{") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || strings.Contains(lit.Value, "\\") {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// Contains makes a gate of FILE:TEXT.
func Contains(spec string) (Gate, error) {
	file, text, ok := strings.Cut(spec, ":")
	if !ok || file == "" || text == "" {
		return Gate{}, fmt.Errorf("%q is not FILE:TEXT", spec)
	}
	file = filepath.ToSlash(filepath.Clean(file))
	if !filepath.IsLocal(file) {
		return Gate{}, fmt.Errorf("%q is not inside the workspace", file)
	}
	return Gate{File: file, Text: text}, nil
}

// Check says what would keep the gate from ever running.
func (g Gate) Check(string) error {
	switch {
	case len(g.Argv) == 0 && g.File == "":
		return errors.New("is empty")
	case len(g.Argv) > 0 && g.File != "":
		return errors.New("is both a command and a file")
	case g.File != "" && g.Text == "":
		return errors.New("names no text")
	}
	return nil
}

// Phase names the gate at its 1-based place: command:1, contains:2.
func (g Gate) Phase(place int) string {
	kind := "contains"
	if len(g.Argv) > 0 {
		kind = "command"
	}
	return fmt.Sprintf("%s:%d", kind, place)
}

// Target is the gate for people: the command as typed, or the file and its text.
func (g Gate) Target() string {
	switch {
	case g.Shell:
		return g.Argv[2]
	case len(g.Argv) > 0:
		return Words(g.Argv)
	}
	return g.File + " contains " + fmt.Sprintf("%q", g.Text)
}

// Words shows argv so that its words can be told apart: words with anything but plain characters are quoted.
func Words(argv []string) string {
	var b strings.Builder
	for i, w := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		quoted, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			quoted = fmt.Sprintf("%q", w)
		}
		b.WriteString(quoted)
	}
	return b.String()
}

// Files lists the gate's words that are regular files of the workspace: what decides the verdict beside the command.
func (g Gate) Files(root string) []string {
	var files []string
	words := g.Argv
	if g.Shell {
		words = strings.FieldsFunc(g.Argv[2], func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()'\"", r) })
	}
	for _, w := range words {
		rel := filepath.ToSlash(filepath.Clean(w))
		if !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		if info, err := os.Stat(filepath.Join(root, rel)); err == nil && info.Mode().IsRegular() {
			files = append(files, rel)
		}
	}
	return files
}

// Result is one run of a gate. Output is what a failed gate has to say.
type Result struct {
	Passed   bool
	Output   string
	TimedOut bool
}

// Run runs the gate. Its error means that it was interrupted or could not be tried, not that it failed.
func (g Gate) Run(ctx context.Context, root string, runner *sandbox.Runner, output func([]byte)) (Result, error) {
	if g.File != "" {
		return g.contains(root)
	}
	res, err := runner.Run(ctx, sandbox.Command{Argv: g.Argv, Dir: root, Timeout: timeout, Output: output})
	if err != nil {
		return Result{}, err
	}
	out := Result{Output: strings.ToValidUTF8(string(res.Output), "\ufffd"), TimedOut: res.TimedOut}
	if res.Hint != "" {
		out.Output += "\n[" + res.Hint + "]"
	}
	switch {
	case res.NotFound != "":
		out.Output = "cannot be run: " + res.NotFound
	case res.Limit != "":
		out.Output += "\n[stopped: " + res.Limit + "]"
	case res.TimedOut:
		out.Output += fmt.Sprintf("\n[timed out after %d s]", int(timeout.Seconds()))
	case res.Signal != "":
		out.Output += "\n[ended by signal " + res.Signal + "]"
	case res.Exit != 0:
		out.Output += fmt.Sprintf("\n[exit %d]", res.Exit)
	default:
		out.Passed = true
	}
	return out, nil
}

func (g Gate) contains(root string) (Result, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return Result{}, err
	}
	defer dir.Close()
	f, err := dir.OpenFile(filepath.FromSlash(g.File), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold the check
	if errors.Is(err, os.ErrNotExist) {
		return Result{Output: g.File + " does not exist"}, nil
	}
	if err != nil {
		return Result{Output: g.File + " cannot be read"}, nil
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, readLimit))
	if err != nil {
		return Result{Output: g.File + " cannot be read"}, nil
	}
	if strings.Contains(string(body), g.Text) {
		return Result{Passed: true}, nil
	}
	return Result{Output: fmt.Sprintf("%s does not contain %q", g.File, g.Text)}, nil
}
