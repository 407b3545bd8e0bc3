package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_AARCH64
	otherNumbers = 0
)

// alsoRefused are calls that not every machine has.
var alsoRefused = []uintptr{unix.SYS_KEXEC_FILE_LOAD}
