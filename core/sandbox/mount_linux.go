package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// view is a root directory in the making: the working directory, which is a file system of its own. Everything that is
// to be seen in it was opened before that, so that nothing put up in one place can stand in the way of another.
type view struct {
	mounts []mounted
	late   []string // what becomes read-only when all is in place, relative to the root
}

// mounted is something to be put up.
type mounted struct {
	at   string // absolute
	fd   int    // a detached tree; -1 for an empty place
	dir  bool
	mode string // of an empty directory; "" for one that stays empty and cannot be written
}

// show replaces the root directory by one that holds what is granted and nothing else.
func (c *confinement) show() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	defer unix.Umask(unix.Umask(0))
	v, links, err := c.collect()
	if err != nil {
		return err
	}
	defer v.close()
	if err := v.enter(c.Tmp); err != nil {
		return err
	}
	for _, m := range v.mounts {
		if err := v.put(m); err != nil {
			return fmt.Errorf("show %q: %w", m.at, err)
		}
	}
	maps.Copy(links, systemLinks())
	for link, target := range links {
		if err := makeLink(target, link); err != nil {
			return err
		}
	}
	return v.finish()
}

// collect opens everything that is to be seen, and lists it with parents first. Links say by which other names.
func (c *confinement) collect() (*view, map[string]string, error) {
	v := &view{}
	links := make(map[string]string)
	writable := make(map[string]bool)
	var reals []string
	for _, g := range c.Grants {
		real, err := filepath.EvalSymlinks(g.Path)
		if err != nil {
			continue // it is not there, or this user may not know
		}
		if real == "/" {
			return nil, nil, errors.New("the root directory cannot be shown in part")
		}
		if real != g.Path {
			links[g.Path] = real
		}
		reals = append(reals, real)
		writable[real] = writable[real] || g.Write
	}
	slices.Sort(reals)
	for _, real := range slices.Compact(reals) {
		if slices.ContainsFunc(v.mounts, func(m mounted) bool {
			return beneath(real, m.at) && (writable[m.at] || !writable[real]) && !c.hidesBetween(m.at, real)
		}) {
			continue
		}
		if err := v.add(real, real, writable[real]); err != nil {
			return v, nil, fmt.Errorf("open %q: %w", real, err)
		}
	}
	for link := range links {
		if slices.ContainsFunc(v.mounts, func(m mounted) bool { return beneath(link, m.at) }) {
			delete(links, link) // it is there as it is
		}
	}
	shown := slices.Clone(v.mounts)
	for _, path := range c.Hide {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Type() == os.ModeSymlink || !slices.ContainsFunc(shown, func(m mounted) bool { return beneath(path, m.at) && path != m.at }) {
			continue
		}
		v.mounts = append(v.mounts, mounted{at: path, fd: -1, dir: info.IsDir()})
	}
	if err := c.collectSystem(v, shown); err != nil {
		return v, nil, err
	}
	slices.SortStableFunc(v.mounts, func(a, b mounted) int { return strings.Compare(a.at, b.at) })
	return v, links, nil
}

// hidesBetween reports whether something is hidden beneath dir that path lies beneath.
func (c *confinement) hidesBetween(dir, path string) bool {
	return slices.ContainsFunc(c.Hide, func(hidden string) bool { return beneath(hidden, dir) && beneath(path, hidden) })
}

// collectSystem adds what every program takes for granted.
func (c *confinement) collectSystem(v *view, shown []mounted) error {
	for _, device := range devices {
		if err := v.addAs(device, device, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	v.mounts = append(v.mounts, mounted{at: "/dev/shm", fd: -1, dir: true, mode: "1777"})
	if slices.ContainsFunc(shown, func(m mounted) bool { return beneath(m.at, "/tmp") }) {
		v.mounts = append(v.mounts, mounted{at: "/tmp", fd: -1, dir: true, mode: "1777"})
		return nil
	}
	return v.add(c.Tmp, "/tmp", true)
}

// devices are those a command may use.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// systemLinks are other names of what every program takes for granted, where nothing else has them.
func systemLinks() map[string]string {
	return map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
		"/var/tmp": "/tmp", "/var/run": "/run",
	}
}

// add opens a tree to be put up at a place.
func (v *view) add(real, at string, write bool) error {
	set := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if !write {
		set |= unix.MOUNT_ATTR_RDONLY
	}
	return v.addAs(real, at, set)
}

func (v *view) addAs(real, at string, set uint64) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, real, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	v.mounts = append(v.mounts, mounted{at: at, fd: fd})
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	v.mounts[len(v.mounts)-1].dir = st.Mode&unix.S_IFMT == unix.S_IFDIR
	if set == 0 {
		return nil
	}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: set})
}

func (v *view) close() {
	for _, m := range v.mounts {
		if m.fd >= 0 {
			unix.Close(m.fd)
		}
	}
}

// skeleton bounds the file system that holds the directories above what is shown.
const skeleton = "mode=0755,size=16m"

// scratch bounds what is kept in memory because a program took it for a disk: also how many files, since an empty one
// takes a kilobyte that no process is seen to have.
const scratch = ",size=256m,nr_inodes=64k"

// enter makes the new root over a directory that nobody else looks into, and goes there.
func (v *view) enter(over string) error {
	if err := unix.Mount("tmpfs", over, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, skeleton); err != nil {
		return fmt.Errorf("make a root directory: %w", err)
	}
	if err := os.Chdir(over); err != nil {
		return err
	}
	for _, dir := range []string{"proc", "dev", "run", "var", "tmp"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	v.late = append(v.late, ".")
	return v.table()
}

// table shows the process table: the namespace's own, or where the system does not let it, everybody's, of which
// nothing can be looked into.
func (v *view) table() error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY
	if unix.Mount("proc", "proc", "proc", flags, "") == nil {
		return nil
	}
	other := &view{}
	defer other.close()
	if err := other.add("/proc", "/proc", false); err != nil {
		return fmt.Errorf("show the process table: %w", err)
	}
	return v.put(other.mounts[0])
}

// put puts one thing up.
func (v *view) put(m mounted) error {
	at := "." + m.at
	if err := makePlace(at, m.dir); err != nil {
		return err
	}
	switch {
	case m.fd >= 0:
		return unix.MoveMount(m.fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
	case !m.dir:
		v.late = append(v.late, at)
		return hideFile(at)
	}
	mode := m.mode
	if mode == "" {
		mode = "0755"
		v.late = append(v.late, at)
	}
	return unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode="+mode+scratch)
}

// hideFile puts a file without a right over another. It is the same for all, and made when it is first needed.
func hideFile(at string) error {
	const empty = "./.hidden"
	if err := os.WriteFile(empty, nil, 0); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return unix.Mount(empty, at, "", unix.MS_BIND, "")
}

// makePlace makes a file or directory to put something on, unless there is one.
func makePlace(at string, dir bool) error {
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	above := at
	if !dir {
		above = filepath.Dir(at)
	}
	if err := os.MkdirAll(above, 0o755); err != nil || dir {
		return err
	}
	return os.WriteFile(at, nil, 0o600)
}

// makeLink makes a link in the new root.
func makeLink(target, link string) error {
	if err := os.MkdirAll("."+filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(target, "."+link); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// finish closes what was only open for making it, and makes the working directory the root.
func (v *view) finish() error {
	for _, at := range slices.Backward(v.late) {
		if err := unix.MountSetattr(unix.AT_FDCWD, at, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("protect the root directory: %w", err)
		}
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root directory: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root directory: %w", err)
	}
	return os.Chdir("/")
}
