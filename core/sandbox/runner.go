package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Options say what a runner's commands get.
type Options struct {
	// Executable is the program that is re-executed as supervisor, this one when empty. It must call Main.
	Executable string
	// Env is the operator's environment as NAME=value. Commands get of it what names the place, the language and the
	// user, and nothing that looks like a key.
	Env []string
	// Secrets says which of these must not be passed on; may be nil.
	Secrets func(name, value string) bool
	// State is an absolute directory of one run's own, made with mode 0700: below it are the HOME and TMPDIR of
	// commands, and records of those that run. Whoever removes the run removes it, when Survivors lists nothing.
	State string
	// Caches is an absolute directory in which each workspace has its caches, kept between runs; "" puts them in HOME.
	Caches string
	// Workspace is the absolute directory that commands work in, and may write to.
	Workspace string
	// Private are absolute paths that no command may see: the store, configuration, keys. Only their own home, temporary
	// directory and caches are seen beneath them.
	Private []string
	// Hidden lists the absolute paths of files and directories of the workspace that commands must not read. It is asked
	// before each command, for what is there then; may be nil.
	Hidden func(ctx context.Context) ([]string, error)
	// Network says that commands may use the network: all of it, or nothing.
	Network bool
	// Limits bound each command.
	Limits Limits
	// Floor leaves out whatever confines beyond the floor: an operator's choice, for commands that cannot work confined.
	Floor bool
}

// Runner runs the commands of one run. Any number of goroutines may use it.
//
// Each command has a supervisor: this program, re-executed, in a session of its own without a terminal. A program
// that did not call Main runs commands directly, in a session each. Then nobody ends them when the engine is killed,
// and what leaves the session is found by the environment it was started with only.
type Runner struct {
	executable string
	env        environment
	state      string
	workspace  string
	backend    backend
	confine    confinement
	hidden     func(ctx context.Context) ([]string, error)
}

// NewRunner makes the directories and the environment of commands.
func NewRunner(o Options) (*Runner, error) {
	for name, dir := range map[string]string{"state": o.State, "workspace": o.Workspace} {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("run commands: the %s directory %q is not absolute", name, dir)
		}
	}
	r := &Runner{executable: o.Executable, state: o.State, workspace: o.Workspace}
	if r.executable == "" {
		self, err := ownExecutable()
		if err != nil {
			return nil, fmt.Errorf("run commands: %w", err)
		}
		r.executable = self
	}
	home, tmp := HomeIn(o.State), filepath.Join(o.State, "tmp")
	for _, dir := range []string{o.State, home, tmp} {
		if err := privateDir(dir); err != nil {
			return nil, fmt.Errorf("run commands: %w", err)
		}
	}
	caches := filepath.Join(home, ".cache")
	if o.Caches != "" {
		if !filepath.IsAbs(o.Caches) {
			return nil, fmt.Errorf("run commands: the cache directory %q is not absolute", o.Caches)
		}
		caches = cacheDir(o.Caches, o.Workspace)
	}
	operator := environment{}
	operator.add(o.Env...)
	cached, err := cacheEnvironment(caches, operator)
	if err != nil {
		return nil, fmt.Errorf("run commands: %w", err)
	}
	r.env = operatorEnvironment(operator, o.Secrets)
	r.env.add(quiet...)
	r.env.add(cached.list()...)
	r.env.add("HOME="+home, "TMPDIR="+tmp)
	r.backend, r.hidden = current(), o.Hidden
	if o.Floor {
		r.backend = backend{}
	}
	r.confine = confinement{
		Spaces: r.backend.spaces, Landlock: r.backend.landlock, Filter: r.backend.filter,
		Network: o.Network, Tmp: tmp, Limits: o.Limits.full(),
	}
	if o.Network {
		r.confine.Spaces.Net = false
	}
	r.confine.Grants, r.confine.Hide = r.grants(o, operator, []string{o.Workspace, home, tmp, caches})
	return r, nil
}

// HomeIn is the HOME that a runner with this State gives to commands.
func HomeIn(state string) string { return filepath.Join(state, "home") }

// ownExecutable finds this program. On Linux /proc/self/exe is it even after the file was replaced or removed.
func ownExecutable() (string, error) {
	const link = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Readlink(link); err == nil {
			return link, nil
		}
	}
	return os.Executable()
}

// privateDir makes a directory only its owner may enter. A link in its place is refused: whoever put it there chose
// where our files go.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%q is not a directory", dir)
	}
	return os.Chmod(dir, 0o700)
}

// Backend names what confines the runner's commands: BackendFor what they may.
func (r *Runner) Backend() string { return r.backend.label(r.confine.Network) }

// EnvNames lists the variables every command gets, ordered, for a person to see.
func (r *Runner) EnvNames() []string {
	names := []string{"PWD", markVariable}
	for name := range r.env {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Resolve finds the program that a command would start. Its error says why none would be; Run gives the same as
// Result.NotFound.
func (r *Runner) Resolve(c Command) (string, error) {
	j, err := r.prepare(c)
	return j.Path, err
}

// Run runs a command and returns within a second of its end, when nothing of it runs any more or Result.Left names
// what does. Everything about the command itself is in the result, also that it could not be started. An error means
// that the supervisor failed, that c makes no sense, or that ctx ended while the command ran; then it wraps
// context.Cause(ctx), and the result tells how the command was stopped: SIGTERM, and SIGKILL 2 seconds later.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	switch {
	case len(c.Argv) == 0:
		return Result{}, errors.New("run command: no program and arguments")
	case c.Dir != "" && !filepath.IsAbs(c.Dir):
		return Result{}, errors.New("run command: the working directory is not absolute")
	case slices.ContainsFunc(c.Env, func(e string) bool { return strings.IndexByte(e, '=') < 1 }):
		return Result{}, errors.New("run command: an environment entry is not NAME=value")
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("run command: %w", context.Cause(ctx))
	}
	j, err := r.prepare(c)
	var reason *notFoundError
	if errors.As(err, &reason) {
		return Result{NotFound: reason.Reason}, nil
	}
	if err != nil {
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	if !ran.Load() {
		return follow(ctx, c, j, direct)
	}
	if err := r.hide(ctx, &j); err != nil {
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	result, err := follow(ctx, c, j, r.supervised)
	result.Hint = r.hint(result)
	return result, err
}

// prepare makes a job of a command.
func (r *Runner) prepare(c Command) (job, error) {
	self, _ := inspect(os.Getpid())
	j := job{
		Protocol: protocol, Argv: c.Argv, Dir: c.Dir, State: r.state, Engine: self.identity,
		Mark: newMark(),
	}
	if j.Dir == "" {
		j.Dir = r.workspace
	}
	env := environment{"PWD": j.Dir}
	env.add(r.env.list()...)
	env.add(c.Env...)
	env[markVariable] = j.Mark
	j.Env = env.list()
	if err := checkDir(j.Dir); err != nil {
		return j, err
	}
	if len(c.Argv) == 0 {
		return j, notFound("no program is named")
	}
	path, err := resolve(c.Argv[0], j.Dir, env["PATH"])
	j.Path = path
	return j, err
}

// hide adds to a job's confinement what the workspace holds now that must not be read.
func (r *Runner) hide(ctx context.Context, j *job) error {
	confine := r.confine
	if r.hidden != nil && confine.Spaces.Mount {
		hidden, err := r.hidden(ctx)
		if err != nil {
			return fmt.Errorf("find what commands must not read: %w", err)
		}
		confine.Hide = append(slices.Clone(confine.Hide), hidden...)
		slices.Sort(confine.Hide)
		confine.Hide = slices.Compact(confine.Hide)
	}
	j.Confine = &confine
	return nil
}

func newMark() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand.Read
	return hex.EncodeToString(b[:])
}
