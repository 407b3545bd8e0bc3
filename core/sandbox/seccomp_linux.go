package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are system calls that no command needs and that reach beyond it: into other processes, into the kernel, to
// other namespaces and mounts, around the filter itself. They fail as if it were for a lack of rights.
var refused = []uintptr{
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	// Mounts and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS,
	// Files by handle are opened without a path, which no rule covers.
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
	// The kernel.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL, unix.SYS_VHANGUP,
	unix.SYS_LSM_SET_SELF_ATTR,
	// Keys, which are the user's and not the command's.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// The clock and the machine's name.
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	// Calls made by way of a ring pass no filter.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// newNamespaces are the flags of clone(2) that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Requests of ioctl(2) that put input into a terminal.
const (
	pushInput   = 0x5412 // TIOCSTI
	consoleCall = 0x541c // TIOCLINUX
)

// Where what a filter looks at stands in struct seccomp_data. Both machines are little-endian.
const (
	atNumber = 0
	atArch   = 4
	atArg    = 16
)

// What a filter answers.
const (
	refusal = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filter is a program for the kernel's packet filter, in the making.
type filter []unix.SockFilter

func (f *filter) add(code uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }

func (f *filter) answer(with uint32) { f.add(unix.BPF_RET|unix.BPF_K, with, 0, 0) }

// when answers if what is loaded is k.
func (f *filter) when(k, with uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	f.answer(with)
}

// call is for one system call: what follows looks at its argument, and everything else goes past it.
func (f *filter) call(number uintptr, arg uint32, body func(*filter)) {
	var inner filter
	inner.load(atArg + 8*arg)
	body(&inner)
	inner.answer(unix.SECCOMP_RET_ALLOW)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(number), 0, uint8(len(inner)))
	*f = append(*f, inner...)
}

// program is the filter for what is confined. A program for another kind of processor, whose calls have other numbers,
// is killed.
func (c *confinement) program() filter {
	var f filter
	f.load(atArch)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	f.answer(unix.SECCOMP_RET_KILL_PROCESS)
	f.load(atNumber)
	if otherNumbers != 0 {
		f.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, otherNumbers, 0, 1)
		f.answer(refusal)
	}
	for _, number := range slices.Concat(refused, alsoRefused) {
		f.when(uint32(number), refusal)
	}
	// Its flags are in memory, where no filter looks. Programs fall back to clone.
	f.when(unix.SYS_CLONE3, unknown)
	f.call(unix.SYS_CLONE, 0, func(f *filter) {
		f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, newNamespaces, 0, 1)
		f.answer(refusal)
	})
	f.call(unix.SYS_IOCTL, 1, func(f *filter) {
		f.when(pushInput, refusal)
		f.when(consoleCall, refusal)
	})
	f.call(unix.SYS_SOCKET, 0, func(f *filter) {
		for _, family := range c.families() {
			f.when(family, unix.SECCOMP_RET_ALLOW)
		}
		f.answer(refusal)
	})
	f.answer(unix.SECCOMP_RET_ALLOW)
	return f
}

// families are the kinds of sockets that may be made. Where no namespace keeps sockets of the network or of the file
// system apart, none may that could reach out.
func (c *confinement) families() []uint32 {
	var families []uint32
	if c.Spaces.Mount {
		families = append(families, unix.AF_UNIX)
	}
	if c.Network || c.Spaces.Net {
		families = append(families, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	}
	return families
}

// seccomp filters the system calls of this thread. It needs no_new_privs.
func (c *confinement) seccomp() error {
	if auditArch == 0 {
		return fmt.Errorf("seccomp: no filter for %s", runtime.GOARCH)
	}
	program := c.program()
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	runtime.KeepAlive(program)
	return nil
}
