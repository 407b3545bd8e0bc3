package tui

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestNothingIsSuspendedWithoutAShell starts this test in a session of its own, as tmux, ssh and docker do, and as a job.
func TestNothingIsSuspendedWithoutAShell(t *testing.T) {
	if os.Getenv("TILLERMAN_TEST_SUSPEND") != "" {
		fmt.Println("suspends:", suspend() != nil)
		return
	}
	for want, attr := range map[string]*syscall.SysProcAttr{"suspends: false": {Setsid: true}, "suspends: true": {Setpgid: true}} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsSuspendedWithoutAShell$")
		cmd.Env, cmd.SysProcAttr = append(os.Environ(), "TILLERMAN_TEST_SUSPEND=1"), attr
		out, err := cmd.Output()
		if err != nil || len(out) < len(want) || string(out[:len(want)]) != want {
			t.Errorf("%+v: %s %v", attr, out, err)
		}
	}
}
