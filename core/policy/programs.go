package policy

import (
	"path"
	"strings"
)

// The tables below say what programs do with their arguments, as their manuals have it. They are data: nothing writes
// to them.

// shells run what is read here: scripts of the Bourne family.
var shells = set("sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "lksh", "oksh", "pdksh", "yash", "posh")

// otherShells run scripts that no parser here reads.
var otherShells = set("fish", "csh", "tcsh", "nu", "elvish", "xonsh", "pwsh", "powershell", "osh", "ysh", "oil", "rc", "es")

// multicall programs are told by their first argument what to be.
var multicall = set("busybox", "toybox", "coreutils")

// builtins are words of a shell that run or rename something their arguments hold.
var builtins = set("eval", "source", ".", "alias", "trap", "hash", "enable", "bind", "complete", "compgen", "mapfile",
	"readarray", "fc", "autoload", "zmodload", "emulate", "cd", "pushd", "popd", "chdir", "export", "readonly", "declare",
	"typeset", "local", "set", "shopt", "setopt", "read")

// wrapper says how the arguments of a program that runs another one are told from the command.
type wrapper struct {
	values   string   // one-letter options that take a value
	letters  string   // one-letter options that take none
	long     []string // long options that take a value as the next word
	flags    []string // long options that take none
	operands int      // words between the options and the command
	assigns  bool     // NAME=VALUE may stand before the command
	appends  bool     // arguments come from elsewhere, or files mean others than here
	moves    string   // one-letter options that change the working directory
	shell    bool     // without a command it may start a shell
}

// wrappers are read exactly, by POSIX and the manuals of coreutils, findutils, util-linux, procps, sudo and doas.
var wrappers = map[string]wrapper{
	"env": {
		values: "uCa", letters: "i0v", assigns: true, moves: "C",
		long: []string{"--unset", "--chdir", "--argv0"}, flags: []string{"--ignore-environment", "--null", "--debug"},
	},
	"nice":  {values: "n", letters: "0123456789", long: []string{"--adjustment"}},
	"nohup": {}, "setsid": {letters: "cfw", flags: []string{"--ctty", "--fork", "--wait"}},
	"timeout": {
		values: "ks", letters: "pfv", long: []string{"--kill-after", "--signal"},
		flags: []string{"--foreground", "--preserve-status", "--verbose"}, operands: 1,
	},
	"stdbuf": {values: "ioe", long: []string{"--input", "--output", "--error"}},
	"time": {
		values: "fo", letters: "avpqlh", long: []string{"--format", "--output"},
		flags: []string{"--append", "--verbose", "--portability", "--quiet"},
	},
	"xargs": {
		values: "aEIdLnPsJR", letters: "0prtxo", appends: true,
		long:  []string{"--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"},
		flags: []string{"--null", "--no-run-if-empty", "--interactive", "--verbose", "--exit", "--open-tty", "--show-limits"},
	},
	"sudo": {
		values: "ugpCrtTUDRh", letters: "AbBEHiKklNnPSsVv", assigns: true, moves: "DRi", shell: true,
		long:  []string{"--user", "--group", "--prompt", "--chdir", "--chroot", "--host", "--close-from", "--command-timeout", "--other-user"},
		flags: []string{"--askpass", "--background", "--bell", "--preserve-env", "--set-home", "--login", "--non-interactive", "--stdin", "--shell", "--reset-timestamp"},
	},
	"doas":    {values: "uCa", letters: "Lns", shell: true},
	"command": {letters: "pvV"}, "builtin": {}, "exec": {values: "a", letters: "cl"}, "noglob": {}, "nocorrect": {},
	"chroot": {flags: []string{"--skip-chdir"}, operands: 1, appends: true, shell: true},
}

// looseWrappers run another command as well, but where it begins is not read exactly: anywhere among their words.
var looseWrappers = set("ssh", "mosh", "su", "runuser", "pkexec", "script", "watch", "parallel", "sem", "unshare", "nsenter",
	"flock", "ionice", "taskset", "chrt", "setarch", "linux32", "linux64", "setpriv", "prlimit", "numactl", "chpst",
	"strace", "ltrace", "gdb", "lldb", "valgrind", "perf", "rr", "systemd-run", "start-stop-daemon", "daemonize",
	"proxychains", "proxychains4", "torsocks", "tsocks", "faketime", "fakeroot", "fakechroot", "unbuffer", "rlwrap", "expect",
	"dbus-run-session", "xvfb-run", "firejail", "bwrap", "entr", "watchexec", "nodemon", "at", "batch", "crontab",
	"choom", "uclampset", "sg", "ssh-agent", "gpg-agent", "capsh", "logsave", "debconf", "prove", "ld.so", "tmux", "screen", "dtach", "socat", "ncat", "run-parts", "caffeinate", "arch", "hyperfine", "repeat",
	"eatmydata", "chronic", "ifne", "pee", "cpulimit", "cgexec", "schedtool", "catchsegv", "timelimit", "multitime", "stap", "dtrace", "bpftrace",
	"uftrace", "heaptrack", "proot", "bear", "fzf", "run0", "systemd-inhibit", "systemd-cat", "systemd-nspawn", "machinectl", "sandbox-exec",
	"gosu", "su-exec", "setuidgid", "envdir", "envuidgid", "softlimit", "setlock", "s6-setuidgid", "tini", "dumb-init", "catatonit", "daemon", "abduco",
	"tsp", "nq", "xe", "rush", "pssh", "pdsh", "ansible", "sshpass", "autossh", "slogin", "rsh", "dbclient", "xterm", "konsole", "alacritty", "kitty",
	"gnome-terminal", "qemu", "concurrently", "cross-env", "env-cmd", "dotenv", "dotenvx",
	"flatpak-spawn", "mpirun", "mpiexec", "srun", "distrobox", "toolbox", "with-contenv", "zrun")

// carriers run a command when their first operand is one of these words, or always when there are none. What they run
// they run elsewhere or as the operator meant by allowing them, so only asks and denies look into them.
var carriers = map[string][]string{
	"docker": {"run", "exec", "compose", "container"}, "podman": {"run", "exec", "compose", "container"}, "nerdctl": {"run", "exec"},
	"ip":      {"netns", "vrf"},
	"kubectl": {"run", "exec", "debug"}, "lxc": {"exec"}, "vagrant": {"ssh"},
	"uv": {"run", "tool"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "rye": {"run"},
	"bundle": {"exec"}, "npm": {"exec", "x", "explore"}, "pnpm": {"exec", "dlx"}, "yarn": {"exec", "dlx"}, "npx": nil, "bunx": nil, "uvx": nil,
	"nix": {"run", "develop", "shell"}, "nix-shell": nil, "direnv": {"exec"}, "mise": {"exec", "x"}, "asdf": {"exec"},
	"conda": {"run"}, "mamba": {"run"}, "micromamba": {"run"}, "pixi": {"run"}, "rbenv": {"exec"}, "pyenv": {"exec"}, "nodenv": {"exec"}, "goenv": {"exec"},
	"stack": {"exec"}, "cabal": {"exec"}, "opam": {"exec"}, "dune": {"exec"}, "dotnet": {"exec"}, "heroku": {"run"}, "foreman": {"run"}, "honcho": {"run"},
	"oc": {"run", "exec", "debug", "rsh"}, "k3s": {"kubectl"}, "microk8s": {"kubectl"}, "flatpak": {"run"}, "snap": {"run"}, "devbox": {"run"}, "devcontainer": {"exec"},
	"lerna": {"exec"}, "nx": {"exec"}, "composer": {"exec"}, "tox": {"exec"},
	"op": {"run"}, "aws-vault": {"exec"}, "doppler": {"run"}, "ccache": nil, "distcc": nil,
}

func set(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, name := range names {
		out[name] = true
	}
	return out
}

// isKnown reports whether a program of this name runs other commands.
func isKnown(name string) bool {
	_, wraps := wrappers[name]
	_, interprets := interpreters[name]
	_, carries := carriers[name]
	_, runs := runners[name]
	_, queries := databases[name]
	return shells[name] || otherShells[name] || multicall[name] || builtins[name] || looseWrappers[name] ||
		wraps || interprets || carries || runs || strings.HasPrefix(name, "git-") || name == "find" || name == "git" || name == "make" || name == "sed" || queries
}

// gnuTools have a g before their names where other tools have those names.
var gnuTools = set("find", "xargs", "env", "nice", "nohup", "timeout", "stdbuf", "sort", "split", "sed", "tar", "time", "chroot", "make",
	"rm", "rmdir", "mv", "cp", "ln", "chmod", "chown", "chgrp", "kill", "dd", "shred", "truncate", "tee", "install", "mkfifo", "mknod", "unlink", "cat", "touch")

// programName is the name by which the tables know a program: without its directory, a login shell's dash, case, and
// the version that packagers put behind it.
func programName(word string) string {
	name := strings.ToLower(strings.TrimLeft(path.Base(word), "-"))
	if gnuTools[strings.TrimPrefix(name, "g")] {
		return strings.TrimPrefix(name, "g")
	}
	if strings.HasPrefix(name, "busybox") || strings.HasPrefix(name, "qemu-") {
		name, _, _ = strings.Cut(strings.Replace(name, ".", "-", 1), "-")
	}
	if isTabled(name) {
		return name
	}
	if short := strings.TrimRight(name, "0123456789.-"); isTabled(short) {
		return short
	}
	return name
}

func isTabled(name string) bool {
	_, interprets := interpreters[name]
	return shells[name] || otherShells[name] || interprets
}
