package policy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Boundary is a policy in force for one workspace. It does not change; any number of goroutines may use it.
type Boundary struct {
	policy    *Policy
	root      string // as given, absolute and clean
	realRoot  string // with every link resolved
	home      string // "" when unknown
	commands  string // the home of commands; "" when they have none of their own
	beyond    bool   // commands see what lies around the workspace
	folds     bool   // upper and lower case name the same file
	lookup    func(string) (string, error)
	protected []string // what the program owns, resolved
	binary    string   // the program itself, resolved; "" when unknown
	rules     []*rule
}

// Option is a fact about the machine that New takes instead of finding it out.
type Option func(*Boundary)

// FoldCase says whether the workspace's file system takes names that differ in case for the same. Without it New looks.
func FoldCase(folds bool) Option { return func(b *Boundary) { b.folds = folds } }

// Lookup says what a bare program name runs: an absolute path, or an error. Without it that is what PATH says.
func Lookup(find func(name string) (string, error)) Option {
	return func(b *Boundary) { b.lookup = find }
}

// Home says what ~ means. Without it that is the user's home directory.
func Home(dir string) Option { return func(b *Boundary) { b.home = dir } }

// Private names files and directories of the program's own (its store, configuration, keys), absolute: neither they nor
// anything beneath them is ever read or written. It does not hold for a bare policy.
func Private(paths ...string) Option {
	return func(b *Boundary) { b.protected = append(b.protected, paths...) }
}

// Binary names the running program, absolute: it is never written, and running it asks, whatever rule allows it, because
// it would run an agent under another policy. Without the option it is os.Executable. It does not hold for a bare
// policy.
func Binary(path string) Option { return func(b *Boundary) { b.binary = path } }

// New puts a policy in force for the workspace at root, a directory that exists; it may be a link. The policy is copied.
// An error names the rule that is not valid.
func New(p *Policy, root string, options ...Option) (*Boundary, error) {
	if p == nil {
		return nil, errors.New("policy: no policy")
	}
	if root == "" {
		return nil, errors.New("policy: no workspace")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("policy: workspace: %w", err)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("policy: workspace: %w", err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("policy: the workspace %q is not a directory", root)
	}
	b := &Boundary{policy: p.normal(), root: root, realRoot: real, lookup: exec.LookPath}
	b.folds = foldsCase(real)
	b.home, _ = os.UserHomeDir()
	b.binary, _ = os.Executable()
	for _, option := range options {
		option(b)
	}
	if err := b.policy.check(); err != nil {
		return nil, err
	}
	b.own()
	return b, b.compile()
}

// own resolves the program's own paths, or forgets them where the policy is bare.
func (b *Boundary) own() {
	if b.policy.Bare {
		b.protected, b.binary = nil, ""
		return
	}
	var protected []string
	for _, path := range b.protected {
		if real, err := resolve("/", path); err == nil && filepath.IsAbs(path) {
			path = real
		}
		protected = append(protected, path)
	}
	b.protected = protected
	if real, err := resolve("/", b.binary); err == nil && filepath.IsAbs(b.binary) {
		b.binary = real
	}
}

// With returns a boundary with more layers: what a contract grants, the provider's hosts, a rule that a person gave for
// this run. A layer whose name is there already adds its rules to it. The receiver stays as it is.
func (b *Boundary) With(layers ...Layer) (*Boundary, error) {
	out := *b
	out.policy = b.policy.normal()
	for _, layer := range layers {
		layer = layer.normal()
		at := slices.IndexFunc(out.policy.Layers, func(l Layer) bool {
			return l.Name == layer.Name && l.OnlyNarrows == layer.OnlyNarrows
		})
		if at < 0 {
			layer.Name = out.policy.freeName(layer.Name)
			out.policy.Layers = append(out.policy.Layers, layer)
			continue
		}
		out.policy.Layers[at].Rules = append(out.policy.Layers[at].Rules, layer.Rules...)
	}
	if err := out.policy.check(); err != nil {
		return nil, err
	}
	return &out, out.compile()
}

// CommandHome returns a boundary that knows where the home of commands is: what an earlier command has left there can
// make a later one run more than it names. The receiver stays as it is.
func (b *Boundary) CommandHome(dir string) *Boundary {
	out := *b
	out.commands = dir
	return &out
}

// Unconfined returns a boundary for commands that nothing keeps in the workspace: Git finds the repository that the
// workspace is a folder of. The receiver stays as it is.
func (b *Boundary) Unconfined() *Boundary {
	out := *b
	out.beyond = true
	return &out
}

// Policy returns a copy of the policy in force, layers added by With included.
func (b *Boundary) Policy() *Policy { return b.policy.normal() }

// compile makes the rules ready to match, the built-in ones first.
func (b *Boundary) compile() error {
	layers := b.policy.Layers
	if !b.policy.Bare {
		layers = append([]Layer{builtin()}, layers...)
	}
	b.rules = nil
	for _, layer := range layers {
		for _, r := range layer.Rules {
			compiled, err := b.compileRule(layer, r)
			if err != nil {
				return fmt.Errorf("policy: layer %q, rule %q: %w", layer.Name, r.text(), err)
			}
			b.rules = append(b.rules, compiled)
		}
	}
	return nil
}

// unrestricted reports whether there is nothing that a command could get around: every command is allowed by default, and
// no rule asks or denies anything.
func (b *Boundary) unrestricted() bool {
	return b.policy.Defaults.Of(Exec) == Allow &&
		!slices.ContainsFunc(b.rules, func(r *rule) bool { return r.effect != Allow })
}
