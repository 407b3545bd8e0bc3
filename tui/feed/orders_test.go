package feed_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"tillerman/db"
	"tillerman/tui/benchstore"
	"tillerman/tui/feed"
)

// newest is the first snapshot of a run that fits.
func newest(t *testing.T, f *feed.Feed, fits func(*feed.Snapshot) bool) *feed.Snapshot {
	t.Helper()
	for {
		snap, err := f.Next()
		if err != nil || snap == nil {
			t.Fatal(err)
		}
		if fits(snap) {
			return snap
		}
	}
}

func opened(t *testing.T, store *db.Store, run int64) *feed.Feed {
	t.Helper()
	f := feed.Open(store, run, 10, nil, nil, func(f func()) { go f() })
	t.Cleanup(f.Close)
	return f
}

// TestOrdersAreFacts follows what operators ask of a run, from the wish to its taking hold.
func TestOrdersAreFacts(t *testing.T) {
	store := benchstore.Open(t)
	lease := benchstore.Fill(t, store, 3, false)
	f := opened(t, store, lease.RunID)
	kim := db.Actor{User: "kim", Surface: "command", Host: "elsewhere"}
	ask := func(kind, body string) int64 {
		t.Helper()
		c, fresh, err := store.Control(context.Background(), db.Control{RunID: lease.RunID, Kind: kind, Body: body, By: kim})
		if err != nil || !fresh {
			t.Fatal(err)
		}
		return c.ID
	}
	observe := func(id int64, point string) {
		t.Helper()
		if _, err := store.Commit(context.Background(), lease, func(tx *db.Tx) error { return tx.ObserveControl(id, point) }); err != nil {
			t.Fatal(err)
		}
	}
	pause := ask("pause", "")
	s := newest(t, f, func(s *feed.Snapshot) bool { return s.Pause != nil })
	if s.Held() || s.State != "pausing" {
		t.Errorf("%q, held %t", s.State, s.Held())
	}
	observe(pause, "step boundary")
	s = newest(t, f, (*feed.Snapshot).Held)
	if s.State != "paused" || s.Pause.By.User != "kim" {
		t.Errorf("%q", s.State)
	}
	ask("continue", "")
	newest(t, f, func(s *feed.Snapshot) bool { return s.Pause == nil && s.State == "running" })

	tell := ask("tell", "one\ntwo")
	s = newest(t, f, func(s *feed.Snapshot) bool { return len(s.Told) == 1 })
	if told := s.Told[0]; told.ReadAt != 0 || told.By != "kim" || told.Text != "one\ntwo" {
		t.Errorf("%+v", told)
	}
	observe(tell, "request of step 4")
	s = newest(t, f, func(s *feed.Snapshot) bool { return s.Told[0].ReadAt != 0 })
	if s.Told[0].Point != "step 4" {
		t.Errorf("%+v", s.Told[0])
	}

	steps, tokens := 60, int64(5000)
	budget := ask("budget", db.Budget{MaxSteps: &steps, Tokens: &tokens}.Encode())
	s = newest(t, f, func(s *feed.Snapshot) bool { return s.Budget != nil })
	if s.Limits.Steps != 40 || s.Limits.StepsBy != "" {
		t.Errorf("%+v", s.Limits)
	}
	if _, err := store.Commit(context.Background(), lease, func(tx *db.Tx) error {
		if err := tx.ObserveControl(budget, "step boundary"); err != nil {
			return err
		}
		return tx.SetContract(`{"max_steps":60,"tokens":9000}`) // the tokens were set anew by somebody since
	}); err != nil {
		t.Fatal(err)
	}
	s = newest(t, f, func(s *feed.Snapshot) bool { return s.Budget == nil && s.Limits.Steps == 60 })
	if s.Limits.StepsBy != "kim" || s.Limits.Tokens != 9000 || s.Limits.TokensBy != "" {
		t.Errorf("%+v", s.Limits)
	}

	ask("cancel", "")
	newest(t, f, func(s *feed.Snapshot) bool {
		return s.Cancel != nil && s.Cancel.Kind == "cancel" && s.State == "cancelling"
	})
	ask("kill", "")
	newest(t, f, func(s *feed.Snapshot) bool { return s.Cancel != nil && s.Cancel.Kind == "kill" })
}

// driveArg makes this test binary a driver: it takes a run up and then does nothing until it is killed.
const driveArg = "drive-and-wait"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == driveArg {
		if err := driveAndWait(os.Args[2], os.Args[3]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func driveAndWait(path, run string) error {
	ctx := context.Background()
	store, err := db.Open(ctx, path, db.Options{})
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(run, 10, 64)
	if err != nil {
		return err
	}
	lease, _, err := store.TakeUp(ctx, id, db.Here("test"), "floor", false, func(*db.Tx) error { return nil })
	if err != nil {
		return err
	}
	fmt.Println("drives", lease.RunID)
	select {}
}

// TestADeathIsSeen lets another process drive and die: its death commits nothing, and the screen hears of it all the same.
func TestADeathIsSeen(t *testing.T) {
	store := benchstore.Open(t)
	lease := benchstore.Fill(t, store, 3, false)
	if err := store.LetGo(context.Background(), lease, "left"); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	driver := exec.Command(self, driveArg, store.Path(), fmt.Sprint(lease.RunID))
	out, err := driver.StdoutPipe()
	if err == nil {
		err = driver.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = driver.Process.Kill() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "drives") {
		t.Fatal(line, err)
	}
	f := opened(t, store, lease.RunID)
	s := newest(t, f, func(*feed.Snapshot) bool { return true })
	if !s.Driven || s.Unseen || s.State != "running" || s.Driver.PID != driver.Process.Pid {
		t.Fatalf("%q, driven %t, unseen %t", s.State, s.Driven, s.Unseen)
	}
	_ = driver.Process.Kill()
	_ = driver.Wait()
	if s = newest(t, f, func(s *feed.Snapshot) bool { return !s.Driven }); s.State != "interrupted" {
		t.Errorf("%q", s.State)
	}
	// Somebody takes it up: the same feed goes on.
	if _, _, err := store.TakeUp(context.Background(), lease.RunID, db.Here("test"), "floor", false, func(*db.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	newest(t, f, func(s *feed.Snapshot) bool { return s.Driven && s.State == "running" })
}
