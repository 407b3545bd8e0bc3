// Package card is the question on the screen: what would happen, completely, and the keys that decide. Its first duty is
// that nothing is ever decided by accident.
package card

import "time"

// The times of decision safety. A question that has just appeared is not armed: keys that were on their way to
// something else must not answer it. A decision key must stand alone: what a person types as words, and what a terminal
// or a paste sends, comes in bursts.
const (
	// ArmAfter is the quiet it takes to arm: since the question appeared, since the last key that means nothing to it.
	ArmAfter = 400 * time.Millisecond
	// Alone is the quiet before and after a decision key. Words are typed faster than that.
	Alone = 200 * time.Millisecond
	// Settled is the quiet after a burst. A paste without marks or a terminal's reply may come in pieces, and its last
	// piece may be one letter.
	Settled = 1500 * time.Millisecond
)

// Guard decides whether a key press is a decision. It is a pure state machine over key presses and the clock; use
// NewGuard for each question.
type Guard struct {
	quietSince time.Time     // nothing was pressed since
	quiet      time.Duration // that it takes to arm
	lastKey    time.Time
	armed      bool
	pending    string
	pendingAt  time.Time
}

// NewGuard guards a question that appeared at now.
func NewGuard(now time.Time) Guard { return Guard{quietSince: now, quiet: ArmAfter, lastKey: now} }

// Armed says whether a decision key would count now.
func (g *Guard) Armed(now time.Time) bool {
	if !g.armed && now.Sub(g.quietSince) >= g.quiet {
		g.armed = true
	}
	return g.armed
}

// Left is how long it still takes to arm when nothing is pressed.
func (g *Guard) Left(now time.Time) time.Duration { return max(0, g.quiet-now.Sub(g.quietSince)) }

// What a key is to a guard.
type What int

// The kinds of keys.
const (
	Noise    What = iota // it means nothing here: somebody types something else
	Harmless             // it scrolls or moves
	Decision             // it decides, when it stands alone
)

// Press notes a key press. It returns true when the key may become a decision: then Settle must be asked after Alone.
func (g *Guard) Press(now time.Time, key string, what What) bool {
	armed := g.Armed(now)
	gap := now.Sub(g.lastKey)
	g.lastKey = now
	switch {
	case gap < Alone && (what != Harmless || g.pending != ""):
		g.Disturb(now)
		return false
	case what == Noise, g.pending != "", !armed:
		g.disarm(now, max(ArmAfter, g.Left(now)))
		return false
	case what == Decision:
		g.pending, g.pendingAt = key, now
		return true
	}
	return false
}

// Disturb notes input that no person makes key by key: a paste, a burst. Whatever was about to be decided is not, and
// the question has to arm anew.
func (g *Guard) Disturb(now time.Time) { g.disarm(now, Settled) }

func (g *Guard) disarm(now time.Time, quiet time.Duration) {
	g.pending, g.armed, g.quietSince, g.quiet, g.lastKey = "", false, now, quiet, now
}

// Settle returns the decision key that has stood alone by now, "" when there is none. It returns it once.
func (g *Guard) Settle(now time.Time) string {
	if g.pending == "" || now.Sub(g.pendingAt) < Alone {
		return ""
	}
	key := g.pending
	g.pending = ""
	return key
}

// renewed guards something else from now on: what it guarded has changed. Noise from before still counts.
func (g *Guard) renewed(now time.Time) Guard {
	fresh := NewGuard(now)
	fresh.quiet = max(ArmAfter, g.Left(now))
	return fresh
}
