package sandbox

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is how the processes of one command are told from all others: they descend from a parent, are in a session,
// carry a mark or were seen to belong to it before.
type tree struct {
	parent  int        // their ancestor, which is not one of them; 0 for none
	session int        // the session they were started in; 0 for none
	mark    string     // what their environment holds; "" to not look, because it costs a file each
	known   []identity // found before, by whoever could still tell
}

// members lists the tree's running processes, without this one.
func (t tree) members() []process {
	table, err := snapshot()
	if err != nil {
		return nil
	}
	return t.pick(table, os.Getpid())
}

// pick finds the tree in a process table. Dead processes do not count, but their children do.
func (t tree) pick(table []process, self int) []process {
	children := make(map[int][]process)
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p)
	}
	in := make(map[int]bool)
	var found []process
	var add func(p process)
	add = func(p process) {
		if in[p.PID] || p.PID == self || p.PID <= 1 {
			return
		}
		in[p.PID] = true
		if !p.dead {
			found = append(found, p)
		}
		for _, child := range children[p.PID] {
			add(child)
		}
	}
	if t.parent != 0 {
		for _, p := range children[t.parent] {
			add(p)
		}
	}
	for _, p := range table {
		if t.session != 0 && p.session == t.session && p.PID != t.parent {
			add(p)
		}
	}
	for _, p := range table {
		if slices.Contains(t.known, p.identity) {
			add(p)
		}
	}
	if t.mark != "" {
		for _, p := range table {
			if !in[p.PID] && p.PID != self && marked(p.PID, t.mark) {
				add(p)
			}
		}
	}
	slices.SortFunc(found, func(a, b process) int { return a.PID - b.PID })
	return found
}

// signal sends a signal to every member once: to whole process groups, which reaches what a member forks meanwhile, and
// one by one to those in our own group. A group lies within a session and a session within a tree, so no stranger is
// in such a group.
func (t tree) signal(members []process, signal syscall.Signal) {
	own := unix.Getpgrp()
	sent := make(map[int]bool)
	for _, p := range members {
		switch {
		case p.group <= 1 || p.group == own:
			_ = unix.Kill(p.PID, signal)
		case !sent[p.group]:
			sent[p.group] = true
			_ = unix.Kill(-p.group, signal)
		}
	}
}

// terminate asks the members to end. Stopped ones must run to hear it.
func (t tree) terminate() {
	members := t.members()
	t.signal(members, unix.SIGTERM)
	t.signal(members, unix.SIGCONT)
}

func (t tree) kill() {
	t.signal(t.members(), unix.SIGKILL)
}
