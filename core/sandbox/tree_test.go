package sandbox

import (
	"slices"
	"testing"
)

func TestTreePicksItsOwn(t *testing.T) {
	at := func(pid, parent, session int, dead bool) process {
		return process{identity: identity{PID: pid, Start: 1}, parent: parent, group: session, session: session, dead: dead}
	}
	table := []process{
		at(1, 0, 1, false),
		at(10, 1, 10, false),  // the engine
		at(20, 10, 20, false), // a supervisor
		at(21, 20, 20, false), // its command
		at(22, 21, 20, true),  // a dead child
		at(23, 22, 23, false), // the dead child's child, in a session of its own
		at(24, 1, 20, false),  // orphaned, still in the session
		at(25, 24, 25, false), // child of that
		at(30, 10, 30, false), // another supervisor
		at(31, 30, 30, false),
		at(40, 41, 40, false), // each other's parents: a table is not read at one moment
		at(41, 40, 40, false),
	}
	for _, tc := range []struct {
		name string
		tree tree
		self int
		want []int
	}{
		{"by parent", tree{parent: 20}, 20, []int{21, 23}},
		{"by parent and session", tree{parent: 20, session: 20}, 20, []int{21, 23, 24, 25}},
		{"by session", tree{session: 20}, 10, []int{20, 21, 23, 24, 25}},
		{"never itself", tree{parent: 1, session: 1}, 10, []int{24, 25}},
		{"in a circle", tree{session: 40}, 10, []int{40, 41}},
		{"nothing", tree{}, 10, nil},
	} {
		var got []int
		for _, p := range tc.tree.pick(table, tc.self) {
			got = append(got, p.PID)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
