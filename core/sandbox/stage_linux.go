package sandbox

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// stage is the process between a supervisor and its command. With a process namespace it is the init of that: it makes
// the surroundings, starts the command from a thread that is confined for good, reaps, and with it everything in the
// namespace ends. Without one it confines itself and becomes the command. It returns the process's exit code.
func stage() int {
	// What confines holds for a thread, and for what it starts.
	runtime.LockOSThread()
	rename(stageName)
	closeOnExec()
	control, status := os.NewFile(stageFD, "control"), os.NewFile(statusFD, "status")
	var j stageJob
	if err := gob.NewDecoder(control).Decode(&j); err != nil {
		return 1 // the supervisor is gone already
	}
	say := gob.NewEncoder(status)
	if j.Confine.Spaces.PID {
		// What the command sends here is for nobody. To ignore it would make the command ignore it, too.
		signal.Notify(make(chan os.Signal, 1))
		go func() {
			_, _ = control.Read(make([]byte, 1))
			unix.Exit(1)
		}()
	} else if err := bound(j.Supervisor); err != nil {
		return 1
	}
	if j.Probe != nil {
		_ = say.Encode(staged{Probed: j.Probe.run(&j.Confine)})
		return 0
	}
	if j.Confine.Spaces.PID {
		j.Confine.Limits.bindSpace()
	}
	if err := j.Confine.surround(); err != nil {
		_ = say.Encode(staged{Failure: err.Error()})
		return 1
	}
	if err := j.Confine.restrict(); err != nil {
		_ = say.Encode(staged{Failure: err.Error()})
		return 1
	}
	var err error
	if j.Confine.Spaces.PID {
		err = j.mind(control, say)
	} else {
		err = j.become()
	}
	if err == nil {
		return 0
	}
	said := staged{Failure: err.Error()}
	var reason *notFoundError
	if errors.As(err, &reason) {
		said = staged{NotFound: reason.Reason}
	}
	_ = say.Encode(said)
	return 1
}

// bound ties this thread's life to the supervisor's once more: the system forgets it when the program is started by
// another thread than the one that starts the command.
func bound(supervisor int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != supervisor {
		return errors.New("the supervisor is gone")
	}
	return nil
}

// become replaces this process by the command.
func (j *stageJob) become() error {
	if err := os.Chdir(j.Dir); err != nil {
		return outOfReach("the working directory", j.Dir)
	}
	return j.failure(syscall.Exec(j.Path, j.Argv, j.Env))
}

// mind starts the command and reaps until nothing is left in the namespace.
func (j *stageJob) mind(control *os.File, say *gob.Encoder) error {
	if err := unix.Access(j.Dir, unix.X_OK); err != nil {
		return outOfReach("the working directory", j.Dir)
	}
	pid, err := syscall.ForkExec(j.Path, j.Argv, &syscall.ProcAttr{
		Dir: j.Dir, Env: j.Env, Files: []uintptr{0, 1, 1}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return j.failure(err)
	}
	if j.Confine.Spaces.User {
		j.Confine.Limits.bindProcesses(pid)
	}
	// They are the command's alone: whoever is at the other end must see when it is done with them.
	for fd := range 3 {
		_ = unix.Dup3(int(control.Fd()), fd, unix.O_CLOEXEC)
	}
	if err := say.Encode(staged{}); err != nil {
		return err
	}
	ended, childless := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go reap(pid, ended, childless)
	if err := say.Encode(staged{Ended: true, Status: uint32(<-ended)}); err != nil {
		return err
	}
	<-childless
	return nil
}

// failure says why the program could not be started.
func (j *stageJob) failure(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		if interpreter := interpreterOf(j.Path); interpreter == "" && !j.Confine.reaches(j.Path) {
			return outOfReach("program", j.Path)
		}
	}
	if err = startFailure(j.Path, err); err != nil {
		var reason *notFoundError
		if errors.As(err, &reason) {
			return err
		}
		return fmt.Errorf("start the command: %w", err)
	}
	return nil
}

func outOfReach(what, path string) error {
	return notFound("%s %q is out of the sandbox's reach", what, path)
}

// startStage starts a stage with the files as the command's input and output, and gives it its job. It returns what the
// stage says and the pipe that keeps it alive.
func startStage(j stageJob, input, output *os.File) (pid int, says *gob.Decoder, status, control *os.File, err error) {
	controlRead, control, err := os.Pipe()
	if err != nil {
		return 0, nil, nil, nil, err
	}
	defer controlRead.Close()
	status, statusWrite, err := os.Pipe()
	if err != nil {
		control.Close()
		return 0, nil, nil, nil, err
	}
	defer statusWrite.Close()
	pid, err = syscall.ForkExec("/proc/self/exe", []string{stageName}, &syscall.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []uintptr{input.Fd(), output.Fd(), output.Fd(), controlRead.Fd(), statusWrite.Fd()},
		Sys:   j.Confine.Spaces.attributes(),
	})
	if err == nil {
		err = gob.NewEncoder(control).Encode(j)
	}
	if err != nil {
		control.Close()
		status.Close()
		return pid, nil, nil, nil, err
	}
	return pid, gob.NewDecoder(status), status, control, nil
}

// attributes make the namespaces. In a user namespace this user stays who it is, and may shape the other namespaces.
func (s spaces) attributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.PID {
		attributes.Setsid = true
	} else {
		attributes.Setpgid = true
	}
	for flag, wanted := range map[uintptr]bool{
		unix.CLONE_NEWUSER: s.User, unix.CLONE_NEWPID: s.PID, unix.CLONE_NEWNS: s.Mount, unix.CLONE_NEWNET: s.Net, unix.CLONE_NEWIPC: s.IPC,
	} {
		if wanted {
			attributes.Cloneflags |= flag
		}
	}
	if s.User {
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		if s.Mount || s.Net {
			attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
		}
	}
	return attributes
}

// begin starts a job's command, and everything that tells what becomes of it.
func begin(j job, adopted bool, input, output *os.File) (*begun, error) {
	if !j.Confine.any() {
		return beginPlain(j, adopted, input, output)
	}
	pid, says, status, control, err := startStage(stageJob{
		Path: j.Path, Argv: j.Argv, Dir: j.Dir, Env: j.Env, Confine: *j.Confine, Supervisor: os.Getpid(),
	}, input, output)
	if err != nil {
		return nil, fmt.Errorf("apply the sandbox: %w", err)
	}
	var said staged
	err = says.Decode(&said)
	switch {
	case said.NotFound != "":
		err = &notFoundError{said.NotFound}
	case said.Failure != "":
		err = fmt.Errorf("apply the sandbox: %s", said.Failure)
	case !j.Confine.Spaces.PID:
		// The end of the pipe means that the stage has become the command.
		status.Close()
		control.Close()
		return beginAs(j, adopted, pid), nil
	case err != nil:
		err = errors.New("apply the sandbox: its first process died")
	}
	if err != nil {
		control.Close()
		status.Close()
		reapOne(pid, make(chan syscall.WaitStatus, 1))
		return nil, err
	}
	ended, childless := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go func() {
		defer status.Close()
		var last staged
		if says.Decode(&last) != nil {
			last.Status = uint32(unix.SIGKILL) // the init was killed, and all with it
		}
		ended <- syscall.WaitStatus(last.Status)
		gone := make(chan syscall.WaitStatus, 1)
		reapOne(pid, gone)
		control.Close()
		close(childless)
	}()
	return &begun{family: space{init: pid}, ended: ended, childless: childless}, nil
}

// space is the processes of a namespace.
type space struct{ init int }

func (s space) members() []process { return tree{parent: s.init}.members() }
func (s space) terminate()         { tree{parent: s.init}.terminate() }

// kill ends the init, and the system all else with it.
func (s space) kill() { _ = unix.Kill(s.init, unix.SIGKILL) }

// procfs is where the namespace's own process table is, as far as it can be seen.
func (s space) procfs() string { return "/proc/" + strconv.Itoa(s.init) + "/root/proc" }
