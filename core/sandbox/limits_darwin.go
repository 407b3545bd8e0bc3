package sandbox

// machineMemory is how much memory the machine has; nothing here is measured against it.
func machineMemory() int64 { return 0 }

// processesOf lists a family.
func processesOf(f family) (procfs string, pids []int) {
	for _, p := range f.members() {
		pids = append(pids, p.PID)
	}
	return "", pids
}

// residentMemory would be what of a process is in memory, which takes a library of the system to find out.
func residentMemory(string, int) int64 { return 0 }

func proportionalMemory(string, int) int64 { return 0 }

// bind would set what the system itself enforces.
func (Limits) bind(int, bool) {}
