package tui

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/benchstore"
	"tillerman/tui/feed"
)

// drawn is the 99th percentile of View at 200×50, with the run's newest steps on the screen and one of them selected
// anew before each frame.
func drawn(b *testing.B, store *db.Store, run int64, frames int) time.Duration {
	a := &app{t: &testing.T{}, msgs: make(chan posted, 1000)}
	m, err := New(Options{Store: store, Watch: run, Now: time.Now, Theme: "dark"}, &Guard{die: func(int) {}})
	if err != nil {
		b.Fatal(err)
	}
	a.m = m
	a.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	a.exec(m.Init())
	for began := time.Now(); m.live.Snapshot() == nil; a.settle() {
		if time.Since(began) > 20*time.Second {
			b.Fatal("the run is never shown")
		}
	}
	defer m.live.Close()
	runtime.GC()
	took := make([]time.Duration, frames)
	for i := range took {
		k := tea.KeyPressMsg{Code: tea.KeyUp}
		if i%40 >= 20 {
			k = tea.KeyPressMsg{Code: tea.KeyDown}
		}
		m.Update(k)
		began := time.Now()
		_ = m.View()
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[frames*99/100]
}

// BenchmarkView draws a run of 100,000 steps in a store of 1,000 runs beside one of 100 steps: what is not on the screen
// must not cost anything.
func BenchmarkView(b *testing.B) {
	store := benchstore.Open(b)
	for range 1000 {
		benchstore.Fill(b, store, 1, true)
	}
	short, long := benchstore.Fill(b, store, 100, true), benchstore.Fill(b, store, 100_000, true)
	for b.Loop() {
		small, large := drawn(b, store, short.RunID, 400), drawn(b, store, long.RunID, 400)
		b.ReportMetric(float64(large.Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(large)/float64(small), "ratio-to-100-steps")
	}
}

// BenchmarkFeed sends 50,000 events a second for two seconds into the channel of a feed over a filled store.
func BenchmarkFeed(b *testing.B) {
	store := benchstore.Open(b)
	run := benchstore.Fill(b, store, 20_000, false).RunID
	guard := &Guard{die: func(int) {}}
	for b.Loop() {
		ch := observer.NewChannel(1024)
		f := feed.Open(store, run, 50, ch.Events(), nil, guard.Go)
		snapshots, last := 0, 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				snap, err := f.Next()
				if snap == nil || err != nil {
					return
				}
				snapshots++
				last = snap.Total
			}
		}()
		before := cpu()
		began := time.Now()
		ev := observer.Event{RunID: run, Kind: observer.Stalled{}}
		for sent := 0; sent < 100_000; sent += 500 {
			for range 500 {
				ch.Event(&ev)
			}
			time.Sleep(time.Until(began.Add(time.Duration(sent) * 20 * time.Microsecond)))
		}
		wall := time.Since(began)
		used := cpu() - before
		f.Close()
		<-done
		if last != 20_000 {
			b.Errorf("the screen shows %d steps of 20,000", last)
		}
		b.ReportMetric(float64(snapshots)/wall.Seconds(), "frames/s")
		b.ReportMetric(100*used.Seconds()/wall.Seconds(), "%core")
		b.ReportMetric(100_000/wall.Seconds(), "events/s")
	}
}

// BenchmarkStalledConsole runs the demo with a console whose channel is never read, in turn with no console at all.
func BenchmarkStalledConsole(b *testing.B) {
	for b.Loop() {
		var stalled, alone []time.Duration
		lost := int64(0)
		for range 11 {
			store := benchstore.Open(b)
			began := time.Now()
			runDemo(b, store, b.TempDir(), approval.All{}, nil)
			alone = append(alone, time.Since(began))
			ch := observer.NewChannel(1)
			began = time.Now()
			runDemo(b, store, b.TempDir(), approval.All{}, nil, core.WithObserver(ch))
			stalled = append(stalled, time.Since(began))
			lost = ch.Dropped()
		}
		b.ReportMetric(float64(median(alone))/float64(median(stalled)), "rate-ratio")
		b.ReportMetric(float64(lost), "dropped")
	}
}

// cpu is the processor time of this process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMemory lets a million events pass through a feed and reports what is held afterwards.
func BenchmarkMemory(b *testing.B) {
	store := benchstore.Open(b)
	run := benchstore.Fill(b, store, 1000, false).RunID
	guard := &Guard{die: func(int) {}}
	for b.Loop() {
		ch := observer.NewChannel(1024)
		f := feed.Open(store, run, 50, ch.Events(), nil, guard.Go)
		ev := observer.Event{RunID: run, Kind: observer.Stalled{}}
		for range 1_000_000 {
			ch.Event(&ev)
		}
		_, _ = f.Next()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		f.Close()
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MiB")
		b.ReportMetric(float64(m.Sys)/(1<<20), "sys-MiB")
	}
}

// TestViewDoesNotGrowWithTheRun is the short form of BenchmarkView for CI: a run of 5,000 steps costs at most three times
// the frame of one of 100.
func TestViewDoesNotGrowWithTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	r := testing.Benchmark(func(b *testing.B) {
		store := benchstore.Open(b)
		short, long := benchstore.Fill(b, store, 100, true), benchstore.Fill(b, store, 5000, true)
		for b.Loop() {
			b.ReportMetric(float64(drawn(b, store, long.RunID, 200))/float64(drawn(b, store, short.RunID, 200)), "ratio")
			break
		}
	})
	if ratio := r.Extra["ratio"]; ratio > 3 {
		t.Errorf("a frame of 5,000 steps takes %.1f times one of 100", ratio)
	}
}

// TestScreenEqualsTheStore follows a run while it is written: what the feed shows after every commit is what a feed that
// is opened now shows.
func TestScreenEqualsTheStore(t *testing.T) {
	store := benchstore.Open(t)
	lease := benchstore.Fill(t, store, 5, false)
	guard := &Guard{die: func(int) {}}
	followed := feed.Open(store, lease.RunID, 10, nil, nil, guard.Go)
	defer followed.Close()
	for n := 6; n <= 30; n++ {
		if _, err := store.Commit(context.Background(), lease, func(tx *db.Tx) error { return benchstore.Step(tx, n) }); err != nil {
			t.Fatal(err)
		}
		got := until(t, followed, n)
		fresh := feed.Open(store, lease.RunID, 10, nil, nil, guard.Go)
		want := until(t, fresh, n)
		fresh.Close()
		if a, b := fmt.Sprint(got.Rows, got.Spend, got.State, got.First), fmt.Sprint(want.Rows, want.Spend, want.State, want.First); a != b {
			t.Fatalf("after step %d the screen shows\n%s\nand the store says\n%s", n, a, b)
		}
	}
}

func until(t *testing.T, f *feed.Feed, total int) *feed.Snapshot {
	t.Helper()
	late := time.AfterFunc(20*time.Second, f.Close) // Next returns nothing then
	defer late.Stop()
	for {
		snap, err := f.Next()
		if err != nil || snap == nil {
			t.Fatalf("step %d is never shown: %v", total, err)
		}
		if snap.Total == total {
			return snap
		}
	}
}
