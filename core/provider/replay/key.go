package replay

import (
	"crypto/sha256"
	"slices"

	"tillerman/core/provider"
)

// key stands for a whole request: equal keys mean equal canonical JSON, no messages and no tools counting as empty lists.
type key [sha256.Size]byte

// thread makes the keys of one agent's requests. A request mostly repeats the one before; hashing message after message,
// each over the hash so far, leaves only what is new to be hashed. Without that, a run's cost would grow with the square
// of its length.
type thread struct {
	last  provider.Request // our own copy
	fresh bool             // last and head hold something
	head  key              // of all of last but its messages
	chain []key            // chain[i] is over last's messages up to and with i
}

// key is the key of the agent's next request.
func (t *thread) key(req provider.Request) key {
	if !t.fresh || !sameHead(t.last, req) {
		t.last.Model, t.last.MaxOutput, t.last.System = req.Model, req.MaxOutput, req.System
		t.last.Tools = slices.Clone(req.Tools)
		for i := range t.last.Tools {
			t.last.Tools[i].Schema = slices.Clone(t.last.Tools[i].Schema)
		}
		head := provider.Request{Model: req.Model, MaxOutput: req.MaxOutput, System: req.System}
		if len(req.Tools) > 0 {
			head.Tools = req.Tools
		}
		t.head, t.fresh = sha256.Sum256(head.Canonical()), true
	}
	keep := provider.Common(t.last.Messages, req.Messages)
	t.last.Messages, t.chain = t.last.Messages[:keep], t.chain[:keep]
	var sum key
	if keep > 0 {
		sum = t.chain[keep-1]
	}
	for _, m := range req.Messages[keep:] {
		sum = sha256.Sum256(append(sum[:], m.Canonical()...))
		t.last.Messages = append(t.last.Messages, m.Clone())
		t.chain = append(t.chain, sum)
	}
	return sha256.Sum256(append(sum[:], t.head[:]...))
}

func sameHead(a, b provider.Request) bool {
	return a.Model == b.Model && a.MaxOutput == b.MaxOutput && a.System == b.System &&
		slices.EqualFunc(a.Tools, b.Tools, provider.ToolSpec.Equal)
}
