package db

import "golang.org/x/sys/unix"

// waitZombie waits until a child has ended, and leaves it a zombie.
func waitZombie(pid int) error {
	return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
}
