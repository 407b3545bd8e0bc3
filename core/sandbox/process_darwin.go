package sandbox

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// snapshot reads the process table with sysctl(3).
func snapshot() ([]process, error) {
	rows, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	table := make([]process, 0, len(rows))
	for i := range rows {
		table = append(table, fromRow(&rows[i]))
	}
	return table, nil
}

// inspect reads one process; false when there is none.
func inspect(pid int) (process, bool) {
	row, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(row.Proc.P_pid) != pid {
		return process{}, false
	}
	return fromRow(row), true
}

func fromRow(row *unix.KinfoProc) process {
	p := process{
		parent: int(row.Eproc.Ppid),
		group:  int(row.Eproc.Pgid),
		name:   printable(unix.ByteSliceToString(row.Proc.P_comm[:])),
		dead:   row.Proc.P_stat == zombie,
	}
	p.PID = int(row.Proc.P_pid)
	p.Start = uint64(row.Proc.P_starttime.Nano())
	if session, err := unix.Getsid(p.PID); err == nil {
		p.session = session
	}
	return p
}

// marked reports whether the process was started with the mark in its environment. The system shows the environment of
// the user's own processes, except of programs it protects.
func marked(pid int, mark string) bool {
	arguments, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return false
	}
	return bytes.Contains(arguments, []byte("\x00"+markVariable+"="+mark+"\x00"))
}

// bootID changes with every start of the system.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// adopt would make this process the parent of orphans. The system has no such thing: the tree is found by session,
// parent and mark.
func adopt() bool { return false }

// rename sets the name that process lists show, which here is the command line.
func rename(string) {}
