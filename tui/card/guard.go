// Package card is the question on the screen: what would happen, completely, and the keys that decide. Its first duty is
// that nothing is ever decided by accident.
package card

import "time"

// The times of decision safety. A question that has just appeared is not armed: keys that were on their way to
// something else must not answer it. A decision key must stand alone: what a terminal or a paste sends comes in bursts.
const (
	ArmAfter = 400 * time.Millisecond // without any key, since it appeared or since the last key
	Alone    = 60 * time.Millisecond  // before and after a decision key
)

// Guard decides whether a key press is a decision. It is a pure state machine over key presses and the clock; the zero
// value guards nothing, use NewGuard for each question.
type Guard struct {
	quietSince time.Time // nothing was pressed since
	lastKey    time.Time
	armed      bool
	pending    string
	pendingAt  time.Time
}

// NewGuard guards a question that appeared at now.
func NewGuard(now time.Time) Guard { return Guard{quietSince: now, lastKey: now} }

// Armed says whether a decision key would count now.
func (g *Guard) Armed(now time.Time) bool {
	if !g.armed && now.Sub(g.quietSince) >= ArmAfter {
		g.armed = true
	}
	return g.armed
}

// Press notes a key press. decision says whether the key is one that decides. It returns true when the key may become a
// decision: then Settle must be asked after Alone.
func (g *Guard) Press(now time.Time, key string, decision bool) bool {
	armed := g.Armed(now)
	alone := now.Sub(g.lastKey) >= Alone
	g.lastKey = now
	if !armed || !alone || g.pending != "" {
		g.Disturb(now)
		return false
	}
	if decision {
		g.pending, g.pendingAt = key, now
	}
	return decision
}

// Disturb notes input that no person makes key by key: a paste, a burst. Whatever was about to be decided is not, and
// the question has to arm anew.
func (g *Guard) Disturb(now time.Time) {
	g.pending, g.armed, g.quietSince, g.lastKey = "", false, now, now
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
