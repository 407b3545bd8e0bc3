package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// execution is a command that was started, as the engine sees it.
type execution struct {
	// reports gets one report; it is closed without one when the supervisor died.
	reports <-chan report
	// ask passes on a request. It does not block.
	ask func(request)
	// abandon makes an end of a supervisor that does not answer.
	abandon func()
	// close frees what the execution holds. It is called once, when reports is closed or has given its report.
	close func()
	// orphans finds the command's processes when the supervisor is dead.
	orphans func() tree
}

// starter starts a job with the files as its input and output, which stay the caller's.
type starter func(j job, input, output *os.File) (*execution, error)

// patience is how much longer than its own limits a supervisor may take to answer a request.
const patience = 2 * time.Second

var errSupervisor = errors.New("the supervisor died")

// follow starts a job and sees it to its end.
func follow(ctx context.Context, c Command, j job, begin starter) (Result, error) {
	start := time.Now()
	input, feed, err := newFeed(c.Stdin)
	if err != nil {
		return Result{}, fmt.Errorf("run command: make its input: %w", err)
	}
	defer feed.stop()
	pipe, output, err := os.Pipe()
	if err != nil {
		input.Close()
		return Result{}, fmt.Errorf("run command: make its output: %w", err)
	}
	defer pipe.Close()
	x, err := begin(j, input, output)
	input.Close()
	output.Close()
	var reason *notFoundError
	switch {
	case errors.As(err, &reason):
		return Result{NotFound: reason.Reason}, nil
	case err != nil:
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	defer x.close()
	feed.start()
	kept := newCapture(c.Keep)
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		collect(pipe, kept, c.Output)
	}()

	end := x.wait(ctx, c.Timeout)
	_ = pipe.SetReadDeadline(time.Now())
	<-collected
	if end.err != nil {
		end.report.Elapsed = time.Since(start)
	}
	result := Result{Output: kept.bytes(), Total: kept.total, TimedOut: end.timedOut && end.report.Stopped}
	end.report.apply(&result)
	if end.cancelled && (end.report.Stopped || end.err != nil) {
		end.err = errors.Join(context.Cause(ctx), end.err)
	}
	if end.err != nil {
		return result, fmt.Errorf("run command: %w", end.err)
	}
	return result, nil
}

// ending is what became of an execution.
type ending struct {
	report    report
	timedOut  bool
	cancelled bool
	err       error // the supervisor failed
}

// wait waits for the report and stops the command when its time is over or ctx ends.
func (x *execution) wait(ctx context.Context, timeout time.Duration) ending {
	var end ending
	var late, silent <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	ask := func(what request, limit time.Duration) {
		x.ask(what)
		silent = time.After(limit + 2*killWait + patience)
	}
	done := ctx.Done()
	for {
		select {
		case r, ok := <-x.reports:
			switch {
			case !ok:
				end.err = errSupervisor
				end.report = x.orphans().endOrphans()
			case r.Failure != "":
				end.err = fmt.Errorf("supervisor: %s", r.Failure)
			}
			if ok {
				end.report = r
			}
			return end
		case <-done:
			done = nil
			end.cancelled = true
			ask(stop, stopGrace)
		case <-late:
			end.timedOut = true
			ask(stop, stopGrace)
		case <-silent:
			silent = nil
			x.abandon()
		}
	}
}

// endOrphans kills what a dead supervisor left.
func (t tree) endOrphans() report {
	w := &watch{tree: t, look: true, over: true, asked: kill, left: make(map[identity]process)}
	w.clear(time.Now())
	w.report.Stopped = true
	return w.report
}

// feed writes a command's input while it runs.
type feed struct {
	pipe *os.File // nil when there is nothing to write
	text string
	done chan struct{}
}

// newFeed returns the file that the command reads, which is the caller's to close.
func newFeed(text string) (*os.File, *feed, error) {
	if text == "" {
		input, err := os.Open(os.DevNull)
		return input, &feed{}, err
	}
	input, pipe, err := os.Pipe()
	return input, &feed{pipe: pipe, text: text}, err
}

func (f *feed) start() {
	if f.pipe == nil {
		return
	}
	f.done = make(chan struct{})
	go func() {
		defer close(f.done)
		defer f.pipe.Close()
		// A command need not read all of it, or any.
		_, _ = io.WriteString(f.pipe, f.text)
	}()
}

func (f *feed) stop() {
	if f.pipe != nil {
		f.pipe.Close()
	}
	if f.done != nil {
		<-f.done
	}
}
