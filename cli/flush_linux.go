package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput throws away what a terminal holds typed but not read.
func flushInput(f *os.File) func() {
	return func() { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
}
