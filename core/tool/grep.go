package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"tillerman/core/policy"
)

// Limits of one grep call.
const (
	grepMost  = 200      // matching lines given
	grepWidth = 400      // characters given of a line
	grepBytes = 64 << 20 // larger files are left out
)

type grepTool struct{}

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Real    string `json:"real"`
	Glob    string `json:"glob"`
	Limit   int    `json:"limit"`
}

func (a *grepArgs) params() []param {
	a.Path, a.Limit = ".", grepMost
	return []param{
		{name: "pattern", into: &a.Pattern, need: true, about: "Regular expression in RE2 syntax, matched against one line at a time; begin it with (?i) to ignore case."},
		{name: "path", into: &a.Path, about: "File or directory to search."},
		{name: "glob", into: &a.Glob, about: "Search only files that fit this. " + globAbout},
		{name: "limit", into: &a.Limit, min: 1, max: grepMost, about: "How many matching lines to give."},
	}
}

func (grepTool) builtin() {}

func (grepTool) Spec() Spec {
	return Spec{
		Name: "grep",
		Description: "Search the text of files. Gives path:line: text for each matching line, sorted by path, lines cut at 400 characters. " +
			"Skips .git, what .gitignore names, binary files and files over 64 MiB. A path with unusual characters is shown in double " +
			"quotes with escapes; other tools take it in that form.",
		Schema: schema((&grepArgs{}).params()),
		Safety: Pure,
		Reach:  ReachCooperative,
	}
}

func (grepTool) Plan(_ context.Context, env Env, raw json.RawMessage) (Plan, error) {
	var args grepArgs
	if err := decode("grep", raw, args.params()); err != nil {
		return Plan{}, err
	}
	if len(args.Pattern) > maxPattern {
		return Plan{}, fmt.Errorf("grep: the pattern is longer than %d bytes", maxPattern)
	}
	if _, err := regexp.Compile(args.Pattern); err != nil {
		return Plan{}, fmt.Errorf("grep: %w", err)
	}
	if err := checkGlob(args.Glob); err != nil {
		return Plan{}, fmt.Errorf("grep: %w", err)
	}
	at, err := env.place(args.Path)
	if err != nil {
		return Plan{}, fmt.Errorf("grep: %w", err)
	}
	action, _ := env.judge(policy.Read, at)
	args.Path, args.Real = QuoteName(at.given), QuoteName(at.real)
	return Plan{Action: action, Target: args.Pattern, Args: encode(args)}, nil
}

func (grepTool) Run(ctx context.Context, env Env, plan Plan) (Result, error) {
	var args grepArgs
	if err := json.Unmarshal(plan.Args, &args); err != nil {
		return Result{}, fmt.Errorf("grep: its plan: %w", err)
	}
	if args.Real == outsideName {
		return outside(args.Path), nil
	}
	expr, err := regexp.Compile(args.Pattern)
	if err != nil {
		return Result{}, fmt.Errorf("grep: its plan: %w", err)
	}
	s := search{env: env, given: UnquoteName(args.Path), real: UnquoteName(args.Real), glob: args.Glob}
	g := &grep{expr: expr, head: env.head, limit: args.Limit}
	notes, err := g.search(ctx, s)
	switch {
	case ctx.Err() != nil:
		return Result{}, interrupted(ctx, "grep")
	case errors.Is(err, errBinary):
		return failed("binary: %s is not text", args.Path), nil
	case err != nil:
		return dirTrouble(args.Path, err), nil
	}
	return Result{Text: strings.Join(append(g.report(), notes...), "\n")}, nil
}

// grep gathers the matching lines of one call.
type grep struct {
	expr       *regexp.Regexp
	head       func([]byte) []byte
	limit      int
	hits       []string
	more       int // matching lines beyond limit
	large      int // files over grepBytes
	unreadable int
}

// search looks through a directory, or through the one file that the call names.
func (g *grep) search(ctx context.Context, s search) ([]string, error) {
	it, err := s.file()
	if err != nil {
		return nil, err
	}
	if it.in != nil {
		defer it.in.Close()
		return nil, g.file(ctx, it, s.given)
	}
	w, err := s.run(ctx, func(it item) error {
		if !it.info.Mode().IsRegular() || !s.fits(it.path) {
			return nil
		}
		if err := g.file(ctx, it, s.shown(it.path)); err != nil && !errors.Is(err, errBinary) && ctx.Err() == nil {
			g.unreadable++
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return w.notes(), nil
}

// file looks through one file.
func (g *grep) file(ctx context.Context, it item, shown string) error {
	if it.info.Size() > grepBytes {
		g.large++
		return nil
	}
	file, _, err := openFile(it.in, it.name)
	if err != nil {
		return err
	}
	defer file.Close()
	body, err := io.ReadAll(io.LimitReader(file, grepBytes))
	if err != nil {
		return bare(err)
	}
	if bytes.IndexByte(body, 0) >= 0 || binary(body[:min(len(body), sampleSize)]) {
		return errBinary
	}
	number := 0
	for line := range bytes.Lines(body) {
		if number++; number%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if !g.expr.Match(line) {
			continue
		}
		if len(g.hits) == g.limit {
			g.more++
			continue
		}
		g.hits = append(g.hits, fmt.Sprintf("%s:%d: %s", QuoteName(shown), number, shorten(line, g.head)))
	}
	return nil
}

// shorten makes text of a line, at most grepWidth characters of it.
func shorten(line []byte, head func([]byte) []byte) string {
	end := 0
	for n := 0; n < grepWidth && end < len(line); n++ {
		_, size := utf8.DecodeRune(line[end:])
		end += size
	}
	if end < len(line) {
		end = len(head(line[:end]))
	}
	text, _ := escapeInvalid(line[:end])
	if end < len(line) {
		text += fmt.Sprintf("… [%s more]", plural(len(line)-end, "byte", "bytes"))
	}
	return text
}

// report words what was found.
func (g *grep) report() []string {
	lines := g.hits
	if lines == nil {
		lines = []string{"[no match]"}
	}
	if g.more > 0 {
		lines = append(lines, fmt.Sprintf("[%s not shown]", plural(g.more, "more matching line", "more matching lines")))
	}
	if g.large > 0 {
		lines = append(lines, fmt.Sprintf("[%s over 64 MiB not searched]", plural(g.large, "file", "files")))
	}
	if g.unreadable > 0 {
		lines = append(lines, fmt.Sprintf("[%s could not be read]", plural(g.unreadable, "file", "files")))
	}
	return lines
}
