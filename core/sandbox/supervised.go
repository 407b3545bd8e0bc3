package sandbox

import (
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// supervised starts a job under a supervisor.
func (r *Runner) supervised(j job, input, output *os.File) (*execution, error) {
	controlRead, control, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	reports, reportWrite, err := os.Pipe()
	if err != nil {
		controlRead.Close()
		control.Close()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	cmd := &exec.Cmd{
		Path:  r.executable,
		Args:  []string{supervisorName},
		Env:   []string{},
		Dir:   "/",
		Stdin: input,
		// In the order of controlFD, reportFD, outputFD.
		ExtraFiles:  []*os.File{controlRead, reportWrite, output},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	controlRead.Close()
	reportWrite.Close()
	if err != nil {
		control.Close()
		reports.Close()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	s := &supervisor{cmd: cmd, control: control, reports: reports, asks: make(chan request, kill-none), told: make(chan struct{})}
	return s.begin(j), nil
}

// supervisor is a running supervisor, seen from the engine.
type supervisor struct {
	cmd     *exec.Cmd
	control *os.File
	reports *os.File
	asks    chan request
	told    chan struct{} // closed when nothing more is written to control
}

func (s *supervisor) begin(j job) *execution {
	reports := make(chan report, 1)
	go s.tell(j)
	go s.read(reports)
	return &execution{
		reports: reports,
		ask:     s.ask,
		abandon: s.kill,
		close:   s.close,
		orphans: func() tree { return tree{session: s.cmd.Process.Pid, mark: j.Mark, known: straysOf(j)} },
	}
}

// tell writes the job and then what is asked for. It fails when the supervisor is dead, which its silence tells too.
func (s *supervisor) tell(j job) {
	defer close(s.told)
	err := gob.NewEncoder(s.control).Encode(j)
	for what := range s.asks {
		if err == nil {
			_, err = s.control.Write([]byte{byte(what)})
		}
	}
}

// mostReport bounds a report: names of processes are the only thing in it that can be many.
const mostReport = 16 << 20

func (s *supervisor) read(to chan<- report) {
	defer close(to)
	var r report
	if gob.NewDecoder(io.LimitReader(s.reports, mostReport)).Decode(&r) == nil {
		to <- r
	}
}

func (s *supervisor) ask(what request) {
	select {
	case s.asks <- what:
	default: // each kind fits once, and twice says no more
	}
}

func (s *supervisor) kill() { _ = s.cmd.Process.Kill() }

// close waits for the supervisor, which exits by itself after its report.
func (s *supervisor) close() {
	close(s.asks)
	s.control.Close()
	<-s.told
	timer := time.AfterFunc(patience, s.kill)
	defer timer.Stop()
	_ = s.cmd.Wait() // what it has to say is in its report
	s.reports.Close()
}
