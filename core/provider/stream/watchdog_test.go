package stream_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tillerman/core/provider"
	"tillerman/core/provider/internal/wiretest"
	"tillerman/core/provider/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWatchdog(t *testing.T) {
	limits := stream.Limits{First: 10 * time.Second, Next: 2 * time.Second}
	for _, c := range []struct {
		name   string
		limits stream.Limits
		do     func(*wiretest.Clock, *stream.Watchdog)
		want   string // part of the message, "" for no timeout
	}{
		{"first content in time", limits, func(k *wiretest.Clock, w *stream.Watchdog) {
			k.Advance(10*time.Second - 1)
			w.Content()
			k.Advance(2*time.Second - 1)
		}, ""},
		{"no first content", limits, func(k *wiretest.Clock, _ *stream.Watchdog) { k.Advance(10 * time.Second) }, "no content within 10s"},
		{"no further content", limits, func(k *wiretest.Clock, w *stream.Watchdog) {
			w.Content()
			k.Advance(time.Second)
			w.Content()
			k.Advance(2 * time.Second)
		}, "stalled: no further content within 2s"},
		{"stopped", limits, func(k *wiretest.Clock, w *stream.Watchdog) {
			w.Stop()
			k.Advance(time.Hour)
			w.Content()
			k.Advance(time.Hour)
		}, ""},
		{"default, first", stream.Limits{}, func(k *wiretest.Clock, _ *stream.Watchdog) { k.Advance(10*time.Minute - 1) }, ""},
		{"default, first passed", stream.Limits{}, func(k *wiretest.Clock, _ *stream.Watchdog) { k.Advance(10 * time.Minute) }, "10m0s"},
		{"default, next passed", stream.Limits{}, func(k *wiretest.Clock, w *stream.Watchdog) {
			w.Content()
			k.Advance(60 * time.Second)
		}, "1m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := wiretest.NewClock()
			var told []error
			w := stream.Watch(clock, c.limits, func(err error) { told = append(told, err) })
			c.do(clock, w)
			err := w.Err()
			if c.want == "" {
				if err != nil || len(told) != 0 {
					t.Fatalf("timed out: %v", err)
				}
				return
			}
			if err == nil || err.Kind != provider.Timeout || !strings.Contains(err.Message, c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			clock.Advance(time.Hour)
			w.Content()
			clock.Advance(time.Hour)
			if len(told) != 1 || told[0] != error(err) {
				t.Errorf("told %v", told)
			}
			w.Stop()
		})
	}
}

// A timer that goes off while content arrives must not end the call.
func TestWatchdogLateTimer(t *testing.T) {
	clock := &lateClock{Clock: wiretest.NewClock()}
	w := stream.Watch(clock, stream.Limits{First: time.Second, Next: time.Second}, func(error) { t.Error("ended") })
	defer w.Stop()
	w.Content()
	clock.f() // the first wait's timer, already on its way
	if w.Err() != nil {
		t.Error(w.Err())
	}
}

type lateClock struct {
	*wiretest.Clock
	f func()
}

func (c *lateClock) AfterFunc(d time.Duration, f func()) stream.Timer {
	c.f = f
	return c.Clock.AfterFunc(d, f)
}

func TestRealClock(t *testing.T) {
	done := make(chan struct{})
	var clock stream.RealClock
	start := clock.Now()
	timer := clock.AfterFunc(time.Millisecond, func() { close(done) })
	<-done
	if timer.Stop() || clock.Now().Sub(start) < time.Millisecond {
		t.Error("the timer went off early")
	}
}
