package sandbox

import (
	"fmt"
	"time"
)

// Limits bound what a command and all that descends from it may use together. How long it may run is Command.Timeout.
// A zero means the default, a negative number no limit. Commands that run without a supervisor have none.
type Limits struct {
	// Memory is in bytes, pages that several processes share counted once. More stops the command. The default is half
	// of the machine's memory, 2 GiB at least: a build of a large program fits, and the engine and whoever else works
	// here keep as much.
	Memory int64
	// Processes is how many may run at a time, without threads. More stops the command. The default is 1024: a parallel
	// build on the largest machines starts a few hundred, a process that forks without end passes it at once.
	Processes int
	// Files is how many files one process may have open; opening more fails. The default is 8192, which is more than the
	// limit that most systems set, and keeps one process from using up the system's.
	Files int
}

const (
	defaultProcesses = 1024
	defaultFiles     = 8192
	leastMemory      = 2 << 30
)

// full fills in the defaults.
func (l Limits) full() Limits {
	if l.Memory == 0 {
		l.Memory = max(leastMemory, machineMemory()/2)
	}
	if l.Processes == 0 {
		l.Processes = defaultProcesses
	}
	if l.Files == 0 {
		l.Files = defaultFiles
	}
	return l
}

// measure is how often a command's use is looked at. In that time a process that does nothing else can take a few
// hundred megabytes more than its limit. Processes that fork without end are many more by then: how many the whole
// machine has is looked at glance times as often, which costs next to nothing.
const (
	measure = 100 * time.Millisecond
	glance  = 10
)

// meter looks at what a command uses, until over is closed, and says once which limit it went over. Where the system does
// not keep the command's processes together, seen is told of them; it may be nil.
func (l Limits) meter(f family, seen func([]process), exceeded chan<- string, over <-chan struct{}) {
	ticker := time.NewTicker(measure / glance)
	defer ticker.Stop()
	last := tasks()
	for tick := 1; ; tick++ {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		now := tasks()
		if tick%glance != 0 && (l.Processes <= 0 || now-last < l.Processes/2) {
			continue
		}
		last = now
		procfs, pids := ownProcesses(f)
		if procfs == "" {
			procfs = "/proc"
			members := f.members()
			for _, p := range members {
				pids = append(pids, p.PID)
			}
			if seen != nil {
				seen(members)
			}
		}
		if limit := l.exceededBy(procfs, pids); limit != "" {
			exceeded <- limit
			return
		}
	}
}

// exceededBy says which limit the processes go over, "" for none.
func (l Limits) exceededBy(procfs string, pids []int) string {
	if l.Processes > 0 && len(pids) > l.Processes {
		return fmt.Sprintf("limit of %d processes", l.Processes)
	}
	if l.Memory <= 0 {
		return ""
	}
	// What is shared counts for each here, so this is the most that it can be, and cheap to find out.
	var most int64
	for _, pid := range pids {
		most += residentMemory(procfs, pid)
	}
	if most <= l.Memory {
		return ""
	}
	var used int64
	for _, pid := range pids {
		used += proportionalMemory(procfs, pid)
	}
	if used <= l.Memory {
		return ""
	}
	return "memory limit " + bytesText(l.Memory)
}

// bytesText words a size in the unit it is whole in, or with one decimal.
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size, unit := float64(n), 0
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	if size == float64(int64(size)) {
		return fmt.Sprintf("%d %s", int64(size), units[unit])
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
