package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tillerman/core/policy"
)

// listMost is how many entries of a directory list gives.
const listMost = 2000

type listTool struct{}

type listArgs struct {
	Path string `json:"path"`
	Real string `json:"real"`
}

func (a *listArgs) params() []param {
	a.Path = "."
	return []param{{name: "path", into: &a.Path, about: pathAbout}}
}

func (listTool) builtin() {}

func (listTool) Spec() Spec {
	return Spec{
		Name: "list",
		Description: "List one directory, sorted, a line each: the kind (file, dir, link, other), the size in bytes of a file or - , and " +
			"the name. A name with unusual characters is shown in double quotes with escapes; other tools take it in that form.",
		Schema: schema((&listArgs{}).params()),
		Safety: Pure,
		Reach:  ReachCooperative,
	}
}

func (listTool) Plan(_ context.Context, env Env, raw json.RawMessage) (Plan, error) {
	var args listArgs
	if err := decode("list", raw, args.params()); err != nil {
		return Plan{}, err
	}
	at, err := env.place(args.Path)
	if err != nil {
		return Plan{}, fmt.Errorf("list: %w", err)
	}
	action, _ := env.judge(policy.Read, at)
	args.Path, args.Real = QuoteName(at.given), QuoteName(at.real)
	return Plan{Action: action, Target: args.Path, Args: encode(args)}, nil
}

func (listTool) Run(ctx context.Context, env Env, plan Plan) (Result, error) {
	var args listArgs
	if err := json.Unmarshal(plan.Args, &args); err != nil {
		return Result{}, fmt.Errorf("list: its plan: %w", err)
	}
	if args.Real == outsideName {
		return outside(args.Path), nil
	}
	s := search{env: env, given: UnquoteName(args.Path), real: UnquoteName(args.Real)}
	infos, err := s.entries()
	if err != nil {
		return dirTrouble(args.Path, err), nil
	}
	var lines []string
	withheld, more := 0, 0
	for _, info := range infos {
		if ctx.Err() != nil {
			return Result{}, interrupted(ctx, "list")
		}
		switch {
		case isTemp(info.Name()):
		case !s.may(path.Join(s.real, info.Name())):
			withheld++
		case len(lines) < listMost:
			lines = append(lines, entryLine(info))
		default:
			more++
		}
	}
	if lines == nil {
		lines = append(lines, "[nothing in it]")
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("[%s not shown]", plural(more, "more entry", "more entries")))
	}
	if withheld > 0 {
		lines = append(lines, fmt.Sprintf("[%s withheld by the policy]", plural(withheld, "entry", "entries")))
	}
	return Result{Text: strings.Join(lines, "\n")}, nil
}

// entries reads the directory that a list call names.
func (s search) entries() ([]fs.FileInfo, error) {
	root, err := openRoot(s.env.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := openDir(root, s.real)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	infos, err := readDir(dir)
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return infos, err
}

func entryLine(info fs.FileInfo) string {
	name := QuoteName(info.Name())
	switch info.Mode().Type() {
	case 0:
		return fmt.Sprintf("file %d %s", info.Size(), name)
	case fs.ModeDir:
		return "dir - " + name
	case fs.ModeSymlink:
		return "link - " + name
	}
	return "other - " + name
}
