package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_AARCH64
	otherNumbers = 0
)

// alsoRefused are calls that only this machine has.
var alsoRefused []uintptr
