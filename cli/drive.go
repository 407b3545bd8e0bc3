package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"tillerman/cli/config"
	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/sandbox"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/plain"
)

// driving is what run, resume and demo share: an engine on a store, shown as lines, stopped by signals.
type driving struct {
	app     *app
	cmd     *cobra.Command
	store   *db.Store
	approve string // ask, all, none, defer; "" is by whether a person is there
	plain   bool   // lines, no console
	// detached says that this process drives a run without a terminal: its questions wait in the inbox.
	detached bool
	handover chan struct{} // closed to leave the run to another process
}

// attended says that the console is to be shown.
func (d *driving) attended() bool { return d.app.Terminal && !d.app.json && !d.plain }

// approveWords is what --approve and the setting may say.
var approveWords = []string{"ask", "all", "none", "defer"}

// approver is who answers in this process.
func (d *driving) approver(p *plain.Printer) (approval.Approver, error) {
	how := d.approve
	if d.detached {
		return approval.Elsewhere{}, nil
	}
	if how == "" {
		how = "defer"
		if d.app.Terminal && !d.app.json {
			how = "ask"
		}
	}
	switch how {
	case "all":
		return approval.All{}, nil
	case "none":
		return approval.None{Reason: "unattended"}, nil
	case "defer":
		return approval.Later{}, nil
	case "ask":
		if d.app.json {
			return nil, &usageError{"--json never asks; use --approve all, none or defer"}
		}
		if !d.app.Terminal {
			return nil, &usageError{"--approve ask needs a terminal; use all, none or defer"}
		}
		if d.attended() {
			return approval.Elsewhere{}, nil // the console's keys write the decision
		}
		p.Quiet = true // the asker shows the question
		return plain.NewAsker(p, d.app.In, d.app.Now, flushInput(d.app.In)), nil
	}
	return nil, &usageError{fmt.Sprintf("--approve %q is none of %s", how, strings.Join(approveWords, ", "))}
}

// engine makes the engine for one provider.
func (d *driving) engine(p provider.Provider, pol *policy.Policy, opts ...core.Option) (*core.Engine, *plain.Printer, error) {
	a := d.app
	printer := a.printer(d.store)
	approver, err := d.approver(printer)
	if err != nil {
		return nil, nil, err
	}
	prices, err := a.prices()
	if err != nil {
		return nil, nil, err
	}
	state := a.stateDir(d.store)
	d.handover = make(chan struct{})
	all := append([]core.Option{
		core.WithHandover(d.handover),
		core.WithPolicy(pol), core.WithApprover(approver), core.WithRedactor(a.redactor), core.WithPrices(prices),
		core.WithSurface(surface(d.cmd)), core.WithState(state, a.Environ), core.WithClock(a.Now), core.WithPrivate(a.private(d.store, state)...),
		core.WithReport(func(err error) { fmt.Fprintln(a.Err, "tillerman: "+a.message(err)) }),
	}, opts...)
	if a.conf.Sandbox == sandbox.Floor {
		all = append(all, core.WithFloor())
	}
	return core.New(d.store, p, all...), printer, nil
}

// stateDir is where homes and caches of commands are.
func (a *app) stateDir(store *db.Store) string {
	dir, err := config.StateDir(a.Getenv)
	if err != nil {
		return filepath.Join(filepath.Dir(store.Path()), "tillerman-state")
	}
	return dir
}

// private are the paths no agent may touch.
func (a *app) private(store *db.Store, state string) []string {
	paths := []string{store.Path(), store.Path() + "-wal", store.Path() + "-shm", state}
	if p := config.UserFile(a.Getenv); p != "" {
		paths = append(paths, filepath.Dir(p))
	}
	for _, p := range []string{a.configPath, a.conf.Audit.KeyFile, a.conf.Audit.Anchor} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	if exe, err := os.Executable(); err == nil {
		paths = append(paths, exe)
	}
	return paths
}

// drive does work in the foreground, shows the run as it is committed, and turns signals into a cancel and an exit.
func (d *driving) drive(printer *plain.Printer, from int64, work func(ctx context.Context, obs observer.Observer) (core.Result, error)) error {
	if d.attended() {
		return d.console(work)
	}
	ctx, stop := context.WithCancelCause(d.cmd.Context())
	defer stop(nil)
	started := make(chan int64, 1)
	obs := observer.Func(func(ev *observer.Event) observer.Flow {
		if _, first := ev.Kind.(observer.Started); first {
			select {
			case started <- ev.RunID:
			default:
			}
		}
		return observer.Continue
	})
	var (
		wg     sync.WaitGroup
		end    = make(chan struct{}) // the engine is through
		runID  int64
		known  = make(chan struct{})
		shown  error
		ctrl   = &interrupts{driving: d, stop: stop}
		sigs   = make(chan os.Signal, 4)
		worked core.Result
		err    error
	)
	// Whoever reads our output may leave: that ends the showing, never the run.
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer signal.Stop(sigs)
	through := make(chan struct{})
	defer close(through)
	wg.Add(2)
	go func() {
		defer wg.Done()
		select {
		case runID = <-started:
			close(known)
			shown = d.show(printer, runID, from, end)
		case <-end:
		}
	}()
	go func() {
		defer wg.Done()
		ctrl.listen(sigs, known, end, &runID)
	}()
	go lastWay(sigs, end, through)
	worked, err = work(ctx, obs)
	close(end)
	d.store.Wake()
	wg.Wait()
	if err != nil {
		return err
	}
	if ctrl.signal != nil {
		fmt.Fprintf(d.app.Err, "tillerman: run %d is interrupted; go on with tillerman resume %d\n", worked.RunID, worked.RunID)
		return &exitError{code: 128 + int(ctrl.signal.(syscall.Signal))}
	}
	if errors.Is(shown, syscall.EPIPE) || errors.Is(shown, syscall.EIO) {
		shown = nil
	}
	return errors.Join(shown, d.ending(worked))
}

// lastWay ends the process on a signal while the last lines wait for a reader that takes nothing.
func lastWay(sigs <-chan os.Signal, end, through <-chan struct{}) {
	<-end
	for {
		select {
		case <-through:
			return
		case sig := <-sigs:
			if s, ok := sig.(syscall.Signal); ok && s != syscall.SIGPIPE {
				os.Exit(128 + int(s))
			}
		}
	}
}

// ending is the exit code of a drive, with a word on what to do where something is left to do.
func (d *driving) ending(r core.Result) error {
	code := outcomeCode(r.Outcome)
	if r.Outcome == "" { // a run that was started with this key before and has not ended
		code = exitOther
		if owner, life, held, err := d.store.Driver(d.cmd.Context(), r.RunID); err == nil && held && life != db.Dead {
			return &db.HeldError{RunID: r.RunID, Owner: owner, Life: life}
		}
	}
	if !d.app.json && code == exitWaits {
		switch {
		case d.answered(r):
			fmt.Fprintf(d.app.Err, "tillerman: it is answered; go on with tillerman resume %d\n", r.RunID)
		case r.Outcome == observer.OutcomeAwaitingApproval:
			fmt.Fprintf(d.app.Err, "tillerman: answer with tillerman approve %d or tillerman deny %d, then tillerman resume %d\n", r.RunID, r.RunID, r.RunID)
		case r.Outcome == observer.OutcomePausedByOperator:
			fmt.Fprintf(d.app.Err, "tillerman: lift the pause with tillerman continue %d, then tillerman resume %d\n", r.RunID, r.RunID)
		case r.Outcome == observer.OutcomeAwaitingBudget:
			fmt.Fprintf(d.app.Err, "tillerman: raise the budget with tillerman budget %d, then tillerman resume %d\n", r.RunID, r.RunID)
		case r.Outcome == observer.OutcomeNeedsOperator:
			fmt.Fprintf(d.app.Err, "tillerman: %s: tillerman resolve %d --done | --retry | --fail --reason TEXT\n", d.app.message(errors.New(r.Message)), r.RunID)
		}
	}
	if code == exitDone {
		return nil
	}
	return &exitError{code: code}
}

// answered says that nothing waits for a person any more of a run that paused for one: a console stays open after the
// drive has ended, and other terminals answer too.
func (d *driving) answered(r core.Result) bool {
	ctx := context.Background()
	switch r.Outcome {
	case observer.OutcomeAwaitingApproval:
		open, err := d.store.OpenRequests(ctx, r.RunID)
		return err == nil && len(open) == 0
	case observer.OutcomeNeedsOperator:
		effects, err := d.store.Effects(ctx, r.RunID)
		return err == nil && !slices.ContainsFunc(effects, func(e db.Effect) bool { return e.State == "open" })
	}
	return false
}

// show prints the run's events until the engine is through and all of them are out.
func (d *driving) show(printer *plain.Printer, runID, from int64, end <-chan struct{}) error {
	ctx := context.Background()
	lines := observer.Lines(plainJSON{d.app.Out})
	return plain.Follow(ctx, d.store, runID, from, func(ev observer.Event) error {
		if d.app.json {
			lines.Event(&ev)
			return lines.Err()
		}
		return printer.Event(ctx, ev)
	}, func(seq int64) (bool, error) {
		select {
		case <-end:
		default:
			return false, nil
		}
		run, err := d.store.Run(ctx, runID)
		return seq >= run.Seq, err
	})
}

// interrupts turns signals into what they mean: the first Ctrl-C asks for a cancel at the boundary, the second ends the
// process and leaves the run resumable; so do SIGTERM and SIGHUP at once.
type interrupts struct {
	driving *driving
	stop    context.CancelCauseFunc
	signal  os.Signal
}

func (i *interrupts) listen(sigs <-chan os.Signal, known, end <-chan struct{}, runID *int64) {
	asked := false
	for {
		var sig os.Signal
		select {
		case <-end:
			return
		case sig = <-sigs:
		}
		if sig == syscall.SIGPIPE || sig == syscall.SIGHUP { // the screen is gone; the run goes on, questions wait in the inbox
			continue
		}
		if i.signal != nil { // asked to leave before: leave now
			os.Exit(128 + int(sig.(syscall.Signal)))
		}
		select {
		case <-known:
		default: // no run yet: nothing to cancel
			i.signal = sig
			i.stop(errors.New("interrupted"))
			return
		}
		if sig == os.Interrupt && !asked {
			asked = true
			_, _, err := i.driving.store.Control(context.Background(), db.Control{RunID: *runID, Kind: "cancel", By: db.Here("key ctrl+c")})
			if err == nil {
				fmt.Fprintln(i.driving.app.Err, "tillerman: cancel requested; the run stops at the next safe point. Ctrl-C again leaves at once.")
				continue
			}
		}
		i.signal = sig
		i.stop(errors.New("interrupted by " + sig.String()))
	}
}
