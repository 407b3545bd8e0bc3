package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of landlock(7), by what they are for.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// firstRights are those of the first version; later ones are added in landlockRights.
	firstRights = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
	// nodeRights make device files, which nobody may.
	nodeRights = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// deviceRights are for using one.
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// fileRights are those that a rule for something else than a directory may have.
	fileRights = deviceRights | unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// oldestLandlock is the first version in which files can be moved between directories.
const oldestLandlock = 2

// landlockRuleset is struct landlock_ruleset_attr; older kernels take it as long as what they do not know is zero.
type landlockRuleset struct {
	FS, Net, Scoped uint64
}

// landlockVersion is what the system offers, 0 for nothing that is of use.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || int(version) < oldestLandlock {
		return 0
	}
	return int(version)
}

// landlockRights are the rights on files that a version knows, and so denies where no rule grants them.
func landlockRights(version int) uint64 {
	rights := uint64(firstRights | unix.LANDLOCK_ACCESS_FS_REFER)
	for since, right := range map[int]uint64{
		3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 9: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX,
	} {
		if version >= since {
			rights |= right
		}
	}
	return rights
}

// landlock confines this thread to what is granted. It needs no_new_privs.
func (c *confinement) landlock() error {
	set := landlockRuleset{FS: landlockRights(c.Landlock)}
	if c.Landlock >= 6 {
		set.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if c.Landlock >= 4 && !c.Network && !c.Spaces.Net {
		set.Net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&set)), unsafe.Sizeof(set), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(fd))
	for path, rights := range c.landlockRules(set.FS) {
		if err := allow(int(fd), path, rights&set.FS); err != nil {
			return fmt.Errorf("landlock: rule for %q: %w", path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// landlockRules lists what is granted where.
func (c *confinement) landlockRules(all uint64) map[string]uint64 {
	rules := map[string]uint64{"/proc": readRights}
	for _, device := range devices {
		rules[device] = deviceRights
	}
	write := all &^ (nodeRights | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	if c.Spaces.Mount {
		// Nothing is there that was not granted, and these are the command's own.
		rules["/"] = unix.LANDLOCK_ACCESS_FS_READ_DIR
		rules["/tmp"], rules["/dev/shm"] = write, write
	}
	for _, g := range c.Grants {
		if g.Write {
			rules[g.Path] = write
			continue
		}
		for _, path := range c.apart(g.Path) {
			rules[path] |= readRights
		}
	}
	return rules
}

// apart is a path, or the parts of it between which something is hidden: a rule for a directory holds for everything
// beneath it. Where the hidden things are covered there is no need.
func (c *confinement) apart(path string) []string {
	if c.Spaces.Mount || slices.Contains(c.Hide, path) || !slices.ContainsFunc(c.Hide, func(hidden string) bool { return beneath(hidden, path) }) {
		if slices.Contains(c.Hide, path) {
			return nil
		}
		return []string{path}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var parts []string
	for _, entry := range entries {
		parts = append(parts, c.apart(filepath.Join(path, entry.Name()))...)
	}
	return parts
}

// allow adds a rule. What is not there needs none.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
