package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tillerman/core/policy"
	"tillerman/core/sandbox"
)

// CallKeyEnv names the environment variable that holds the key of a call: a command that is run twice under the same
// key can know that it has acted already.
const CallKeyEnv = "TILLERMAN_CALL_KEY"

// Time limits of a command, in seconds.
const (
	execDefault = 600
	execMost    = 3600
)

type execTool struct{}

type execArgs struct {
	Argv    []string `json:"argv"`
	Cwd     string   `json:"cwd"`
	Timeout int      `json:"timeout"`
	Stdin   string   `json:"stdin"`
}

func (a *execArgs) params() []param {
	a.Cwd, a.Timeout = ".", execDefault
	return []param{
		{
			name: "argv", into: &a.Argv, need: true, hint: `; for a shell line use ["sh", "-c", "the line"]`,
			about: `The program and its arguments, each a string. No shell reads them; for one use ["sh", "-c", "the line"].`,
		},
		{name: "cwd", into: &a.Cwd, about: "Directory to run in, relative to the workspace."},
		{name: "timeout", into: &a.Timeout, min: 1, max: execMost, about: "Seconds after which the command is ended."},
		{name: "stdin", into: &a.Stdin, about: "Text that the command reads; none is an empty input."},
	}
}

func (execTool) builtin()    {}
func (execTool) supervised() {}

func (execTool) Spec() Spec {
	return Spec{
		Name: "exec",
		Description: "Run a program and wait for it. Gives its output, standard output and error as they came, and a last line in brackets " +
			"that says how it ended. There is no terminal, and input is empty unless stdin is given. Processes still running when the " +
			"program ends are ended too.",
		Schema: schema((&execArgs{}).params()),
		Safety: Once,
		Reach:  ReachProcess,
	}
}

func (execTool) Plan(_ context.Context, env Env, raw json.RawMessage) (Plan, error) {
	var args execArgs
	if err := decode("exec", raw, args.params()); err != nil {
		return Plan{}, err
	}
	if err := checkWords(args.Argv); err != nil {
		return Plan{}, fmt.Errorf("exec: %w", err)
	}
	at, err := env.place(args.Cwd)
	if err != nil {
		return Plan{}, fmt.Errorf("exec: cwd: %w", err)
	}
	if at.outside {
		return Plan{}, fmt.Errorf("exec: cwd: %s is %w", QuoteName(at.given), errOutside)
	}
	if err := isDir(env.Root, at.real); err != nil {
		return Plan{}, fmt.Errorf("exec: cwd: %s", dirTrouble(QuoteName(at.given), err).Text)
	}
	e := Exec{Argv: args.Argv, Dir: at.real, Stdin: args.Stdin, Timeout: time.Duration(args.Timeout) * time.Second}
	action := policy.Action{Act: policy.Exec, Argv: e.Argv, Input: e.Stdin}
	if e.Dir != "." {
		action.Dir = e.Dir
	}
	args.Cwd = QuoteName(at.real)
	return Plan{Action: action, Target: commandLine(e.Argv), Payload: e.payload(), Exec: &e, Args: encode(args)}, nil
}

func checkWords(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("argv must begin with the name of a program")
	}
	for i, word := range argv {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("item %d of argv holds a NUL, which no argument can", i+1)
		}
	}
	return nil
}

func isDir(root, rel string) error {
	r, err := openRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	dir, err := openDir(r, rel)
	if err != nil {
		return err
	}
	return dir.Close()
}

// payload is all that a person must see of a command: its words, where it runs, what it reads and how long it may take.
func (e Exec) payload() string {
	text := commandLine(e.Argv)
	if e.Dir != "." {
		text += "\n[in " + QuoteName(e.Dir) + "]"
	}
	if e.Timeout != execDefault*time.Second {
		text += fmt.Sprintf("\n[ended after %d s]", int(e.Timeout/time.Second))
	}
	if e.Stdin != "" {
		text += fmt.Sprintf("\n[%s of input:]\n%s", plural(len(e.Stdin), "byte", "bytes"), e.Stdin)
	}
	return text
}

func (execTool) Run(ctx context.Context, env Env, plan Plan) (Result, error) {
	e := plan.Exec
	switch {
	case e == nil:
		return Result{}, errors.New("exec: its plan holds no command")
	case env.Runner == nil:
		return Result{}, errors.New("exec: there is nothing to run commands with")
	}
	// The directory was resolved for the plan; a link put in its place since then would move the command.
	if err := isDir(env.Root, path.Clean(e.Dir)); err != nil {
		return dirTrouble(QuoteName(e.Dir), err), nil
	}
	command := sandbox.Command{
		Argv:    e.Argv,
		Dir:     filepath.Join(env.Root, e.Dir),
		Stdin:   e.Stdin,
		Timeout: e.Timeout,
		Output:  env.Output,
	}
	if env.Key != "" {
		command.Env = []string{CallKeyEnv + "=" + env.Key}
	}
	ended, err := env.Runner.Run(ctx, command)
	ended.NotFound = strings.ReplaceAll(ended.NotFound, env.Root, ".") // the model sees no absolute path of ours
	if err != nil && ctx.Err() == nil {
		return Result{}, fmt.Errorf("exec: %w", err)
	}
	result := commandResult(ended, e.Timeout)
	if ctx.Err() != nil {
		return result, interrupted(ctx, "exec")
	}
	return result, nil
}

// commandResult words how a command ended. Nothing in the text depends on time or on process numbers, so that a replay
// shows a model the same bytes.
func commandResult(ended sandbox.Result, limit time.Duration) Result {
	text, _ := escapeInvalid(ended.Output)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += leftNote(ended.Left, true) + leftNote(ended.Left, false)
	if ended.Hint != "" {
		text += "[" + ended.Hint + "]\n"
	}
	r := Result{Left: ended.Left, Failed: true}
	stuck := ended.Exit < 0 && ended.Signal == ""
	switch {
	case ended.NotFound != "":
		reason, _ := escapeInvalid([]byte(ended.NotFound))
		text += "[not found: " + reason + "]"
	case ended.Limit != "":
		text += "[stopped: " + ended.Limit + "]"
	case ended.TimedOut && stuck:
		text += fmt.Sprintf("[timed out after %d s and could not be ended]", int(limit/time.Second))
	case ended.TimedOut:
		text += fmt.Sprintf("[timed out after %d s]", int(limit/time.Second))
	case stuck:
		text += "[could not be ended]"
	case ended.Signal != "":
		text += "[ended by signal " + strings.TrimPrefix(ended.Signal, "SIG") + "]"
	default:
		exit := ended.Exit
		r.Exit, r.Failed = &exit, exit != 0
		text += fmt.Sprintf("[exit %d]", exit)
	}
	r.Text = text
	return r
}

// leftNote names the processes that outlived the command, with how many there were of each name.
func leftNote(left []sandbox.Left, ended bool) string {
	counts := map[string]int{}
	for _, process := range left {
		if process.Ended == ended {
			counts[process.Name]++
		}
	}
	if len(counts) == 0 {
		return ""
	}
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf("%s (%d)", QuoteName(name), n))
	}
	slices.SortFunc(parts, cmp.Compare[string])
	if ended {
		return "[left running and ended: " + strings.Join(parts, ", ") + "]\n"
	}
	return "[left running, could not be ended: " + strings.Join(parts, ", ") + "]\n"
}
