package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// surround makes what is around the command, with the rights that this process has for it.
func (c *confinement) surround() error {
	// When memory runs out, the system ends the command rather than the engine. As a wish it may fail.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	if c.Spaces.Mount {
		if err := c.show(); err != nil {
			return err
		}
	}
	if c.Spaces.Net {
		loopback()
	}
	return nil
}

// loopback turns on the namespace's own loopback interface. Where the system does not let it, the network is denied all
// the same, and with it that of the command to itself.
func loopback() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request) != nil {
		return
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	_ = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// restrict takes from this thread, and from what it starts, for good.
func (c *confinement) restrict() error {
	if c.Spaces.PID {
		// The command must not get at this process by way of the thread that is confined like itself.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("protect the first process: %w", err)
		}
	}
	c.Limits.bind()
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if c.Landlock > 0 {
		if err := c.landlock(); err != nil {
			return err
		}
	}
	if c.Filter {
		return c.seccomp()
	}
	return nil
}

// rootMay are the capabilities that a command started by root keeps: those over files and over users, which are what
// makes root's commands different from others' and are bound by everything else here.
const rootMay = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
	1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCapabilities keeps of this thread's capabilities those that a command may have.
func dropCapabilities() error {
	var keep uint64
	if os.Geteuid() == 0 {
		keep = rootMay
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for capability := range 64 {
		if keep>>capability&1 == 1 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(capability), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break // there are no more, or nothing may be dropped: then none can be gained either
		}
		if err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	for i := range sets {
		mask := uint32(keep >> (32 * i))
		sets[i].Effective &= mask
		sets[i].Permitted &= mask
		sets[i].Inheritable = 0
	}
	return unix.Capset(&header, &sets[0])
}
