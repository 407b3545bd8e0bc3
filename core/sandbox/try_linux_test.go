package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// beTryer tries things that a command might, and prints a line for each: "ok", or what was said against it.
func beTryer(attempts string) int {
	for attempt := range strings.SplitSeq(attempts, "\n") {
		if err := try(strings.Fields(attempt)); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("ok")
	}
	return 0
}

func try(words []string) error {
	arg := func(i int) string { return words[min(i, len(words)-1)] }
	number := func(i int) int { n, _ := strconv.Atoi(arg(i)); return n }
	switch words[0] {
	case "read":
		_, err := os.ReadFile(arg(1))
		return err
	case "holds": // reads a text that begins so
		text, err := os.ReadFile(arg(1))
		if err == nil && !strings.HasPrefix(string(text), arg(2)) {
			return fmt.Errorf("it holds %q", text)
		}
		return err
	case "list":
		_, err := os.ReadDir(arg(1))
		return err
	case "write":
		return os.WriteFile(arg(1), []byte("written"), 0o600)
	case "mkdir":
		return os.Mkdir(arg(1), 0o700)
	case "remove":
		return os.Remove(arg(1))
	case "rename":
		return os.Rename(arg(1), arg(2))
	case "chmod":
		return os.Chmod(arg(1), 0o777)
	case "link":
		return os.Link(arg(1), arg(2))
	case "mknod":
		return unix.Mknod(arg(1), unix.S_IFBLK|0o600, 0)
	case "exec":
		return exec.Command(arg(1)).Run()
	case "dial":
		conn, err := net.DialTimeout(arg(1), arg(2), 2*time.Second)
		if err == nil && arg(1) == "udp" {
			// A datagram needs no connection: an answer shows that it went out.
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			_, _ = conn.Write([]byte("x"))
			_, err = conn.Read(make([]byte, 1))
		}
		return err
	case "serve": // to itself
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		_, err = net.DialTimeout("tcp", listener.Addr().String(), time.Second)
		return err
	case "signal":
		return unix.Kill(number(1), 0)
	case "trace":
		return unix.PtraceSeize(number(1))
	case "peek":
		var b byte
		local := unix.Iovec{Base: &b, Len: 1}
		_, err := unix.ProcessVMReadv(number(1), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b)), Len: 1}}, 0)
		return err
	case "shared": // memory of System V, by key
		_, err := unix.SysvShmGet(number(1), 0, 0)
		return err
	case "call":
		return tryCall(words[1])
	}
	return fmt.Errorf("what is %q", words)
}

func errnoOf(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// calls are system calls with arguments that the kernel itself would not answer with EPERM, at least to root, or not
// without the filter.
var calls = map[string][]uintptr{
	"ptrace":            {unix.SYS_PTRACE, unix.PTRACE_TRACEME},
	"process_vm_readv":  {unix.SYS_PROCESS_VM_READV, 0, 0, 0, 0, 0, 1},
	"process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, 0, 0, 0, 0, 0, 1},
	"kcmp":              {unix.SYS_KCMP, 1 << 22, 1 << 22, 0},
	"pidfd_getfd":       {unix.SYS_PIDFD_GETFD, ^uintptr(0), 0, 0},
	"mount":             {unix.SYS_MOUNT, 0, 0, 0, 0, 0},
	"umount2":           {unix.SYS_UMOUNT2, 0, 1 << 30},
	"open_tree":         {unix.SYS_OPEN_TREE, ^uintptr(0), 0, 0},
	"move_mount":        {unix.SYS_MOVE_MOUNT, ^uintptr(0), 0, ^uintptr(0), 0, 1 << 30},
	"fsopen":            {unix.SYS_FSOPEN, 0, 0},
	"mount_setattr":     {unix.SYS_MOUNT_SETATTR, ^uintptr(0), 0, 0, 0, 0},
	"chroot":            {unix.SYS_CHROOT, 0},
	"unshare":           {unix.SYS_UNSHARE, 0},
	"setns":             {unix.SYS_SETNS, ^uintptr(0), 0},
	"clone user":        {unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_SIGHAND},
	"open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT, ^uintptr(0), 0, 0},
	"bpf":               {unix.SYS_BPF, 1 << 20, 0, 0},
	"perf_event_open":   {unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0},
	"userfaultfd":       {unix.SYS_USERFAULTFD, 1 << 20},
	"keyctl":            {unix.SYS_KEYCTL, 1 << 20},
	"add_key":           {unix.SYS_ADD_KEY, 0, 0, 0, 0, 0},
	"request_key":       {unix.SYS_REQUEST_KEY, 0, 0, 0, 0},
	"io_uring_setup":    {unix.SYS_IO_URING_SETUP, 1, 0},
	"push input":        {unix.SYS_IOCTL, 0, pushInput, 0},
	"console":           {unix.SYS_IOCTL, 0, consoleCall, 0},
	"socket vsock":      {unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0},
	"socket alg":        {unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
	// Only root would not be refused these anyway.
	"kexec_load":      {unix.SYS_KEXEC_LOAD, 0, 1 << 20, 0, 1 << 20},
	"init_module":     {unix.SYS_INIT_MODULE, 0, 0, 0},
	"finit_module":    {unix.SYS_FINIT_MODULE, ^uintptr(0), 0, 0},
	"delete_module":   {unix.SYS_DELETE_MODULE, 0, 0},
	"swapon":          {unix.SYS_SWAPON, 0, 0},
	"syslog":          {unix.SYS_SYSLOG, 1 << 20, 0, 0},
	"sethostname":     {unix.SYS_SETHOSTNAME, 0, 1 << 20},
	"clock_settime":   {unix.SYS_CLOCK_SETTIME, 1 << 20, 0},
	"fanotify_init":   {unix.SYS_FANOTIFY_INIT, 1 << 30, 0},
	"reboot":          {unix.SYS_REBOOT, 0, 0, 0, 0},
	"settimeofday":    {unix.SYS_SETTIMEOFDAY, 1, 0},
	"quotactl":        {unix.SYS_QUOTACTL, 1 << 30, 0, 0, 0},
	"kexec_file_load": {unix.SYS_KEXEC_FILE_LOAD, ^uintptr(0), ^uintptr(0), 0, 0, 1 << 20},
}

func tryCall(name string) error {
	args := append(append([]uintptr(nil), calls[strings.ReplaceAll(name, "_of_", " ")]...), make([]uintptr, 7)...)
	_, _, errno := unix.Syscall6(args[0], args[1], args[2], args[3], args[4], args[5], args[6])
	return errnoOf(errno)
}

// attempt is something a command tries, and whether it may succeed.
type attempt struct {
	what string
	may  bool
}

// expect lets a runner's command try things, in an environment where all would succeed.
func expect(t *testing.T, r *Runner, attempts ...attempt) {
	t.Helper()
	var lines []string
	for _, a := range attempts {
		lines = append(lines, a.what)
	}
	got, err := r.Run(t.Context(), Command{
		Argv: []string{tryer(t, r)}, Env: []string{roleVariable + "=try", "TRY=" + strings.Join(lines, "\n")},
	})
	answers := strings.Split(strings.TrimSuffix(string(got.Output), "\n"), "\n")
	if err != nil || got.Exit != 0 || got.NotFound != "" || len(answers) != len(attempts) {
		t.Fatalf("%+v %q, %v", got, got.Output, err)
	}
	for i, a := range attempts {
		if may := answers[i] == "ok"; may != a.may {
			t.Errorf("%s: %s", a.what, answers[i])
		}
	}
}

// tryer puts this program where a runner's commands can start it.
func tryer(t *testing.T, r *Runner) string {
	t.Helper()
	to := r.workspace + "/.tryer"
	if _, err := os.Stat(to); err == nil {
		return to
	}
	copyProgram(t, to)
	return to
}
