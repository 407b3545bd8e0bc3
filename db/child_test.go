package db

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"tillerman/observer"
)

// quick leaves a store's writes to the kernel.
func quick(s *Store) error {
	_, err := s.writer.conn.ExecContext(context.Background(), "PRAGMA synchronous=OFF")
	return err
}

func openQuick(ctx context.Context, path string) (*Store, error) {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return nil, err
	}
	return s, quick(s)
}

// childOpen opens the store when it is told to and says how that went.
func childOpen(ctx context.Context, in *bufio.Scanner, args []string) error {
	fmt.Println("ready")
	in.Scan()
	s, err := Open(ctx, args[0], Options{})
	if err != nil {
		return err
	}
	if _, err := s.Runs(ctx, Filter{}); err != nil {
		return err
	}
	fmt.Println("ok")
	return s.Close()
}

// childHold keeps everybody else out of a file until it is told to let go.
func childHold(ctx context.Context, in *bufio.Scanner, args []string) error {
	db, err := sql.Open("sqlite", args[0])
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	fmt.Println("held")
	in.Scan()
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	return errors.Join(err, conn.Close(), db.Close())
}

// childLook says what opening for writing and for reading come to.
func childLook(ctx context.Context, _ *bufio.Scanner, args []string) error {
	for _, opts := range []Options{{}, {ReadOnly: true}} {
		s, err := Open(ctx, args[0], opts)
		if err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		runs, err := s.Runs(ctx, Filter{})
		if err == nil {
			_, err = s.Run(ctx, 1)
		}
		fmt.Println(len(runs), "runs", err)
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// childDrive starts a run, or takes up the one it is given, and commits an event for every line "commit".
func childDrive(ctx context.Context, in *bufio.Scanner, args []string) error {
	s, err := openQuick(ctx, args[0])
	if err != nil {
		return err
	}
	none := func(*Tx) error { return nil }
	var lease Lease
	if len(args) == 1 {
		lease, _, err = s.Start(ctx, aRun(), tester, "floor", none)
	} else {
		lease, _, err = s.TakeUp(ctx, number64(args[1]), tester, "floor", false, none)
	}
	if err != nil {
		return err
	}
	fmt.Println(lease.RunID)
	for in.Scan() {
		_, err := s.Commit(ctx, lease, func(tx *Tx) error { return tx.Event(1, 0, observer.Stalled{}) })
		fmt.Println(err)
	}
	return s.Close()
}

// childTakeUp takes a run up when it is told to, and keeps it.
func childTakeUp(ctx context.Context, in *bufio.Scanner, args []string) error {
	s, err := openQuick(ctx, args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	in.Scan()
	lease, _, err := s.TakeUp(ctx, number64(args[1]), tester, "floor", false, func(tx *Tx) error { return tx.Event(0, 0, observer.Started{Goal: "g"}) })
	var held *HeldError
	switch {
	case err == nil:
		fmt.Println("won", lease.Fence)
	case errors.As(err, &held):
		fmt.Println("held by", held.Owner.PID)
	default:
		return err
	}
	in.Scan()
	return s.Close()
}

// childDecide decides the requests that it is given, as NAME with ANSWER.
func childDecide(ctx context.Context, in *bufio.Scanner, args []string) error {
	s, err := openQuick(ctx, args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in.Scan() {
		_, err := s.Decide(ctx, number64(in.Text()), Decision{Answer: args[2]}, Actor{User: args[1], Surface: "command"})
		fmt.Println(verdict(err))
	}
	return s.Close()
}

// verdict is how a decision went, in a word or two.
func verdict(err error) string {
	if late, ok := asError[*DecidedError](err); ok {
		return "lost to " + late.Request.DecidedBy.User
	}
	if err != nil {
		return err.Error()
	}
	return "won"
}

// childControl tells a run something, as often as it is told to.
func childControl(ctx context.Context, in *bufio.Scanner, args []string) error {
	s, err := openQuick(ctx, args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	in.Scan()
	for range number64(args[2]) {
		if _, err := s.outside(ctx, number64(args[1]), func(tx *Tx) error { return tx.Event(1, 0, observer.Told{By: "child"}) }); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return s.Close()
}

// childWatch says every event of the store once, as soon as it is committed by whatever process.
func childWatch(ctx context.Context, in *bufio.Scanner, args []string) error {
	s, err := openQuick(ctx, args[0])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	go func() {
		for in.Scan() {
		}
		stop()
	}()
	w, err := s.NewWaiter(ctx)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var cursor int64
	for {
		events, err := s.EventsSince(ctx, cursor, 7)
		if err != nil {
			return ignoreEnd(err)
		}
		for _, ev := range events {
			fmt.Println(ev.RunID, ev.Seq)
			cursor = ev.Cursor
		}
		if len(events) > 0 {
			continue
		}
		if err := w.Wait(ctx); err != nil {
			return ignoreEnd(err)
		}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// childAudit appends audit rows of a run, one for every line.
func childAudit(ctx context.Context, in *bufio.Scanner, args []string) error {
	s, err := openQuick(ctx, args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in.Scan() {
		_, err := s.outside(ctx, number64(args[1]), func(tx *Tx) error {
			return tx.Audit(AuditRow{Action: "tell", Actor: tester, Reason: in.Text()})
		})
		fmt.Println(err)
	}
	return s.Close()
}

func number64(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return n
}

// copyFile copies a file as it is now.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
