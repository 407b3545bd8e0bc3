package db

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// waitZombie waits until a child has ended, and leaves it a zombie.
func waitZombie(pid int) error {
	return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
}

// A process may be called anything.
func TestProcessWithAnOddName(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	link := filepath.Join(t.TempDir(), ") Z 1 (x")
	must(t, os.Symlink(self, link))
	cmd := exec.Command(link, filepath.Join(t.TempDir(), "x"))
	cmd.Env = append(os.Environ(), childEnv+"=hold")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() {
		must(t, in.Close())
		must(t, cmd.Wait())
	}()
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	o := Self()
	o.PID = cmd.Process.Pid
	var there bool
	if o.Started, there = processStart(o.PID); !there || LifeOf(o, Self()) != Alive || len(o.Started) < 2 {
		t.Errorf("started %q, there %v, %s", o.Started, there, LifeOf(o, Self()))
	}
}
