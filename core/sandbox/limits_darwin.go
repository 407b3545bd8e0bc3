package sandbox

// machineMemory is how much memory the machine has; nothing here is measured against it.
func machineMemory() int64 { return 0 }

// tasks would be how many processes the machine has.
func tasks() int { return 0 }

// ownProcesses finds nothing: there are no process tables of one family alone.
func ownProcesses(family) (string, []int) { return "", nil }

// residentMemory would be what of a process is in memory, which takes a library of the system to find out.
func residentMemory(string, int) int64 { return 0 }

func proportionalMemory(string, int) int64 { return 0 }

// bind would set what the system itself enforces.
func (Limits) bind() {}
