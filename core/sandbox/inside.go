package sandbox

import (
	"os"
	"slices"
	"strings"
)

// Inside says that this process is part of a command that some engine runs: it carries a command's mark, or descends from
// a supervisor.
func Inside(environ []string) bool {
	marked := slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, markVariable+"=") })
	return marked || descends(os.Getppid(), func(p process) bool { return strings.HasPrefix(supervisorName, p.name) && len(p.name) > 10 })
}

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
		if p.parent <= 1 {
			return false
		}
		pid = p.parent
	}
	return false
}
