package db

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// bootID changes with every start of the kernel.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

func pidSpace() string { return "" }

func processStart(pid int) (string, bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EIO)
	}
	if p.Proc.P_stat == 5 { // SZOMB
		return "", false
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), true
}

func terminal() string { return "" }
