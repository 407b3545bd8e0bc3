package sandbox

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// snapshot reads the process table from /proc.
func snapshot() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var table []process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := inspect(pid); ok {
				table = append(table, p)
			}
		}
	}
	return table, nil
}

// inspect reads one process; false when there is none.
func inspect(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	p, err := parseStat(string(stat))
	return p, err == nil
}

var errStat = errors.New("malformed process status")

// parseStat reads /proc/PID/stat (proc_pid_stat(5)). The name stands in parentheses and may hold anything, parentheses
// and spaces included.
func parseStat(stat string) (process, error) {
	pid, rest, ok := strings.Cut(stat, " (")
	end := strings.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return process{}, errStat
	}
	fields := strings.Fields(rest[end+1:])
	const state, parent, group, session, start = 0, 1, 2, 3, 19
	if len(fields) <= start || len(fields[state]) != 1 {
		return process{}, errStat
	}
	p := process{name: printable(rest[:end]), dead: strings.Contains("ZXx", fields[state])}
	var err error
	number := func(s string) int {
		n, e := strconv.Atoi(s)
		err = errors.Join(err, e)
		return n
	}
	p.PID, p.parent, p.group, p.session = number(pid), number(fields[parent]), number(fields[group]), number(fields[session])
	started, e := strconv.ParseUint(fields[start], 10, 64)
	p.Start = started
	if errors.Join(err, e) != nil {
		return process{}, errStat
	}
	return p, nil
}

// marked reports whether the process was started with the mark in its environment.
func marked(pid int, mark string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	return bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+markVariable+"="+mark+"\x00"))
}

// bootID changes with every start of the system.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// adopt makes this process the parent of every descendant whose own parent ends, and reports whether it is (Linux 3.4,
// prctl(2) PR_SET_CHILD_SUBREAPER).
func adopt() bool {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// rename sets the name that process lists show, at most 15 bytes: re-executed by way of /proc/self/exe it would be "exe".
func rename(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0)
}
