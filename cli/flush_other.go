//go:build !linux

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput throws away what a terminal holds typed but not read: FREAD, the input queue (sys/fcntl.h).
func flushInput(f *os.File) func() {
	const fread = 1
	return func() { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, fread) }
}
