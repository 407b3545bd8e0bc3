package observer

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestChannelKeepsOrderAndCountsWhatItDrops(t *testing.T) {
	c := NewChannel(3)
	for seq := range int64(5) {
		if got := c.Event(&Event{RunID: 1, Seq: seq + 1, Kind: Stalled{}}); got != Continue {
			t.Errorf("event %d: %v", seq+1, got)
		}
	}
	if c.Dropped() != 2 {
		t.Errorf("dropped %d", c.Dropped())
	}
	c.Close()
	var got []int64
	for e := range c.Events() {
		got = append(got, e.Seq)
	}
	if len(got) != 3 || got[0] != 1 || got[1] != 2 || got[2] != 3 {
		t.Errorf("got %v", got)
	}
}

func TestChannelCopiesTheEvent(t *testing.T) {
	c := NewChannel(1)
	e := Event{Seq: 1}
	c.Event(&e)
	e.Seq = 2
	if got := <-c.Events(); got.Seq != 1 {
		t.Errorf("got %d", got.Seq)
	}
}

func TestChannelHasRoomForOneAtLeast(t *testing.T) {
	for _, size := range []int{-1, 0, 1} {
		c := NewChannel(size)
		c.Event(&Event{Seq: 1})
		if got := <-c.Events(); got.Seq != 1 || c.Dropped() != 0 {
			t.Errorf("size %d: got %d, dropped %d", size, got.Seq, c.Dropped())
		}
	}
}

func TestChannelCancels(t *testing.T) {
	c := NewChannel(1)
	if c.Event(&Event{}).IsCancel() {
		t.Error("cancelled unasked")
	}
	c.RequestCancel()
	c.RequestCancel()
	if !c.Event(&Event{}).IsCancel() { // full
		t.Error("not cancelled when full")
	}
	<-c.Events()
	if !c.Event(&Event{}).IsCancel() {
		t.Error("not cancelled with room")
	}
	c.Close()
	if !c.Event(&Event{}).IsCancel() {
		t.Error("not cancelled when closed")
	}
}

func TestChannelAfterClose(t *testing.T) {
	c := NewChannel(4)
	c.Event(&Event{Seq: 1})
	c.Close()
	c.Close()
	if got := c.Event(&Event{Seq: 2}); got != Continue || c.Dropped() != 1 {
		t.Errorf("%v, dropped %d", got, c.Dropped())
	}
	if e, ok := <-c.Events(); !ok || e.Seq != 1 {
		t.Errorf("what waited is lost: %+v", e)
	}
	if e, ok := <-c.Events(); ok {
		t.Errorf("sent after the end: %+v", e)
	}
}

func TestChannelNeverBlocksWhileItIsClosed(t *testing.T) {
	c := NewChannel(1)
	c.closing.Lock() // Close at work
	defer c.closing.Unlock()
	c.Event(&Event{})
	if c.Dropped() != 1 {
		t.Errorf("dropped %d", c.Dropped())
	}
}

func TestChannelEverythingIsSentOrCounted(t *testing.T) {
	c := NewChannel(16)
	var senders sync.WaitGroup
	var sent atomic.Int64
	var left atomic.Bool
	for run := range int64(4) {
		senders.Go(func() {
			for seq := int64(1); ; seq++ {
				stop := left.Load() // one more after the reader left
				c.Event(&Event{RunID: run, Seq: seq})
				sent.Add(1)
				if stop {
					return
				}
			}
		})
	}
	var got int64
	last := make(map[int64]int64)
	read := func(e Event) {
		if e.Seq <= last[e.RunID] {
			t.Errorf("run %d: %d after %d", e.RunID, e.Seq, last[e.RunID])
		}
		last[e.RunID] = e.Seq
		got++
	}
	for range 1000 {
		read(<-c.Events())
	}
	c.Close() // while the senders are at it
	left.Store(true)
	for e := range c.Events() {
		read(e)
	}
	senders.Wait()
	if got+c.Dropped() != sent.Load() {
		t.Errorf("%d read and %d dropped of %d", got, c.Dropped(), sent.Load())
	}
}

func TestChannelDoesNotAllocate(t *testing.T) {
	e := &Event{RunID: 1, Seq: 1, Kind: Step{Decision: "d"}, Agent: "0"}
	full := NewChannel(1)
	room := NewChannel(1)
	closed := NewChannel(1)
	closed.Close()
	for name, send := range map[string]func(){
		"full":   func() { full.Event(e) },
		"room":   func() { room.Event(e); <-room.Events() },
		"closed": func() { closed.Event(e) },
	} {
		if n := testing.AllocsPerRun(1000, send); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkChannelEvent(b *testing.B) {
	e := &Event{RunID: 1, Seq: 1, Kind: Step{Decision: "d"}, Agent: "0"}
	b.Run("full", func(b *testing.B) {
		c := NewChannel(1)
		c.Event(e)
		b.ReportAllocs()
		for b.Loop() {
			c.Event(e)
		}
	})
	b.Run("draining", func(b *testing.B) { // every event is sent; reading it is in the time
		c := NewChannel(1024)
		b.ReportAllocs()
		for b.Loop() {
			c.Event(e)
			<-c.Events()
		}
		if c.Dropped() > 0 {
			b.Errorf("dropped %d", c.Dropped())
		}
	})
	b.Run("beside a reader", func(b *testing.B) {
		c := NewChannel(1024)
		var reader sync.WaitGroup
		reader.Go(func() {
			for range c.Events() {
			}
		})
		b.ReportAllocs()
		for b.Loop() {
			c.Event(e)
		}
		b.StopTimer()
		c.Close()
		reader.Wait()
		b.ReportMetric(float64(c.Dropped())/float64(b.N), "dropped/op")
	})
}
