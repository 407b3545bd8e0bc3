package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tillerman/core/policy"
)

// findMost is how many paths find gives.
const findMost = 500

type findTool struct{}

type findArgs struct {
	Glob  string `json:"glob"`
	Path  string `json:"path"`
	Real  string `json:"real"`
	Limit int    `json:"limit"`
}

func (a *findArgs) params() []param {
	a.Path, a.Limit = ".", findMost
	return []param{
		{name: "glob", into: &a.Glob, need: true, about: globAbout},
		{name: "path", into: &a.Path, about: "Directory to search."},
		{name: "limit", into: &a.Limit, min: 1, max: findMost, about: "How many paths to give."},
	}
}

// globAbout tells a model what globs mean.
const globAbout = "Glob: * stays within a directory, ** crosses them, ? is one character, [a-z] and {a,b} are choices. " +
	"Without a slash it matches file names at any depth, with one the path below the directory searched."

func (findTool) builtin() {}

func (findTool) Spec() Spec {
	return Spec{
		Name: "find",
		Description: "List the files whose name or path fits a glob, one path a line, sorted. Skips .git and what .gitignore names. " +
			"A path with unusual characters is shown in double quotes with escapes; other tools take it in that form.",
		Schema: schema((&findArgs{}).params()),
		Safety: Pure,
		Reach:  ReachCooperative,
	}
}

func (findTool) Plan(_ context.Context, env Env, raw json.RawMessage) (Plan, error) {
	var args findArgs
	if err := decode("find", raw, args.params()); err != nil {
		return Plan{}, err
	}
	if err := checkGlob(args.Glob); err != nil {
		return Plan{}, fmt.Errorf("find: %w", err)
	}
	at, err := env.place(args.Path)
	if err != nil {
		return Plan{}, fmt.Errorf("find: %w", err)
	}
	action, _ := env.judge(policy.Read, at)
	args.Path, args.Real = QuoteName(at.given), QuoteName(at.real)
	return Plan{Action: action, Target: args.Glob, Args: encode(args)}, nil
}

func (findTool) Run(ctx context.Context, env Env, plan Plan) (Result, error) {
	var args findArgs
	if err := json.Unmarshal(plan.Args, &args); err != nil {
		return Result{}, fmt.Errorf("find: its plan: %w", err)
	}
	if args.Real == outsideName {
		return outside(args.Path), nil
	}
	s := search{env: env, given: UnquoteName(args.Path), real: UnquoteName(args.Real), glob: args.Glob}
	var lines []string
	more := 0
	w, err := s.run(ctx, func(it item) error {
		switch {
		case it.info.IsDir() || !s.fits(it.path):
		case len(lines) < args.Limit:
			lines = append(lines, QuoteName(s.shown(it.path)))
		default:
			more++
		}
		return nil
	})
	if ctx.Err() != nil {
		return Result{}, interrupted(ctx, "find")
	}
	if err != nil {
		return dirTrouble(args.Path, err), nil
	}
	if lines == nil {
		lines = append(lines, "[no file fits]")
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("[%s not shown]", plural(more, "more path", "more paths")))
	}
	return Result{Text: strings.Join(append(lines, w.notes()...), "\n")}, nil
}
