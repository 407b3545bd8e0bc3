package sandbox

import (
	"os"
	"syscall"
)

// direct starts a job under the engine itself.
func direct(j job, input, output *os.File) (*execution, error) {
	pid, err := spawn(j, input, output, &syscall.SysProcAttr{Setsid: true})
	if err != nil {
		return nil, err
	}
	leader, _ := inspect(pid)
	forget := remember(j, leader.identity)
	ended := make(chan syscall.WaitStatus, 1)
	go reapOne(pid, ended)
	requests := make(chan request, kill-none)
	t := tree{session: pid, mark: j.Mark}
	w := &watch{tree: t, look: true, requests: requests, ended: ended}
	reports := make(chan report, 1)
	go func() {
		defer close(reports)
		r := w.run()
		if w.gone() {
			forget()
		}
		reports <- r
	}()
	return &execution{
		reports: reports,
		ask: func(what request) {
			select {
			case requests <- what:
			default: // each kind fits once, and twice says no more
			}
		},
		abandon: func() {},
		close:   func() {},
		orphans: func() tree { return t },
	}, nil
}
