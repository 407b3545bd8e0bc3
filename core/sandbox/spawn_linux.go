package sandbox

import "syscall"

// supervisedAttributes put a supervisor's command in a process group of its own, so that what it sends to its group
// does not reach the supervisor. Should the supervisor be killed, the system kills the command (prctl(2),
// PR_SET_PDEATHSIG).
func supervisedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
