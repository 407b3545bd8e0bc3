package db

import (
	"os"
	"os/user"
	"strconv"
)

// Owner identifies a process beyond doubt: a pid alone is reused, across reboots and across containers.
type Owner struct {
	Host     string `json:"host"`
	BootID   string `json:"boot_id"`
	PIDSpace string `json:"pid_ns"`
	PID      int    `json:"pid"`
	Started  string `json:"pid_start"`
}

// Self is this process.
func Self() Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	pid := os.Getpid()
	started, _ := processStart(pid)
	return Owner{Host: host, BootID: bootID(), PIDSpace: pidSpace(), PID: pid, Started: started}
}

// Life is what can be proven about a process from here.
type Life string

// Only Dead lets another process take over.
const (
	Alive   Life = "alive"
	Dead    Life = "dead"
	Unknown Life = "unknown" // on another host or in another container: ask a person
)

// LifeOf says whether o still runs, as far as self can prove it.
func LifeOf(o, self Owner) Life {
	switch {
	case o.Host != self.Host || o.BootID == "" || self.BootID == "":
		return Unknown
	case o.BootID != self.BootID:
		return Dead // the host has been started anew since
	case o.PIDSpace != self.PIDSpace:
		return Unknown
	}
	started, exists := processStart(o.PID)
	switch {
	case !exists:
		return Dead
	case started == "" || o.Started == "":
		return Unknown
	case started != o.Started:
		return Dead // the number belongs to a later process
	}
	return Alive
}

// Actor is who did something, through what. It is stored with everything a person or a process decides.
type Actor struct {
	User     string `json:"user"`
	Surface  string `json:"surface"` // "key a", "command approve", "api", "policy", "engine"
	Terminal string `json:"terminal"`
	Host     string `json:"host"`
	PID      int    `json:"pid"`
}

// String is the actor in words: who, through what.
func (a Actor) String() string { return a.User + " (" + a.Surface + ")" }

// Who is how a person's name is shown to whoever looks at it from self: you, when it is the same user on the same host.
func (a Actor) Who(self Actor) string {
	if a.User == self.User && a.Host == self.Host {
		return "you"
	}
	return a.User
}

// Here is the actor of this process acting through surface.
func Here(surface string) Actor {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Actor{User: name, Surface: surface, Terminal: terminal(), Host: host, PID: os.Getpid()}
}
