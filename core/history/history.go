// Package history is what a model is shown: the messages of a run, built up from committed steps and never changed
// between compactions, so that an endpoint's prompt cache stays warm and a replay asks the same bytes.
package history

import (
	"fmt"

	"tillerman/core/provider"
)

// History is the messages of the newest request and those that wait for the next one. It is for one goroutine.
type History struct {
	messages []provider.Message
	asked    int // messages that the newest stored request held
	kept     int // of them, how many the next request keeps: all, unless a compaction changed an earlier one
	bytes    int // canonical size of all messages
}

// Add appends a message for the next request.
func (h *History) Add(m provider.Message) {
	h.messages = append(h.messages, m)
	h.bytes += len(m.Canonical())
}

// Restore replays a stored request: the first keep messages stay, the rest is replaced.
func (h *History) Restore(keep int, appended []provider.Message) error {
	if keep < 0 || keep > len(h.messages) {
		return fmt.Errorf("a request keeps %d of %d messages", keep, len(h.messages))
	}
	for _, m := range h.messages[keep:] {
		h.bytes -= len(m.Canonical())
	}
	for _, m := range appended {
		h.bytes += len(m.Canonical())
	}
	h.messages = append(h.messages[:keep:keep], appended...)
	h.Asked()
	return nil
}

// Next is what the next request says beside what the request before it said: keep messages of that one, then appended.
func (h *History) Next() (keep int, appended []provider.Message) {
	return h.kept, h.messages[h.kept:]
}

// Asked notes that the messages as they are now went into a stored request.
func (h *History) Asked() {
	h.asked = len(h.messages)
	h.kept = h.asked
}

// Messages is everything the next request holds. The slice is shared; do not change it.
func (h *History) Messages() []provider.Message { return h.messages }

// Bytes is the canonical size of all messages.
func (h *History) Bytes() int { return h.bytes }
