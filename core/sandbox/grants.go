package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// system are where the system keeps programs and what all of them read.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt",
	"/nix", "/gnu/store", "/run/current-system", // distributions that keep programs elsewhere
	// What programs size themselves by.
	"/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage", "/sys/fs/cgroup",
}

// systemSecrets are beneath these and nobody's business; only root could read most of them.
var systemSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/security/opasswd",
	"/etc/ssh/ssh_host_*_key", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/krb5.keytab", "/etc/wireguard",
	"/etc/NetworkManager/system-connections", "/etc/kubernetes", "/etc/rancher", "/etc/docker", "/etc/netplan",
	"/etc/letsencrypt", "/etc/openvpn", "/etc/ipsec.secrets", "/etc/ipsec.d/private", "/etc/swanctl", "/etc/ppp", "/etc/wpa_supplicant",
	"/etc/postfix/sasl_passwd", "/etc/exim4/passwd.client", "/etc/msmtprc", "/etc/mysql/debian.cnf", "/etc/samba/smbpasswd",
}

// fetched is what the operator's tools have fetched, below the operator's home.
var fetched = []string{".cargo/registry", ".cargo/git", ".npm/_cacache"}

// installed are where version managers and installers keep programs, below the operator's home.
var installed = []string{
	".nvm/versions", ".volta/tools", ".asdf/installs", ".sdkman/candidates", ".local/share/mise/installs", ".local/pipx",
	".local/share/pipx", ".local/lib", "sdk",
}

// readable lists what commands may read besides what they may write.
func readable(env, operator environment, workspace string) []string {
	paths := slices.Clone(system)
	paths = append(paths, env["GOMODCACHE"], operator["GOROOT"])
	for name := range toolchains {
		paths = append(paths, env[name])
	}
	home := operator["HOME"]
	if filepath.IsAbs(home) {
		for _, below := range append(slices.Clone(fetched), installed...) {
			paths = append(paths, filepath.Join(home, below))
		}
	}
	for entry := range strings.SplitSeq(operator["GOPROXY"], ",") {
		if dir, ok := strings.CutPrefix(entry, "file://"); ok {
			paths = append(paths, dir)
		}
	}
	for _, dir := range filepath.SplitList(env["PATH"]) {
		paths = append(paths, programs(dir, home)...)
	}
	paths = append(paths, gitDirs(workspace)...)
	// The resolver's configuration is often a link to where nothing else may be seen.
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		paths = append(paths, real)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return !filepath.IsAbs(path) || filepath.Clean(path) == "/" || home != "" && beneath(home, path)
	})
}

// gitDirs are where git keeps what a linked worktree (git-worktree(1)) shares with its repository, for reading. The
// repository must know the worktree: a file in the workspace alone names no place outside.
func gitDirs(workspace string) []string {
	pointer := filepath.Join(workspace, ".git")
	own, ok := strings.CutPrefix(firstLine(pointer), "gitdir: ")
	if !ok || !filepath.IsAbs(own) {
		return nil
	}
	back := firstLine(filepath.Join(own, "gitdir"))
	one, err := os.Stat(back)
	if err != nil || !filepath.IsAbs(back) {
		return nil
	}
	if other, err := os.Stat(pointer); err != nil || !os.SameFile(one, other) {
		return nil
	}
	shared := filepath.Join(own, firstLine(filepath.Join(own, "commondir")))
	if !isDir(filepath.Join(shared, "objects")) || !beneath(filepath.Clean(own), shared) {
		return nil
	}
	return []string{shared}
}

// firstLine is the first line of a small file, "" when there is none.
func firstLine(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<14 {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// mostLinks bounds how many programs of one directory are followed to where they are installed.
const mostLinks = 2000

// programs lists what a directory of PATH needs: itself, what it was installed with, and where its links lead.
func programs(dir, home string) []string {
	if coveredBy(system, dir) {
		return nil
	}
	paths := append([]string{dir}, installation(dir, home)...)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > mostLinks {
		return paths
	}
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, entry.Name()))
		if err != nil || coveredBy(system, real) || coveredBy(paths, real) {
			continue
		}
		paths = append(paths, real)
		paths = append(paths, installation(filepath.Dir(real), home)...)
	}
	return paths
}

// installation is the directory above a bin directory, if that looks like one program's or one toolchain's. A hidden one
// in the operator's home holds other things, too.
func installation(bin, home string) []string {
	root := filepath.Dir(bin)
	shared := home != "" && filepath.Dir(root) == home && strings.HasPrefix(filepath.Base(root), ".")
	if base := filepath.Base(bin); base != "bin" && base != "sbin" || shared || !isDir(filepath.Join(root, "lib")) {
		return nil
	}
	return []string{root}
}

// grants lists what commands may see, and what beneath it they may not.
func (r *Runner) grants(o Options, operator environment, write []string) ([]grant, []string) {
	private := append([]string{o.State}, o.Private...)
	var hide []string
	for _, path := range private {
		hide = append(hide, filepath.Clean(path))
		if real, err := filepath.EvalSymlinks(path); err == nil {
			hide = append(hide, real)
		}
	}
	var granted []grant
	for _, path := range readable(r.env, operator, o.Workspace) {
		if path = filepath.Clean(path); !coveredBy(hide, path) {
			granted = append(granted, grant{Path: path})
		}
	}
	for _, path := range write {
		granted = append(granted, grant{Path: filepath.Clean(path), Write: true})
	}
	for _, pattern := range systemSecrets {
		if found, err := filepath.Glob(pattern); err == nil {
			hide = append(hide, found...)
		}
	}
	slices.Sort(hide)
	return granted, slices.Compact(hide)
}

// beneath reports whether path is dir or in it. Both are clean.
func beneath(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == filepath.Separator
}

func coveredBy(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return beneath(path, dir) })
}

// reaches reports whether a path is granted, all links followed.
func (c *confinement) reaches(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(c.Grants, func(g grant) bool {
		dir, err := filepath.EvalSymlinks(g.Path)
		return err == nil && beneath(real, dir)
	})
}
