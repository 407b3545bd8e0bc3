package sandbox

import (
	"os"
	"slices"
	"strings"
)

// Inside says that this process is part of a command that some engine runs: it carries a command's mark, or descends from
// a supervisor or from the first process of a command's own space.
func Inside(environ []string) bool {
	marked := slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, markVariable+"=") })
	return marked || descends(os.Getppid(), func(p process) bool { return p.name == shownName(supervisorName) || p.name == shownName(stageName) })
}

// shownName is what the process table shows of a name: 15 bytes.
func shownName(name string) string { return name[:min(len(name), 15)] }

// generations bounds the way up: a process table that changes meanwhile must not send us round in a circle.
const generations = 1000

// descends follows the way up from a process until fits says yes.
func descends(pid int, fits func(process) bool) bool {
	for range generations {
		p, ok := inspect(pid)
		if !ok {
			return false
		}
		if fits(p) {
			return true
		}
		if p.parent < 1 {
			return false
		}
		pid = p.parent
	}
	return false
}
