package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Programs of another kind of processor have other numbers for the same calls.
func TestFilterKnowsItsMachine(t *testing.T) {
	t.Parallel()
	needs(t, current().filter, "seccomp")
	program := (&confinement{}).program()
	if len(program) > 4096 {
		t.Errorf("%d instructions", len(program))
	}
	if program[0].K != atArch || program[2].K != unix.SECCOMP_RET_KILL_PROCESS {
		t.Errorf("begins with %+v", program[:3])
	}
}

// The label says what was found, and this machine's is printed for whoever reads the test's output.
func TestLabel(t *testing.T) {
	t.Parallel()
	t.Logf("%s; missing: %q", Backend(), Missing())
	for _, tc := range []struct {
		backend backend
		network bool
		want    string
	}{
		{backend{}, false, "floor"},
		{backend{landlock: 7, filter: true, spaces: spaces{User: true, PID: true, Mount: true, Net: true, IPC: true}}, false, "landlock7+seccomp+userns(pid,mount,net,ipc)"},
		{backend{landlock: 7, filter: true, spaces: spaces{User: true, PID: true, Mount: true, Net: true, IPC: true}}, true, "landlock7+seccomp+userns(pid,mount,ipc)"},
		{backend{landlock: 3, filter: true, spaces: spaces{PID: true}}, false, "landlock3+seccomp(net)+ns(pid)"},
		{backend{landlock: 3, filter: true}, true, "landlock3+seccomp"},
		{backend{spaces: spaces{PID: true, Net: true}}, true, "ns(pid)"},
	} {
		if got := tc.backend.label(tc.network); got != tc.want {
			t.Errorf("%+v: %q", tc.backend, got)
		}
	}
	if lines := (backend{}).missing(); len(lines) < 5 {
		t.Errorf("the floor misses %q", lines)
	}
	full := backend{landlock: 7, filter: true, spaces: spaces{PID: true, Mount: true, Net: true, IPC: true}}
	if lines := full.missing(); lines != nil {
		t.Errorf("everything misses %q", lines)
	}
}

// A confinement that cannot be applied is no reason to run without.
func TestConfinementThatFails(t *testing.T) {
	t.Parallel()
	needs(t, current().spaces.Mount, "a mount namespace")
	r := newTestRunner(t)
	r.confine.Tmp = filepath.Join(r.workspace, "gone")
	marker := filepath.Join(r.workspace, "ran")
	if got, err := r.Run(t.Context(), shell("echo > "+marker)); err == nil || !strings.Contains(err.Error(), "sandbox") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("it ran")
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	r := newTestRunner(t)
	needs(t, r.backend.spaces.Mount && r.backend.spaces.Net, "mount and network namespaces")
	for _, tc := range []struct{ script, want string }{
		{"touch /usr/x", "write only in the workspace"},
		{"echo 'curl: (6) Could not resolve host: example.com' >&2; exit 6", "denies commands the network"},
		{"touch /usr/x; exit 0", ""},
		{"exit 1", ""},
	} {
		got, err := r.Run(t.Context(), shell(tc.script))
		if err != nil || (tc.want == "") != (got.Hint == "") || !strings.Contains(got.Hint, tc.want) {
			t.Errorf("%s: %q, %v", tc.script, got.Hint, err)
		}
	}
}

// A command can do nothing to this program by starting it: it becomes no supervisor, and sees no store.
func TestCommandStartsThisProgram(t *testing.T) {
	t.Parallel()
	r, o := surroundings(t, confined, false)
	needs(t, r.backend.spaces.Mount || r.backend.landlock > 0, "a way to hide files")
	expect(t, r, all(false, "holds "+o.store+" s", "write "+o.store)...)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash, which can choose a program's name")
	}
	for _, name := range []string{supervisorName, stageName} {
		got, err := r.Run(t.Context(), Command{
			Argv: []string{"bash", "-c", "exec -a " + name + " " + tryer(t, r) + " 3< <(:) 4> >(cat) 5> >(cat)"}, Env: []string{roleVariable + "=bystander"},
		})
		if err != nil || strings.Contains(string(got.Output), "store") {
			t.Errorf("%s: %+v %q, %v", name, got, got.Output, err)
		}
	}
}
