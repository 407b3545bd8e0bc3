package tuitest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// working reports whether a thread of the process runs, wants to run, or waits
// for a disk: it may still have something to show.
func working(pid int) bool {
	stats, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		// The state stands behind the name, which is in parentheses and may
		// itself hold some (proc_pid_stat(5)).
		rest := stat[bytes.LastIndexByte(stat, ')')+1:]
		if fields := bytes.Fields(rest); len(fields) > 0 && (fields[0][0] == 'R' || fields[0][0] == 'D') {
			return true
		}
	}
	return false
}

// processesWith lists the processes that were started with a variable, but for
// the shells that lead the kit's own sessions.
func processesWith(variable string) []Process {
	var found []Process
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if !slices.Contains(args, script) {
			found = append(found, Process{PID: pid, Args: args})
		}
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found
}
