// Package observer says how a run is watched: the event and its kinds, the wire form they travel in, the interface that
// receives them, and small observers to build on: a channel that never blocks, a fan-out, a guard against panics, JSON
// lines. It also holds the table of the words a run can end or pause with.
//
// An event is a notice that a fact was stored, not the fact. Readers that need to be right read the store; where the two
// differ, the store holds.
//
// The package imports nothing of this program, so that an embedder can depend on it alone.
package observer
