package sandbox

import (
	"fmt"
	"strings"
	"sync"
)

// backend is what confines commands on this machine, as far as trying it has shown.
type backend struct {
	spaces   spaces
	landlock int
	filter   bool
}

// found is what this machine has, tried out once when it is first asked for: like ran it describes the process.
var found = sync.OnceValue(findBackend)

// current is the backend of this process. A program that did not call Main has none.
func current() backend {
	if !ran.Load() {
		return backend{}
	}
	return found()
}

// Floor is the name of having nothing but a process tree that can be ended, and a clean environment.
const Floor = "floor"

// label names a backend for commands that may or may not use the network. It says nothing that was not tried.
func (b backend) label(network bool) string {
	var parts []string
	if b.landlock > 0 {
		parts = append(parts, fmt.Sprintf("landlock%d", b.landlock))
	}
	if b.filter {
		part := "seccomp"
		if !network && !b.spaces.Net {
			part = "seccomp(net)"
		}
		parts = append(parts, part)
	}
	var own []string
	for _, space := range []struct {
		name string
		has  bool
	}{
		{"pid", b.spaces.PID}, {"mount", b.spaces.Mount}, {"net", b.spaces.Net && !network}, {"ipc", b.spaces.IPC},
	} {
		if space.has {
			own = append(own, space.name)
		}
	}
	if len(own) > 0 {
		name := "ns"
		if b.spaces.User {
			name = "userns"
		}
		parts = append(parts, name+"("+strings.Join(own, ",")+")")
	}
	if len(parts) == 0 {
		return Floor
	}
	return strings.Join(parts, "+")
}

// Backend names what confines commands that may not use the network on this machine: "floor", or its parts as they were
// tried out when it was first asked for, like "landlock7+seccomp+userns(pid,mount,net,ipc)". docs/sandbox.md says what
// each does.
func Backend() string { return BackendFor(false) }

// BackendFor is Backend, also for commands that may use the network.
func BackendFor(network bool) string { return current().label(network) }

// Missing lists what the backend does not keep commands from that may not use the network, one plain line each; nil when
// it confines them in full.
func Missing() []string { return current().missing() }

func (b backend) missing() []string {
	var lines []string
	add := func(missing bool, line string) {
		if missing {
			lines = append(lines, line)
		}
	}
	files := b.landlock > 0 || b.spaces.Mount
	add(!files, "commands can read and write whatever your user can, the store and your keys included")
	add(files && !b.spaces.Mount, "commands can read files in the workspace that the policy denies to read")
	add(!b.spaces.Net && !b.filter, "commands can use the network")
	add(!b.spaces.Mount && !b.filter, "commands can talk to services on this machine by way of sockets")
	add(!b.spaces.PID && b.landlock < 6, "commands can signal processes of your user")
	add(!b.filter, "system calls are not filtered")
	add(!b.spaces.PID, "a process that leaves its session and its environment behind outlives a supervisor that is killed")
	return lines
}
