package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tillerman/core/policy"
)

// Limits of one read_file call.
const (
	readLines  = 2000
	readBytes  = 256 << 10
	wholeBytes = 64 << 20 // a larger file is read by range only, and its lines are not counted
)

type readTool struct{}

type readArgs struct {
	Path   string `json:"path"`
	Real   string `json:"real"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

func (a *readArgs) params() []param {
	return []param{
		{name: "path", into: &a.Path, need: true, about: pathAbout},
		{name: "offset", into: &a.Offset, min: 1, max: 1<<31 - 1, about: "First line to read, counted from 1."},
		{name: "limit", into: &a.Limit, min: 1, max: readLines, about: "How many lines to read."},
	}
}

// pathAbout tells a model how to name files, in every tool that takes a path.
const pathAbout = `Path relative to the workspace. A name that a result shows in double quotes may be given in those quotes.`

func (readTool) builtin() {}

func (readTool) Spec() Spec {
	return Spec{
		Name: "read_file",
		Description: "Read a text file. Gives its text exactly as stored, at most 2000 lines or 256 KiB a call; a closing note in brackets " +
			"says which lines you got and how to go on, and is absent when you got the whole file. Bytes that are not UTF-8 appear as " +
			`\xNN. Binary files are refused. A file over 64 MiB needs offset or limit.`,
		Schema: schema((&readArgs{}).params()),
		Safety: Pure,
		Reach:  ReachCooperative,
	}
}

func (readTool) Plan(_ context.Context, env Env, raw json.RawMessage) (Plan, error) {
	var args readArgs
	if err := decode("read_file", raw, args.params()); err != nil {
		return Plan{}, err
	}
	at, err := env.place(args.Path)
	if err != nil {
		return Plan{}, fmt.Errorf("read_file: %w", err)
	}
	action, _ := env.judge(policy.Read, at)
	args.Path, args.Real = QuoteName(at.given), QuoteName(at.real)
	return Plan{Action: action, Target: args.Path, Args: encode(args)}, nil
}

func (readTool) Run(ctx context.Context, env Env, plan Plan) (Result, error) {
	var args readArgs
	if err := json.Unmarshal(plan.Args, &args); err != nil {
		return Result{}, fmt.Errorf("read_file: its plan: %w", err)
	}
	if args.Real == outsideName {
		return outside(args.Path), nil
	}
	file, info, err := openReal(env.Root, UnquoteName(args.Real))
	if err != nil {
		return trouble(args.Path, err), nil
	}
	defer file.Close()
	large := info.Size() > wholeBytes
	if large && args.Offset == 0 && args.Limit == 0 {
		return failed("too large: %s has %d bytes; give offset and limit to read a part of it", args.Path, info.Size()), nil
	}
	if args.Limit == 0 {
		args.Limit = readLines
	}
	part, err := readPart(ctx, file, max(args.Offset, 1), args.Limit, !large)
	switch {
	case errors.Is(err, errBinary):
		return failed("binary: %s is not text (%d bytes)", args.Path, info.Size()), nil
	case ctx.Err() != nil:
		return Result{}, interrupted(ctx, "read_file")
	case err != nil:
		return trouble(args.Path, err), nil
	}
	if part.cut > 0 {
		part.text = env.head(part.text)
	}
	return part.result(args), nil
}

// outsideName stands in a plan for a place outside the workspace: QuoteName writes an empty path so.
const outsideName = `""`

// outside answers a call whose path led out when it was planned. The policy denies such a call; this holds if it does
// not.
func outside(name string) Result {
	return failed("outside: %s is not in the workspace", name)
}

// result words what was read.
func (p part) result(args readArgs) Result {
	if p.last == 0 {
		if p.total == 0 {
			return Result{Text: "[empty file]"}
		}
		return failed("past the end: %s has %s, and offset is %d", args.Path, plural(p.total, "line", "lines"), args.Offset)
	}
	text, escaped := escapeInvalid(p.text)
	var notes []string
	if escaped > 0 {
		notes = append(notes, fmt.Sprintf(`[%s of invalid UTF-8 shown as \xNN]`, plural(escaped, "byte", "bytes")))
	}
	if p.cut > 0 {
		notes = append(notes, fmt.Sprintf("[line %d has %d bytes; only its first %d are shown]", p.last, p.cut, len(p.text)))
	}
	if !p.whole() {
		notes = append(notes, p.span())
	}
	if notes == nil {
		return Result{Text: text}
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return Result{Text: text + strings.Join(notes, "\n")}
}

func (p part) whole() bool { return p.first == 1 && p.last == p.total && p.cut == 0 }

// span says which lines these are, and how to go on.
func (p part) span() string {
	note := fmt.Sprintf("[lines %d-%d", p.first, p.last)
	switch {
	case p.total < 0:
		note += fmt.Sprintf("; more follow, go on with offset %d", p.last+1)
	case p.last < p.total:
		note += fmt.Sprintf(" of %d; go on with offset %d", p.total, p.last+1)
	default:
		note += fmt.Sprintf(" of %d", p.total)
		if p.cut == 0 && p.text[len(p.text)-1] != '\n' {
			note += "; the last has no newline at its end"
		}
	}
	return note + "]"
}
