package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// outside is what a command must not reach: files of the operator, sockets, this process.
type outside struct {
	dir                 string
	tcp, udp            string
	path, abstract      string
	pid                 int
	workspace, store    string
	state, secret, link string
}

// surroundings makes a world around a workspace, and a runner in it.
func surroundings(t *testing.T, m mode, network bool) (*Runner, outside) {
	t.Helper()
	// In /tmp a command may write, to a directory of its own.
	dir, err := os.MkdirTemp("/var/tmp", "tillerman-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := outside{
		dir: dir, workspace: filepath.Join(dir, "workspace"), store: filepath.Join(dir, "data/store.db"), state: filepath.Join(dir, "state"),
		pid: os.Getpid(),
	}
	o.secret, o.link = filepath.Join(o.workspace, ".env"), filepath.Join(o.workspace, "out")
	write(t, o.store, "store")
	write(t, filepath.Join(dir, "home/.ssh/id_rsa"), "key")
	write(t, filepath.Join(o.state, "runs/2/home/notes"), "another run's")
	write(t, filepath.Join(dir, "old"), "old")
	write(t, o.secret, "secret")
	write(t, filepath.Join(o.workspace, "deep/.env"), "secret")
	write(t, filepath.Join(o.workspace, "inside.db"), "a store in the workspace")
	write(t, filepath.Join(o.workspace, "secrets/a"), "secret")
	if err := os.Symlink(dir, o.link); err != nil {
		t.Fatal(err)
	}
	o.listen(t)
	r, err := NewRunner(Options{
		Env:   append(os.Environ(), "HOME="+filepath.Join(dir, "home")),
		State: filepath.Join(o.state, "runs/1"), Caches: filepath.Join(o.state, "caches"), Workspace: o.workspace,
		Private: []string{o.store, o.state, filepath.Join(o.workspace, "inside.db")}, Network: network,
		Hidden: func(context.Context) ([]string, error) {
			return []string{o.secret, filepath.Join(o.workspace, "deep/.env"), filepath.Join(o.workspace, "secrets"), filepath.Join(o.workspace, "gone")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.prepare(r)
	return r, o
}

// listen opens everything that a command could connect to.
func (o *outside) listen(t *testing.T) {
	t.Helper()
	o.path, o.abstract = filepath.Join(o.dir, "socket"), "@tillerman-test-"+newMark()
	listen := func(network, address string) string {
		listener, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		return listener.Addr().String()
	}
	o.tcp = listen("tcp", "127.0.0.1:0")
	listen("unix", o.path)
	listen("unix", o.abstract)
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.udp = packets.LocalAddr().String()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for {
			_, from, err := packets.ReadFrom(make([]byte, 8))
			if err != nil {
				return
			}
			_, _ = packets.WriteTo([]byte("y"), from)
		}
	}()
	t.Cleanup(func() { packets.Close(); <-answered })
}

func all(may bool, attempts ...string) []attempt {
	var list []attempt
	for _, what := range attempts {
		list = append(list, attempt{what, may})
	}
	return list
}

// fileAttempts reach for files that are nobody's business.
func (o outside) fileAttempts() []string {
	return []string{
		"write " + filepath.Join(o.dir, "new"), "write " + filepath.Join(o.dir, "old"), "write " + filepath.Join(o.link, "new"), "write " + filepath.Join(o.link, "old"),
		"mkdir " + filepath.Join(o.dir, "dir"), "remove " + filepath.Join(o.dir, "old"), "rename " + filepath.Join(o.dir, "old") + " " + filepath.Join(o.workspace, "mine"),
		"read " + filepath.Join(o.dir, "old"), "read " + filepath.Join(o.link, "old"), "link " + filepath.Join(o.dir, "old") + " " + filepath.Join(o.workspace, "hard"),
		"read " + o.store, "write " + o.store, "write " + o.store + "-wal",
		"read " + filepath.Join(o.dir, "home/.ssh/id_rsa"), "list " + filepath.Join(o.dir, "home"),
		"read " + filepath.Join(o.state, "runs/2/home/notes"), "list " + filepath.Join(o.state, "runs/1/commands"), "write " + filepath.Join(o.state, "runs/1/commands/x.json"),
		"write /usr/tillerman-test", "write /etc/tillerman-test", "write /dev/tillerman-test", "write /proc/sys/kernel/core_pattern", "write /root/tillerman-test", "list /home", "list /var/lib",
		fmt.Sprintf("read /proc/%d/environ", o.pid), fmt.Sprintf("read /proc/%d/fd/2", o.pid), fmt.Sprintf("read /proc/%d/root%s", o.pid, o.store),
	}
}

// ownAttempts are what a command needs.
func (r *Runner) ownAttempts() []string {
	env := r.env
	return []string{
		"write " + filepath.Join(r.workspace, "new"), "rename " + filepath.Join(r.workspace, "new") + " " + filepath.Join(r.workspace, "deep/new"),
		"write " + filepath.Join(env["HOME"], "x"), "write " + filepath.Join(env["TMPDIR"], "x"), "write " + filepath.Join(env["GOCACHE"], "x"),
		"rename " + filepath.Join(env["TMPDIR"], "x") + " " + filepath.Join(env["TMPDIR"], "y"),
		"write /dev/null", "read /etc/passwd", "list /usr/bin", "read /proc/self/status", "exec /bin/true",
	}
}

// needs skips a test, by name, where the machine lacks what it is about.
func needs(t *testing.T, has bool, what string) {
	t.Helper()
	if !has {
		t.Skipf("this machine does not offer %s to this user: %s", what, Backend())
	}
}

// Each word of the label on its own keeps what it claims.
func TestLandlockKeepsFiles(t *testing.T) {
	t.Parallel()
	needs(t, current().landlock > 0, "landlock")
	r, o := surroundings(t, mode{prepare: func(r *Runner) { r.weaken(backend{landlock: r.backend.landlock}) }}, false)
	expect(t, r, append(all(false, o.fileAttempts()...), all(true, r.ownAttempts()...)...)...)
	if current().landlock >= 6 {
		expect(t, r, all(false, "dial unix "+o.abstract, fmt.Sprintf("signal %d", o.pid))...)
	}
	if current().landlock >= 4 {
		expect(t, r, all(false, "dial tcp "+o.tcp)...)
	}
}

func TestMountNamespaceKeepsFiles(t *testing.T) {
	t.Parallel()
	b := current()
	needs(t, b.spaces.Mount, "a mount namespace")
	r, o := surroundings(t, mode{prepare: func(r *Runner) { r.weaken(backend{spaces: spaces{User: b.spaces.User, PID: true, Mount: true}}) }}, true)
	expect(t, r, append(all(false, o.fileAttempts()...), all(true, r.ownAttempts()...)...)...)
	expect(t, r, all(false, "dial unix "+o.path)...)
	expect(t, r, o.hidden()...)
	if r.confine.Network {
		expect(t, r, all(true, "dial tcp "+o.tcp)...)
	}
}

// hidden are attempts at what lies in the workspace and must not be read.
func (o outside) hidden() []attempt {
	list := []attempt{}
	for _, path := range []string{o.secret, filepath.Join(o.workspace, "deep/.env"), filepath.Join(o.workspace, "inside.db")} {
		list = append(list, attempt{"holds " + path + " s", false}, attempt{"remove " + path, false}, attempt{"rename " + path + " " + path + ".moved", false}, attempt{"write " + path, false})
	}
	secrets := filepath.Join(o.workspace, "secrets")
	return append(list, attempt{"read " + secrets + "/a", false}, attempt{"write " + secrets + "/b", false}, attempt{"read " + filepath.Join(o.workspace, "deep/../.tryer"), true})
}

func TestProcessNamespaceKeepsProcesses(t *testing.T) {
	t.Parallel()
	b := current()
	needs(t, b.spaces.PID, "a process namespace")
	r, o := surroundings(t, mode{prepare: func(r *Runner) { r.weaken(backend{spaces: spaces{User: b.spaces.User, PID: true}}) }}, true)
	expect(t, r, all(false, fmt.Sprintf("signal %d", o.pid))...)
	got, err := r.Run(t.Context(), shell("kill -KILL 1; kill -TERM 1; kill -9 -1; echo alive"))
	if err != nil || got.Exit == 0 && !strings.HasSuffix(string(got.Output), "alive\n") {
		t.Errorf("%+v %q, %v", got, got.Output, err)
	}
}

func TestNetworkNamespaceKeepsTheNetwork(t *testing.T) {
	t.Parallel()
	b := current()
	needs(t, b.spaces.Net, "a network namespace")
	r, o := surroundings(t, mode{prepare: func(r *Runner) { r.weaken(backend{spaces: spaces{User: b.spaces.User, PID: true, Net: true}}) }}, false)
	expect(t, r, append(all(false, "dial tcp "+o.tcp, "dial udp "+o.udp, "dial unix "+o.abstract), attempt{"serve", b.spaces.Mount})...)
}

func TestIPCNamespaceKeepsSharedMemory(t *testing.T) {
	t.Parallel()
	b := current()
	needs(t, b.spaces.IPC, "an IPC namespace")
	key := 0x74000000 + os.Getpid()
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }()
	what := fmt.Sprintf("shared %d", key)
	for _, own := range []bool{true, false} {
		r, _ := surroundings(t, mode{prepare: func(r *Runner) { r.weaken(backend{spaces: spaces{User: b.spaces.User, PID: true, IPC: own}}) }}, true)
		expect(t, r, attempt{what, !own})
	}
}

func TestSeccompRefusesCalls(t *testing.T) {
	t.Parallel()
	needs(t, current().filter, "seccomp")
	r, o := surroundings(t, mode{prepare: func(r *Runner) { r.weaken(backend{filter: true}) }}, false)
	var names, lines []string
	for name := range calls {
		names = append(names, name)
		lines = append(lines, "call "+strings.ReplaceAll(name, " ", "_of_"))
	}
	got, err := r.Run(t.Context(), Command{Argv: []string{tryer(t, r)}, Env: []string{roleVariable + "=try", "TRY=" + strings.Join(lines, "\n")}})
	answers := strings.Split(strings.TrimSuffix(string(got.Output), "\n"), "\n")
	if err != nil || len(answers) != len(names) {
		t.Fatalf("%+v %q, %v", got, got.Output, err)
	}
	for i, name := range names {
		if answers[i] != unix.EPERM.Error() {
			t.Errorf("%s: %s", name, answers[i])
		}
	}
	expect(t, r, all(false, fmt.Sprintf("trace %d", o.pid), fmt.Sprintf("peek %d", o.pid), "dial tcp "+o.tcp, "dial udp "+o.udp, "dial unix "+o.abstract, "dial unix "+o.path)...)
}

// What is refused would not be, but for the filter: else the test above shows nothing.
func TestCallsWithoutSeccomp(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("other users are refused some of them anyway")
	}
	r, _ := surroundings(t, floored, true)
	for name := range calls {
		if slices.Contains([]string{"reboot", "io_uring_setup", "socket vsock", "socket alg"}, name) {
			continue
		}
		got, err := r.Run(t.Context(), Command{Argv: []string{tryer(t, r)}, Env: []string{roleVariable + "=try", "TRY=call " + strings.ReplaceAll(name, " ", "_of_")}})
		if err != nil || strings.Contains(string(got.Output), unix.EPERM.Error()) {
			t.Errorf("%s: %q, %v", name, got.Output, err)
		}
	}
}

// All of it together, and together without namespaces.
func TestConfined(t *testing.T) {
	t.Parallel()
	for _, m := range []mode{confined, spaceless} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r, o := surroundings(t, m, false)
			needs(t, r.backend != backend{} && (r.backend.spaces.Mount || r.backend.landlock > 0) && r.backend.filter, "this mode")
			expect(t, r, append(all(false, o.fileAttempts()...), all(true, r.ownAttempts()...)...)...)
			expect(t, r, all(false, "dial tcp "+o.tcp, "dial udp "+o.udp, "dial unix "+o.path, "dial unix "+o.abstract,
				fmt.Sprintf("signal %d", o.pid), fmt.Sprintf("trace %d", o.pid), fmt.Sprintf("peek %d", o.pid), fmt.Sprintf("read /proc/%d/mem", o.pid),
				"mknod "+filepath.Join(o.workspace, "disk"), "holds /etc/shadow r")...)
			if r.backend.spaces.Mount {
				expect(t, r, o.hidden()...)
				expect(t, r, all(true, "write /tmp/x", "write /dev/shm/x", "serve")...)
				expect(t, r, all(false, "holds /proc/1/environ x", "list /proc/1/root/", "read /proc/1/mem")...)
			}
			for path, want := range map[string]string{filepath.Join(o.dir, "old"): "old", o.store: "store", o.secret: "secret"} {
				if text, err := os.ReadFile(path); err != nil || string(text) != want {
					t.Errorf("%s: %q, %v", path, text, err)
				}
			}
		})
	}
}

// A policy that allows the network allows that and nothing else.
func TestConfinedWithNetwork(t *testing.T) {
	t.Parallel()
	for _, m := range []mode{confined, spaceless} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r, o := surroundings(t, m, true)
			needs(t, r.backend.filter && r.backend.landlock > 0, "this mode")
			if strings.Contains(r.Backend(), "net") && !strings.Contains(r.Backend(), "userns") || strings.Contains(r.Backend(), "net,") {
				t.Errorf("the label claims to keep the network: %s", r.Backend())
			}
			expect(t, r, append(all(false, o.fileAttempts()...), all(true, "dial tcp "+o.tcp, "dial udp "+o.udp)...)...)
			expect(t, r, all(false, "dial unix "+o.path, fmt.Sprintf("signal %d", o.pid), fmt.Sprintf("trace %d", o.pid))...)
			if r.backend.landlock >= 6 {
				expect(t, r, all(false, "dial unix "+o.abstract)...)
			}
		})
	}
}

// On the floor everything succeeds: what the tests above refuse is refused by the sandbox.
func TestFloorKeepsNothing(t *testing.T) {
	t.Parallel()
	r, o := surroundings(t, floored, false)
	expect(t, r, all(true, "read "+o.store, "write "+filepath.Join(o.dir, "new"), "write "+filepath.Join(o.link, "new"), "holds "+o.secret+" s", "holds "+filepath.Join(o.workspace, "inside.db")+" a",
		"dial tcp "+o.tcp, "dial udp "+o.udp, "dial unix "+o.path, "dial unix "+o.abstract,
		fmt.Sprintf("signal %d", o.pid), fmt.Sprintf("read /proc/%d/environ", o.pid))...)
}

// A directory of ours in the workspace is empty there, but for what is the command's own.
func TestStateInTheWorkspace(t *testing.T) {
	t.Parallel()
	needs(t, current().spaces.Mount, "a mount namespace")
	workspace := t.TempDir()
	state := filepath.Join(workspace, ".state")
	write(t, filepath.Join(state, "store.db"), "store")
	r, err := NewRunner(Options{
		Env: os.Environ(), State: filepath.Join(state, "runs/1"), Caches: filepath.Join(state, "caches"), Workspace: workspace, Private: []string{state},
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, append(all(true, r.ownAttempts()[2:]...), all(false, "read "+filepath.Join(state, "store.db"), "write "+filepath.Join(state, "x"), "list "+filepath.Join(state, "runs/1/commands"))...)...)
	if entries, err := os.ReadDir(state); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A workspace, state and home that are reached by way of links work as they are spelled.
func TestLinkedDirectories(t *testing.T) {
	t.Parallel()
	real, dir := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "to/there")
	if err := errors.Join(os.MkdirAll(filepath.Join(real, "ws"), 0o700), os.Mkdir(filepath.Dir(link), 0o700), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner(Options{Env: os.Environ(), State: filepath.Join(link, "state"), Workspace: filepath.Join(link, "ws")})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, all(true, r.ownAttempts()[:1]...)...)
	expect(t, r, all(true, r.ownAttempts()[2:]...)...)
	expect(t, r, all(true, "write "+filepath.Join(real, "ws/direct"))...)
	got, err := r.Run(t.Context(), shell("pwd; cat new"))
	if err != nil || string(got.Output) != filepath.Join(link, "ws")+"\nwritten" {
		t.Errorf("%q, %v", got.Output, err)
	}
}

// What is not there when a command starts is no obstacle, and neither is what is strange.
func TestProgramsOutOfReach(t *testing.T) {
	t.Parallel()
	b := current()
	needs(t, b.spaces.Mount || b.landlock > 0, "a way to hide files")
	for _, m := range []mode{confined, spaceless} {
		r, o := surroundings(t, m, false)
		if r.backend == (backend{}) {
			continue
		}
		program := filepath.Join(o.dir, "program")
		write(t, program, "#!/bin/sh\n")
		if err := os.Chmod(program, 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := r.Run(t.Context(), Command{Argv: []string{program}})
		if err != nil || !strings.Contains(got.NotFound, "out of the sandbox's reach") {
			t.Errorf("%s: %+v, %v", m.name, got, err)
		}
	}
}
