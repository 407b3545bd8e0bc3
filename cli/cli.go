// Package cli is the command line: one file a command, wiring and printing only.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"tillerman/cli/config"
	"tillerman/core"
	"tillerman/core/anchor"
	"tillerman/core/redact"
	"tillerman/db"
	"tillerman/tui/text"
)

// Host is what the program gets from outside.
type Host struct {
	In       *os.File
	Out, Err io.Writer
	Environ  []string
	Getenv   func(string) string
	Now      func() time.Time
	// Terminal says that a person sits at In and Out.
	Terminal bool
	// Width is the terminal's width in cells.
	Width int
}

// System is the real outside.
func System() Host {
	h := Host{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Getenv: os.Getenv, Now: time.Now, Width: 80}
	in, out := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	// A clock that stands still makes every duration zero: for pictures and tests, whose bytes must not differ.
	if at, err := time.Parse(time.RFC3339, os.Getenv("TILLERMAN_CLOCK")); err == nil {
		h.Now = func() time.Time { return at }
	}
	h.Terminal = term.IsTerminal(in) && term.IsTerminal(out)
	if w, _, err := term.GetSize(out); err == nil && w > 0 {
		h.Width = w
	} else if !h.Terminal {
		h.Width = 160 // a pipe has room
	}
	return h
}

// app is one call of the program.
type app struct {
	Host
	dbPath     string
	configPath string
	json       bool
	conf       config.Config
	secrets    []redact.Secret
	anchors    *anchor.Writer // nil when none are kept
	redactor   *redact.Redactor
}

// hide adds a secret to those that nothing shows or stores.
func (a *app) hide(s ...redact.Secret) {
	a.secrets = append(a.secrets, s...)
	a.redactor = redact.New(a.secrets)
}

// Run runs one command line and returns the exit code. Every failure is one line on Err.
func Run(ctx context.Context, args []string, host Host) int {
	// Libraries report to the standard log what is no failure, such as bytes that a server sends unasked. They belong
	// neither on a screen nor between lines of ours, and no secret was taken out of them.
	log.SetOutput(io.Discard)
	a := &app{Host: host}
	a.hide(redact.FromEnviron(host.Environ)...)
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // without any, cobra would take those of the process
	root.SetIn(host.In)
	root.SetOut(host.Out)
	root.SetErr(host.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if msg := a.message(err); msg != "" {
		fmt.Fprintln(host.Err, "tillerman: "+msg)
	}
	return exitCode(err)
}

// message is an error as one clean line.
func (a *app) message(err error) string {
	msg := err.Error()
	if errors.Is(err, db.ErrNotFound) && !strings.Contains(msg, "run") {
		msg = "there is no such run; see tillerman runs"
	}
	msg, _ = a.redactor.String(msg)
	return text.Line(strings.ReplaceAll(strings.TrimSpace(msg), "\n", "; "))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tillerman",
		Short: "Run an AI agent on a task inside a boundary that you own",
		Long: `tillerman runs an AI agent on a task inside a boundary that you own, shows every step as it is
committed, asks before anything sensitive, stops when you say so, and leaves a record.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "help" {
				return cmd.Help()
			}
			if len(args) > 0 {
				return &usageError{fmt.Sprintf("there is no command %q; see tillerman --help", args[0])}
			}
			if a.Terminal {
				return a.act(cmd.Context(), func(store *db.Store) error { return (&driving{app: a, cmd: cmd, store: store}).browse(0) })
			}
			_ = cmd.Help()
			return &exitError{code: exitUsage}
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := noEmptyFlag(cmd); err != nil {
				return err
			}
			switch cmd.Name() {
			case "version", "completion", "doctor": // doctor reads it itself and says what is wrong with it
				return nil
			}
			_, err := a.loadConfig()
			return err
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{parserWords.ReplaceAllString(err.Error(), "") + "; see " + cmd.CommandPath() + " --help"}
	})
	root.Version = core.Version
	root.SetVersionTemplate("tillerman {{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.PersistentFlags().StringVar(&a.dbPath, "db", "", "store file (default $TILLERMAN_DB, else runs.db in the state directory)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	root.PersistentFlags().StringVar(&a.configPath, "config", "", "configuration file")
	root.AddCommand(
		a.demo(), a.run(), a.resume(), a.watch(), a.runs(), a.show(), a.inbox(), a.approve(), a.deny(), a.deferCmd(), a.answer(), a.rules(),
		a.cancel(), a.kill(), a.pause(), a.continueCmd(), a.tell(), a.budget(), a.resolve(), a.stats(), a.prune(), a.doctor(), a.policy(), a.audit(), a.completion(root), a.version(),
	)
	for _, cmd := range root.Commands() {
		if cmd.Args == nil {
			cmd.Args = noArgs
		}
	}
	return root
}

// parserWords is how the flag parser ends its complaint about a value, which it has quoted before.
var parserWords = regexp.MustCompile(`: (strconv\.\w+: parsing "[^"]*": [a-z ]+|time: [a-z ]+ "?[^"]*"?)$`)

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Sprintf("%s takes no argument, got %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())}
	}
	return nil
}

// noEmptyFlag refuses a flag that was given with nothing in it, as by a variable of a script that is not set: taken for a
// flag that was left out, --file would let every file be written and --db steer a run of another store.
func noEmptyFlag(cmd *cobra.Command) error {
	empty := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "reason" {
			empty = f.Name
		}
	})
	if empty == "" {
		return nil
	}
	return cmd.FlagErrorFunc()(cmd, fmt.Errorf("--%s is empty: give it a value or leave it out", empty))
}

// exactly wants n arguments, named in names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return &usageError{fmt.Sprintf("%s wants %s, got %d arguments; see %s --help", cmd.Name(), strings.Join(names, " "), len(args), cmd.CommandPath())}
		}
		return nil
	}
}

// storePath is the file of the store.
func (a *app) storePath() (string, error) {
	if a.dbPath != "" {
		return a.dbPath, nil
	}
	if p := a.Getenv("TILLERMAN_DB"); p != "" {
		return p, nil
	}
	dir, err := config.StateDir(a.Getenv)
	if err != nil {
		return "", &usageError{err.Error()}
	}
	return filepath.Join(dir, "runs.db"), nil
}

// open opens the store. readOnly is for commands that only look: they work where nothing can be written.
func (a *app) open(ctx context.Context, readOnly bool) (*db.Store, error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	opts := db.Options{Now: a.Now, Clean: func(text string) string {
		clean, _ := a.redactor.String(text)
		return clean
	}}
	if file := a.conf.Audit.KeyFile; file != "" {
		if opts.AuditKey, err = readKey(file); err != nil {
			return nil, &usageError{"audit.key_file: " + err.Error()}
		}
		a.hide(redact.Secret{Name: "audit.key_file", Value: string(opts.AuditKey)})
	}
	if sink := a.anchorSink(); sink != nil {
		a.anchors = anchor.NewWriter(*sink)
		opts.Anchor = a.anchors.Put
	}
	if readOnly {
		if err := mustExist(path); err != nil {
			return nil, err
		}
		store, err := db.Open(ctx, path, opts)
		if err == nil || !errors.Is(err, db.ErrReadOnly) {
			return store, err
		}
		opts.ReadOnly = true
	}
	return db.Open(ctx, path, opts)
}

// mustExist refuses a store that is not there: only a run makes one.
func mustExist(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return &usageError{fmt.Sprintf("there is no store at %s yet; start a run, or name one with --db", path)}
	}
	return nil
}

// look runs fn on a store opened for looking.
func (a *app) look(ctx context.Context, fn func(*db.Store) error) error { return a.with(ctx, true, fn) }

// act runs fn on a store opened for writing.
func (a *app) act(ctx context.Context, fn func(*db.Store) error) error { return a.with(ctx, false, fn) }

func (a *app) with(ctx context.Context, readOnly bool, fn func(*db.Store) error) error {
	store, err := a.open(ctx, readOnly)
	if err != nil {
		return err
	}
	err = errors.Join(fn(store), store.Close())
	a.closeAnchors()
	return err
}

// runID reads a run's number; "last" is the newest.
func runID(ctx context.Context, store *db.Store, arg string) (int64, error) {
	if arg == "last" {
		run, err := store.LastRun(ctx)
		return run.ID, err
	}
	var id int64
	if _, err := fmt.Sscanf(arg, "%d", &id); err != nil || id <= 0 || fmt.Sprint(id) != arg {
		return 0, &usageError{fmt.Sprintf("%q is no run number; see tillerman runs", arg)}
	}
	if _, err := store.Run(ctx, id); errors.Is(err, db.ErrNotFound) {
		return 0, &usageError{fmt.Sprintf("there is no run %d; see tillerman runs", id)}
	} else if err != nil {
		return 0, err
	}
	return id, nil
}

func isNotFound(err error) bool { return errors.Is(err, db.ErrNotFound) }

// surface names the command for the record.
func surface(cmd *cobra.Command) string { return "command " + cmd.Name() }

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]string{"version": core.Version})
			}
			_, err := fmt.Fprintln(a.Out, "tillerman "+core.Version)
			return err
		},
	}
}

func (a *app) completion(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a completion script for bash, zsh or fish",
		Args: exactly("SHELL"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			}
			return &usageError{fmt.Sprintf("there is no completion for %q; use bash, zsh or fish", args[0])}
		},
	}
}
