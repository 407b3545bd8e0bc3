package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"tillerman/core"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui"
	"tillerman/tui/feed"
	"tillerman/tui/keys"
)

// channelSize is how many notices wait for the console. A full channel costs nothing but a look at the store.
const channelSize = 1024

// watcher is the console's observer: notices go into a channel, text as it comes into the feed's window.
type watcher struct {
	*observer.Channel
	*feed.Live
}

// console runs work with the console on it. Without a terminal, or when lines were asked for, see drive.
func (d *driving) console(work func(ctx context.Context, obs observer.Observer) (core.Result, error)) error {
	if err := d.app.outsider(); err != nil { // its keys answer the questions of every run
		return err
	}
	out, ok := d.app.Out.(*os.File)
	if !ok {
		return errors.New("the console needs a terminal")
	}
	guard := tui.NewGuard(d.app.In, out)
	defer guard.Restore()
	ctx, stop := context.WithCancelCause(d.cmd.Context())
	defer stop(nil)
	seen := watcher{observer.NewChannel(channelSize), feed.NewLive()}
	started := make(chan int64, 1)
	first := observer.Func(func(ev *observer.Event) observer.Flow {
		if _, ok := ev.Kind.(observer.Started); ok {
			select {
			case started <- ev.RunID:
			default:
			}
		}
		return observer.Continue
	})
	var (
		result core.Result
		runErr error
		done   = make(chan struct{})
	)
	guard.Go(func() {
		defer close(done)
		result, runErr = work(ctx, observer.Fanout(first, seen))
	})
	quit, signalled := d.signals(stop, guard)
	var id int64
	select {
	case id = <-started:
	case <-done: // it ended before it began, or it was not driven
		select {
		case id = <-started:
		default:
			return d.afterConsole(result, runErr, signalled())
		}
	}
	opts, err := d.app.consoleOptions(d)
	if err != nil {
		return err
	}
	leave := sync.OnceFunc(func() {
		close(d.handover)
		d.store.Wake() // what waits looks again
	})
	opts.Own = &tui.Run{
		ID: id, Events: seen.Events(), Live: seen.Live, Done: done, Cancel: seen.RequestCancel, Leave: leave, Err: func() error { return runErr },
	}
	err = tui.Show(opts, tui.Terminal{In: d.app.In, Out: out, Environ: d.app.Environ}, guard, quit)
	// The engine never needs the screen: after SIGHUP, or when the terminal is gone, the run goes on without it and its
	// questions wait in the inbox.
	<-done
	if signalled() == syscall.SIGHUP {
		err = nil
	}
	return errors.Join(err, d.afterConsole(result, runErr, signalled()))
}

// consoleOptions is what every console is made of.
func (a *app) consoleOptions(d *driving) (tui.Options, error) {
	m, err := keys.Default().Rebind(a.conf.Keys)
	if err != nil {
		return tui.Options{}, &usageError{err.Error()}
	}
	return tui.Options{
		Store: d.store, Keys: m, Now: a.Now, Home: a.Getenv("HOME"), Theme: a.conf.Theme, ASCII: a.asciiOnly(),
		Verify: a.checker(d.store), Clean: a.clean,
		Propose: func(ctx context.Context, r db.Request, match []string) (core.RuleProposal, error) {
			return a.propose(ctx, d.store, r, match, "console")
		},
		Edit: func(body string) (*exec.Cmd, func() (string, error), error) {
			return editing(context.WithoutCancel(d.cmd.Context()), a.Getenv, body)
		},
		Settle: func(ctx context.Context, run int64, kind string) error {
			_, err := a.settle(ctx, d.store, run, "console "+kind, false)
			return err
		},
		CheckBudget: func(ctx context.Context, run int64, b db.Budget) error {
			c, err := core.StoredContract(ctx, d.store, run)
			if err != nil || b.MoneyMicros == nil {
				return err
			}
			prices, err := a.prices()
			if err != nil {
				return err
			}
			c.Money = *b.MoneyMicros
			return core.CheckMoney(prices, c)
		},
	}, nil
}

// asciiOnly says that the locale has no character outside ASCII.
func (a *app) asciiOnly() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := a.Getenv(name); v != "" {
			return v == "C" || v == "POSIX"
		}
	}
	return a.Getenv("TERM") == "linux"
}

// afterConsole says in a line how it ended, now that the terminal is the shell's again.
func (d *driving) afterConsole(r core.Result, err error, sig os.Signal) error {
	if err != nil {
		return err
	}
	if r.HandedOver {
		return d.detach(r.RunID)
	}
	if sig != nil && sig != syscall.SIGHUP {
		fmt.Fprintf(d.app.Err, "tillerman: run %d is interrupted; go on with tillerman resume %d\n", r.RunID, r.RunID)
		return &exitError{code: 128 + int(sig.(syscall.Signal))}
	}
	if run, err := d.store.Run(context.WithoutCancel(d.cmd.Context()), r.RunID); err == nil && run.Status != db.Running {
		r = coreResult(run) // the console stays open after the drive: what it was given since counts
	}
	if r.Outcome != "" {
		p := d.app.printer(d.store)
		p.Note("run %d: %s; see tillerman show %d", r.RunID, r.Outcome, r.RunID)
	}
	return d.ending(r)
}

// forceAfter is how long leaving may take before the process goes whatever holds it: a terminal that takes nothing.
const forceAfter = 2 * time.Second

// signals turns a signal into leaving the console. SIGHUP lets the run go on; any other leaves it as it is, to be
// resumed. A second signal, or a terminal that holds the leaving up, ends the process at once.
func (d *driving) signals(stop context.CancelCauseFunc, guard *tui.Guard) (quit <-chan struct{}, got func() os.Signal) {
	sigs := make(chan os.Signal, 4)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	leave := make(chan struct{})
	var mu sync.Mutex
	var seen os.Signal
	guard.Go(func() {
		for sig := range sigs {
			if sig == syscall.SIGPIPE {
				continue
			}
			mu.Lock()
			first := seen == nil
			if first || sig != syscall.SIGHUP {
				seen = sig
			}
			mu.Unlock()
			if first {
				close(leave)
			}
			if sig == syscall.SIGHUP {
				continue
			}
			stop(errors.New("interrupted by " + sig.String()))
			wait := forceAfter
			if !first {
				wait = 0
			}
			code := 128 + int(sig.(syscall.Signal))
			time.AfterFunc(wait, func() { guard.Abandon(code) })
		}
	})
	return leave, func() os.Signal {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

// browse opens the console on the list of runs, or attached to the run watch when that is not 0.
func (d *driving) browse(watch int64) error {
	if err := d.app.outsider(); err != nil { // its keys answer the questions of every run
		return err
	}
	out, ok := d.app.Out.(*os.File)
	if !ok {
		return errors.New("the console needs a terminal")
	}
	guard := tui.NewGuard(d.app.In, out)
	defer guard.Restore()
	quit, signalled := d.signals(func(error) {}, guard)
	opts, err := d.app.consoleOptions(d)
	if err != nil {
		return err
	}
	opts.Watch = watch
	if err := tui.Show(opts, tui.Terminal{In: d.app.In, Out: out, Environ: d.app.Environ}, guard, quit); err != nil {
		return err
	}
	if sig := signalled(); sig != nil {
		return &exitError{code: 128 + int(sig.(syscall.Signal))}
	}
	return nil
}
