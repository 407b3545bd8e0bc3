package tuitest

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Profile says what the terminal can draw, as far as its environment tells.
type Profile string

// The profiles. The zero value is TrueColor.
const (
	TrueColor Profile = "truecolor"
	ANSI256   Profile = "256"
	ANSI16    Profile = "16"
	NoColor   Profile = "NO_COLOR" // colours are possible and not wanted (no-color.org)
	ASCII     Profile = "ascii"    // a VT100 in the C locale: neither colours nor box drawing
)

// Home is a place for programs to run in: a home directory that nobody else
// uses, with a working directory inside. Terminals that share a Home share what
// the program stores.
type Home struct {
	Dir  string // $HOME; its name has always the same length
	Work string // $HOME/work, where programs start
}

// NewHome makes a home. When the test ends, what still runs in it is killed and
// it is removed.
func NewHome(tb testing.TB) *Home {
	tb.Helper()
	var name [4]byte
	_, _ = rand.Read(name[:])
	root, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		tb.Fatalf("make a home: %v", err)
	}
	h := &Home{Dir: filepath.Join(root, "tui-"+hex.EncodeToString(name[:]))}
	h.Work = filepath.Join(h.Dir, "work")
	if err := os.Mkdir(h.Dir, 0o700); err != nil {
		tb.Fatalf("make a home: %v", err)
	}
	tb.Cleanup(func() { h.remove(tb) })
	for _, dir := range []string{"work", "config", "state", "data", "cache", "run", "tmp"} {
		if err := os.Mkdir(filepath.Join(h.Dir, dir), 0o700); err != nil {
			tb.Fatalf("make a home: %v", err)
		}
	}
	// What confines commands differs from machine to machine and would show on every question.
	settings := filepath.Join(h.Dir, "config", "tillerman", "config.toml")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		tb.Fatalf("make a home: %v", err)
	}
	if err := os.WriteFile(settings, []byte("sandbox = \"floor\"\n"), 0o600); err != nil {
		tb.Fatalf("make a home: %v", err)
	}
	return h
}

// remove kills what still runs in the home and removes it. A process that was
// started while others were killed is found in the next round.
func (h *Home) remove(tb testing.TB) {
	for range 100 {
		left := h.Processes()
		if len(left) == 0 {
			break
		}
		for _, p := range left {
			if it, err := os.FindProcess(p.PID); err == nil {
				_ = it.Kill()
			}
		}
		time.Sleep(time.Millisecond) // the kernel takes them down in its own time
	}
	if err := os.RemoveAll(h.Dir); err != nil {
		tb.Errorf("remove the home: %v", err)
	}
}

// Process is a process that runs in a home.
type Process struct {
	PID  int
	Args []string // its argument list, the program first
}

// Processes lists what runs in the home at this moment, by ascending id: every
// process that was started with its $HOME, however it came loose from the
// terminal. It is empty where the system has no /proc to ask.
func (h *Home) Processes() []Process { return processesWith("HOME=" + h.Dir) }

// Env is the environment of programs in this home: PATH from the test, nothing
// else.
func (h *Home) Env(p Profile) []string {
	dir := func(name string) string { return filepath.Join(h.Dir, name) }
	env := []string{
		"HOME=" + h.Dir, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "USER=tester", "TZ=UTC",
		"XDG_CONFIG_HOME=" + dir("config"), "XDG_STATE_HOME=" + dir("state"), "XDG_DATA_HOME=" + dir("data"),
		"XDG_CACHE_HOME=" + dir("cache"), "XDG_RUNTIME_DIR=" + dir("run"), "TMPDIR=" + dir("tmp"),
	}
	switch p {
	case ANSI256:
		return append(env, "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	case ANSI16:
		return append(env, "LC_ALL=C.UTF-8", "TERM=xterm")
	case NoColor:
		return append(env, "LC_ALL=C.UTF-8", "TERM=xterm-256color", "NO_COLOR=1")
	case ASCII:
		return append(env, "LC_ALL=C", "TERM=vt100", "NO_COLOR=1")
	default:
		return append(env, "LC_ALL=C.UTF-8", "TERM=xterm-256color", "COLORTERM=truecolor")
	}
}
