package core

import (
	"io"
	"sync"

	"tillerman/core/provider"
	"tillerman/core/redact"
)

// liveText passes on live text of one source without the secrets in it, one that is split over two pieces included. It
// may be called concurrently.
type liveText struct {
	mu   sync.Mutex
	out  *redact.Writer
	send func([]byte)
}

func (d *driver) liveText(send func([]byte)) *liveText {
	l := &liveText{send: send}
	l.out = d.e.redactor.Stream(sink(send))
	return l
}

// write takes the next piece. What could be the beginning of a secret is held back; at the end it is not passed on, since
// the result that replaces live text follows.
func (l *liveText) write(piece []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(piece) // a sink does not fail
}

// sink is a function as a writer.
type sink func([]byte)

func (s sink) Write(p []byte) (int, error) { s(p); return len(p), nil }

var _ io.Writer = sink(nil)

// output is where a command's live output goes.
func (d *driver) output(step, position int) func([]byte) {
	return d.liveText(func(chunk []byte) { d.live.Output(d.lease.RunID, step, position, d.lease.Agent, chunk) }).write
}

// deltas is where the pieces of an answer go, each kind apart.
func (d *driver) deltas(step int) func(provider.PartKind, string) {
	var mu sync.Mutex
	streams := map[provider.PartKind]*liveText{}
	return func(kind provider.PartKind, text string) {
		mu.Lock()
		stream := streams[kind]
		if stream == nil {
			stream = d.liveText(func(piece []byte) { d.live.Delta(d.lease.RunID, step, d.lease.Agent, string(kind), string(piece)) })
			streams[kind] = stream
		}
		mu.Unlock()
		stream.write([]byte(text))
	}
}
