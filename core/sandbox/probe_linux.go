package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run applies a confinement step by step to this process.
func (p *probe) run(c *confinement) *probed {
	if err := p.changed(c.Spaces); err != nil {
		return &probed{Failure: err.Error()}
	}
	if err := c.surround(); err != nil {
		return &probed{Failure: err.Error()}
	}
	if c.Spaces.Mount && opens(p.Outside) || !opens(p.BlindFile) {
		return &probed{Failure: "what can be seen is not what was granted"}
	}
	if err := dropCapabilities(); err != nil {
		return &probed{Failure: err.Error()}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &probed{Failure: err.Error()}
	}
	result := &probed{}
	narrow := *c
	narrow.Landlock = landlockVersion()
	narrow.Grants = nil
	for _, g := range c.Grants {
		if g.Path != p.Blind {
			narrow.Grants = append(narrow.Grants, g)
		}
	}
	if narrow.Landlock > 0 && narrow.landlock() == nil && !opens(p.BlindFile) {
		result.Landlock = narrow.Landlock
	}
	result.Filter = narrow.seccomp() == nil && errors.Is(unix.Unshare(0), unix.EPERM)
	return result
}

// changed compares this process's namespaces with the prober's.
func (p *probe) changed(want spaces) error {
	for name, wanted := range map[string]bool{"user": want.User, "pid": want.PID, "mnt": want.Mount, "net": want.Net, "ipc": want.IPC} {
		if now, err := os.Readlink("/proc/self/ns/" + name); wanted && (err != nil || now == p.Spaces[name]) {
			return errors.New("namespace " + name + " is not a new one")
		}
	}
	if want.PID && os.Getpid() != 1 {
		return errors.New("processes are not numbered anew")
	}
	return nil
}

func opens(path string) bool {
	file, err := os.Open(path)
	if err == nil {
		file.Close()
	}
	return err == nil
}

// probePatience is how long one trial may take.
const probePatience = 10 * time.Second

// findBackend tries what there is, from most to least, and returns what holds.
func findBackend() backend {
	runtime.LockOSThread() // the system ends a trial when the thread that started it ends
	defer runtime.UnlockOSThread()
	dir, err := os.MkdirTemp("", "tillerman-probe-")
	if err != nil {
		return backend{}
	}
	defer os.RemoveAll(dir)
	p := &probe{Outside: filepath.Join(dir, "outside"), Blind: "/etc", BlindFile: "/etc/passwd", Spaces: map[string]string{}}
	tmp := filepath.Join(dir, "tmp")
	if errors.Join(os.Mkdir(tmp, 0o700), os.WriteFile(p.Outside, nil, 0o600)) != nil {
		return backend{}
	}
	for _, name := range []string{"user", "pid", "mnt", "net", "ipc"} {
		p.Spaces[name], _ = os.Readlink("/proc/self/ns/" + name)
	}
	grants := []grant{{Path: tmp, Write: true}}
	for _, path := range system {
		grants = append(grants, grant{Path: path})
	}
	for _, s := range candidates(os.Geteuid() == 0) {
		found, err := p.try(confinement{Spaces: s, Grants: grants, Tmp: tmp})
		if err == nil && found.Failure == "" {
			return backend{spaces: s, landlock: found.Landlock, filter: found.Filter}
		}
	}
	return backend{}
}

// candidates lists sets of namespaces, the best first. Root needs no user namespace, unless it is not allowed more than
// anybody else.
func candidates(root bool) []spaces {
	var list []spaces
	for _, user := range []bool{false, true} {
		if !user && !root {
			continue
		}
		list = append(list,
			spaces{User: user, PID: true, Mount: true, Net: true, IPC: true},
			spaces{User: user, PID: true, Net: true, IPC: true},
			spaces{User: user, PID: true},
		)
	}
	return append(list, spaces{})
}

// try runs one trial.
func (p *probe) try(c confinement) (*probed, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	pid, says, status, control, err := startStage(stageJob{Confine: c, Supervisor: os.Getpid(), Probe: p}, null, null)
	if pid > 0 {
		defer reapOne(pid, make(chan syscall.WaitStatus, 1))
		defer func() { _ = unix.Kill(pid, unix.SIGKILL) }()
	}
	if err != nil {
		return nil, err
	}
	defer status.Close()
	defer control.Close()
	_ = status.SetReadDeadline(time.Now().Add(probePatience))
	var said staged
	if err := says.Decode(&said); err != nil {
		return nil, err
	}
	if said.Probed == nil {
		return nil, fs.ErrInvalid
	}
	return said.Probed, nil
}
