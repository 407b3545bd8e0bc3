package db

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// bootID changes with every start of the kernel (proc(5), /proc/sys/kernel/random/boot_id).
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func pidSpace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return link
}

// processStart is field 22 of /proc/PID/stat: the start time in clock ticks since the kernel started. A zombie counts
// as gone: it does nothing any more.
func processStart(pid int) (string, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if os.IsNotExist(err) {
		// Without /proc, or with one that hides other users' processes, a signal tells whether there is one.
		return "", !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
	}
	if err != nil {
		return "", true
	}
	// The command name, field 2, is in parentheses and may hold anything.
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return "", true
	}
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) < 20 {
		return "", true
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	return fields[19], true
}

func terminal() string {
	link, err := os.Readlink("/proc/self/fd/0")
	if err != nil || !strings.HasPrefix(link, "/dev/") || link == "/dev/null" {
		return ""
	}
	return link
}
