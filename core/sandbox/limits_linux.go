package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// machineMemory is how much memory the machine has, in bytes; 0 when that is unknown.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// tasks is how many processes and threads the machine has (proc_loadavg(5)).
func tasks() int {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("/"))
	count, _, _ := bytes.Cut(rest, []byte(" "))
	n, _ := strconv.Atoi(string(count))
	return n
}

// ownProcesses lists a family that has a process table of its own, and says where that is; "" when it has none. It
// holds nobody else, which is quicker than to look for the family among all.
func ownProcesses(f family) (procfs string, pids []int) {
	s, ok := f.(space)
	if !ok {
		return "", nil
	}
	procfs = s.procfs()
	if pids = pidsIn(procfs); pids == nil || !s.alone(procfs) {
		return "", nil
	}
	return procfs, pids
}

// alone reports whether the table at procfs is the namespace's own.
func (s space) alone(procfs string) bool {
	name, err := os.Readlink(procfs + "/self/ns/pid")
	return err != nil || name == "" // this process is in no other namespace's table
}

// pidsIn lists the processes of a table, without the first.
func pidsIn(procfs string) []int {
	dir, err := os.Open(procfs)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	pids := []int{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// residentMemory is what of a process is in memory, in bytes (proc_pid_statm(5)).
func residentMemory(procfs string, pid int) int64 {
	text, err := os.ReadFile(procfs + "/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// proportionalMemory is the same with every shared page divided by those that share it (proc_pid_smaps(5)). Of a process
// that does not let itself be looked at it is the resident memory.
func proportionalMemory(procfs string, pid int) int64 {
	text, err := os.ReadFile(procfs + "/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return residentMemory(procfs, pid)
	}
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte("Pss:"))
		if fields := bytes.Fields(rest); ok && len(fields) > 0 {
			kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// threadsPerProcess is how many threads a process may have on average, where the system counts both as one.
const threadsPerProcess = 8

// bind sets what the system itself enforces, for this process and what it starts.
func (l Limits) bind() {
	setLimit(0, unix.RLIMIT_CORE, 0)
	if l.Files > 0 {
		setLimit(0, unix.RLIMIT_NOFILE, uint64(l.Files))
	}
}

// bindProcesses does the same for how many processes a command may have. It is for user namespaces, where only those
// within count; elsewhere all that the user has would.
func (l Limits) bindProcesses(command int) {
	if l.Processes > 0 {
		setLimit(command, unix.RLIMIT_NPROC, uint64(l.Processes)*threadsPerProcess)
	}
}

// bindSpace bounds how many tasks this process's own process namespace can hold, so that what forks without end never
// outruns whoever counts. Linux has that limit for each namespace since 6.14 (sysctl/kernel.rst, pid_max); before, it is the
// whole machine's and left alone.
func (l Limits) bindSpace() {
	if l.Processes <= 0 || !kernelAtLeast(6, 14) {
		return
	}
	_ = os.WriteFile("/proc/sys/kernel/pid_max", strconv.AppendInt(nil, int64(reservedPIDs+l.Processes*threadsPerProcess), 10), 0)
}

// reservedPIDs is how many numbers the system never gives out a second time (kernel/pid.c, RESERVED_PIDS).
const reservedPIDs = 300

// kernelAtLeast says whether the system is Linux of a version or a later one.
func kernelAtLeast(major, minor int) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var have [2]int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &have[0], &have[1]); n != 2 {
		return false
	}
	return have[0] > major || have[0] == major && have[1] >= minor
}

// setLimit sets a limit of a process, 0 for this one, for good. As it is only the last resort it may fail.
func setLimit(pid, resource int, n uint64) {
	var now unix.Rlimit
	if unix.Prlimit(pid, resource, nil, &now) != nil {
		return
	}
	n = min(n, now.Max)
	_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: n, Max: n}, nil)
}
