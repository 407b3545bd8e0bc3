package sandbox

import "syscall"

// supervisedAttributes put a supervisor's command in a process group of its own, so that what it sends to its group
// does not reach the supervisor.
func supervisedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
