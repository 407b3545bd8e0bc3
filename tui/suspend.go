package tui

import (
	"os"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
)

// suspend gives the terminal back to the shell, where there is one to go back to. Started in a terminal of its own, as by
// tmux, ssh or docker, the system lets nothing stop this process: it would wait with an empty screen for a continue that
// nobody can send.
func suspend() tea.Cmd {
	session, err := unix.Getsid(os.Getpid())
	if err != nil || !stoppable(session, unix.Getpgrp()) {
		return nil
	}
	return tea.Suspend
}

// stoppable says whether a process of a group in a session can be stopped from its terminal. A shell that controls jobs
// gives each a group; who is in the group of the session's leader has no such shell.
func stoppable(session, group int) bool { return session != group }
