package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tillerman/tui/tuitest"
)

// nobody is the user that tests of permissions run the program as.
const nobody = 65534

// program is the real program with an environment of its own, in a place that every user can reach.
type program struct {
	t    *testing.T
	dir  string
	bin  string
	env  []string
	drop bool // to a user whom permissions bind
}

func newProgram(t *testing.T) *program {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir, err := os.MkdirTemp("", "tillerman-cli-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &program{t: t, dir: dir, bin: filepath.Join(dir, "tillerman")}
	body, err := os.ReadFile(tuitest.Build(t))
	p.must(err)
	p.must(os.WriteFile(p.bin, body, 0o755))
	p.must(os.Chmod(dir, 0o755))
	for _, sub := range []string{"ws", "home"} {
		p.must(os.Mkdir(p.path(sub), 0o755))
	}
	p.must(os.WriteFile(p.path("ws", "a.txt"), []byte("hello\n"), 0o644))
	p.env = []string{"HOME=" + p.path("home"), "PATH=" + os.Getenv("PATH"), "TILLERMAN_COMPATIBLE_KEY=not-a-real-key"}
	return p
}

func (p *program) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) path(elem ...string) string {
	return filepath.Join(append([]string{p.dir}, elem...)...)
}

// unprivileged drops to a user whom permissions bind, and gives it home and workspace.
func (p *program) unprivileged() {
	p.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	p.drop = true
	for _, f := range []string{"home", "ws", "ws/a.txt"} {
		p.must(os.Chown(p.path(f), nobody, nobody))
	}
}

func (p *program) run(args ...string) (code int, out, errOut string) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, p.bin, args...)
	cmd.Env, cmd.Dir = p.env, p.path("ws")
	if p.drop {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

func (p *program) ok(args ...string) string {
	p.t.Helper()
	code, out, errOut := p.run(args...)
	if code != 0 {
		p.t.Fatalf("tillerman %v: exit %d\n%s%s", args, code, out, errOut)
	}
	return out
}

// refused wants an exit code and one line that says all the words.
func (p *program) refused(code int, words []string, args ...string) {
	p.t.Helper()
	got, out, errOut := p.run(args...)
	line := strings.TrimSuffix(errOut, "\n")
	if got != code || !strings.HasPrefix(line, "tillerman: ") || strings.Contains(line, "\n") {
		p.t.Errorf("tillerman %v: exit %d, want %d and one line; %q, %q", args, got, code, out, errOut)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			p.t.Errorf("tillerman %v does not say %q: %s", args, w, line)
		}
	}
}

// sick wants doctor to say, in one line each, that checks fail, and to leave the store as it is.
func (p *program) sick(db string, lines ...string) {
	p.t.Helper()
	code, out, errOut := p.run("doctor", "--db", db)
	if code != 1 || errOut != "" {
		p.t.Errorf("doctor: exit %d\n%s%s", code, out, errOut)
	}
	for _, want := range lines {
		if !slices.ContainsFunc(strings.Split(out, "\n"), func(l string) bool { return strings.HasPrefix(l, "fail") && strings.Contains(l, want) }) {
			p.t.Errorf("doctor does not fail with %q:\n%s", want, out)
		}
	}
}

// lister is a server that lets a run list its workspace for a number of steps and then say that it is done. It answers
// what a request asks for and remembers nothing, as real ones do.
type lister struct {
	*httptest.Server
	mu sync.Mutex
	// at, when set, is called under mu before the answer of its step goes out.
	at     func(step int)
	served atomic.Int64
}

const modelSteps = 6

func newLister(t *testing.T) *lister {
	m := &lister{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		step := bytes.Count(body, []byte(`"role":"assistant"`)) + 1
		m.served.Add(1)
		m.mu.Lock()
		if m.at != nil {
			m.at(step)
		}
		m.mu.Unlock()
		w.Header().Set("content-type", "text/event-stream")
		if step < modelSteps {
			fmt.Fprintf(w, `data: {"model":"m-1","choices":[{"index":0,"delta":{"content":"Looking, %d.","tool_calls":[{"index":0,"id":"c%d","function":{"name":"list","arguments":"{\"path\":\".\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\n", step, step)
		} else {
			fmt.Fprint(w, `data: {"model":"m-1","choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`+"\n\n")
		}
		fmt.Fprintf(w, `data: {"model":"m-1","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":5,"total_tokens":%d}}`+"\n\ndata: [DONE]\n\n", 100+step, 105+step)
	}))
	t.Cleanup(m.Close)
	return m
}

// before has something done before each answer. It returns when no earlier one is at it any more.
func (m *lister) before(do func(step int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = do
}

func (m *lister) task(p *program, db string) []string {
	return []string{"run", "look around", "-w", p.path("ws"), "--base-url", m.URL + "/v1", "--model", "m", "--max-retries", "0", "--db", db}
}

// troubled runs a task whose store gets into trouble at step 3, checks the line, ends the trouble, and wants everything
// that was committed to be there, and a resume to come to what an untroubled run comes to.
func troubled(t *testing.T, p *program, db string, begin, end func(), code int, words ...string) {
	t.Helper()
	m := newLister(t)
	calm := p.path("calm.db")
	p.ok(m.task(p, calm)...)
	want := p.ok("show", "1", "--canonical", "--db", calm)
	once := false
	m.before(func(step int) {
		if step == 3 && !once {
			once = true
			begin()
		}
	})
	got, out, errOut := p.run(m.task(p, db)...)
	line := strings.TrimSuffix(errOut, "\n")
	if got != code || strings.Contains(line, "\n") || !strings.HasPrefix(line, "tillerman: run 1: ") {
		t.Errorf("exit %d, want %d and one line: %q\n%s", got, code, errOut, out)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("the line does not say %q: %s", w, line)
		}
	}
	m.before(nil)
	end()
	if steps := p.ok("show", "1", "--steps", "--db", db); !strings.Contains(steps, "   2  list .") {
		t.Errorf("what was committed is gone:\n%s", steps)
	}
	p.ok("resume", "1", "--db", db)
	if got := p.ok("show", "1", "--canonical", "--db", db); got != want {
		t.Errorf("the resumed run is not what an untroubled one is:\n%s\n%s", got, want)
	}
	if code, out, _ := p.run("doctor", "--db", db); code != 0 {
		t.Errorf("doctor afterwards:\n%s", out)
	}
}

func TestDiskFullInTheMiddleOfARun(t *testing.T) {
	p := newProgram(t)
	disk := p.path("disk")
	p.must(os.Mkdir(disk, 0o700))
	if err := unix.Mount("tillerman-test", disk, "tmpfs", 0, "size=32m,mode=0700"); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			t.Skip("a small disk can only be mounted by root")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	store, ballast := filepath.Join(disk, "runs.db"), filepath.Join(disk, "ballast")
	troubled(t, p, store, func() {
		f, err := os.Create(ballast)
		p.must(err)
		block := make([]byte, 64<<10)
		for len(block) > 0 { // to the last byte
			if _, err := f.Write(block); err != nil {
				block = block[:len(block)/2]
			}
		}
		_ = f.Close()
	}, func() {
		p.sick(store, "MiB free; free some space")
		p.must(os.Remove(ballast))
	}, 1, "disk full", store, "free some space, then resume the run")
}

// hold takes the store for writing, as another program might, and returns what lets go of it.
func hold(t *testing.T, store string) (release func()) {
	t.Helper()
	conn, err := sql.Open("sqlite", store)
	if err != nil {
		t.Error(err)
		return func() {}
	}
	conn.SetMaxOpenConns(1)
	if _, err := conn.Exec("PRAGMA busy_timeout=10000; BEGIN EXCLUSIVE"); err != nil {
		t.Error(err)
	}
	return func() {
		if _, err := conn.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	}
}

func TestLockedForThreeSeconds(t *testing.T) {
	p := newProgram(t)
	m := newLister(t)
	store := p.path("runs.db")
	m.before(func(step int) {
		if step == 3 {
			release := hold(t, store)
			time.AfterFunc(3*time.Second, release)
		}
	})
	p.ok(m.task(p, store)...)
	if n := m.served.Load(); n != modelSteps {
		t.Errorf("%d model calls", n)
	}
}

func TestLockedForTooLong(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for as long as the program does")
	}
	p := newProgram(t)
	store := p.path("runs.db")
	var release func()
	troubled(t, p, store, func() { release = hold(t, store) }, func() {
		p.ok("runs", "--db", p.path("calm.db")) // another store is none of its business
		p.sick(store, "locked by another process")
		release()
	}, 1, "locked by another process", store, "lsof")
}

func TestPlacesThatCannotBeWritten(t *testing.T) {
	p := newProgram(t)
	p.unprivileged()
	m := newLister(t)
	place := p.path("place")
	p.must(os.Mkdir(place, 0o755))
	p.must(os.Chown(place, nobody, nobody))
	if !p.drop {
		t.Cleanup(func() { _ = os.Chmod(place, 0o700) })
	}
	store := filepath.Join(place, "runs.db")
	p.ok(m.task(p, store)...)
	p.must(os.Chmod(place, 0o555))
	p.refused(2, []string{"cannot be written", store, "make the file and its directory writable"}, m.task(p, store)...)
	p.refused(2, []string{"cannot be written"}, "resume", "1", "--db", store)
	p.refused(2, []string{"cannot be written"}, "prune", "--older", "0d", "--db", store)
	p.refused(2, []string{"cannot be written"}, m.task(p, filepath.Join(place, "none.db"))...)
	p.sick(store, "cannot be written")
	for _, args := range [][]string{{"runs"}, {"show", "1"}, {"show", "1", "--trace"}, {"show", "1", "--canonical"}, {"stats", "cancel"}, {"prune", "--older", "0d", "--dry-run"}} {
		p.ok(append(args, "--db", store)...) // looking works
	}
	p.must(os.Chmod(place, 0o755))

	if os.Getuid() != 0 {
		return // what follows needs another user's file
	}
	p.must(os.Chown(store, 0, 0))
	p.must(os.Chmod(store, 0o600))
	for _, args := range [][]string{{"runs"}, {"show", "1"}, {"resume", "1"}} {
		p.refused(2, []string{"cannot be read", store, "readable for this user"}, append(args, "--db", store)...)
	}
	p.refused(2, []string{"cannot be read"}, m.task(p, store)...)
	p.sick(store, "cannot be read")
}

func TestHomeThatIsNotThere(t *testing.T) {
	p := newProgram(t)
	p.unprivileged()
	m := newLister(t)
	task := m.task(p, "x")
	task = task[:len(task)-2] // the store of the environment
	p.env = slices.DeleteFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "HOME=") })
	for _, args := range [][]string{task, {"runs"}, {"prune", "--older", "1d"}} {
		p.refused(2, []string{"HOME", "--db"}, args...)
	}
	if code, out, _ := p.run("doctor"); code != 1 || !strings.Contains(out, "HOME") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	p.must(os.Chmod(p.dir, 0o555))
	p.env = append(p.env, "HOME="+p.path("nothing", "here"))
	if os.Getuid() != 0 {
		t.Cleanup(func() { _ = os.Chmod(p.dir, 0o755) })
	}
	p.refused(2, []string{"cannot be written", p.path("nothing", "here")}, task...)
	p.refused(2, []string{"there is no store at "}, "runs")
	if code, out, _ := p.run("doctor"); code != 1 || !strings.Contains(out, "nothing can be made in "+p.dir) {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	p.ok("version")
}

// pageOf is where a table's or index's first page stands in the file, and its size.
func pageOf(t *testing.T, store, name string) (at, size int64) {
	t.Helper()
	conn, err := sql.Open("sqlite", store)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := errors.Join(
		conn.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", name).Scan(&at),
		conn.QueryRow("PRAGMA page_size").Scan(&size)); err != nil {
		t.Fatal(err)
	}
	return (at - 1) * size, size
}

func TestDamagedStores(t *testing.T) {
	p := newProgram(t)
	m := newLister(t)
	sound := p.path("sound.db")
	p.ok(m.task(p, sound)...)
	if code, _, _ := p.run(append(m.task(p, sound), "--max-steps", "3")...); code != 1 { // can be continued
		t.Fatalf("exit %d", code)
	}
	body, err := os.ReadFile(sound)
	p.must(err)
	for _, c := range []struct {
		name  string
		spoil func(b []byte) []byte
		args  [][]string // what must say so
		sick  string
	}{
		{"a table's page", spoil(t, sound, "steps"), [][]string{{"show", "1", "--steps"}, {"show", "1", "--canonical"}, {"watch", "1", "--plain"}, {"resume", "2", "--max-steps", "9"}}, "damaged"},
		{"an index's page", spoil(t, sound, "runs_parent"), [][]string{{"runs", "--since", "1d"}, {"show", "last"}}, "damaged"},
		{"the runs' page", spoil(t, sound, "runs"), [][]string{{"runs"}, {"show", "1"}, {"resume", "1"}, m.task(p, ""), {"prune", "--older", "0d"}}, "damaged"},
		{"half of the file", func(b []byte) []byte { return b[:len(b)/2/4096*4096] }, [][]string{{"runs", "look"}, {"show", "1", "--canonical"}}, "damaged"},
		{"not a whole page", func(b []byte) []byte { return b[:len(b)/3] }, [][]string{{"show", "1", "--canonical"}}, "damaged"},
		{"another header", func(b []byte) []byte { return append([]byte("SQLite format 4\x00"), b[16:]...) }, [][]string{{"runs"}, m.task(p, "")}, "not a tillerman store"},
		{"a text", func([]byte) []byte { return bytes.Repeat([]byte("dear diary\n"), 1000) }, [][]string{{"runs"}, {"show", "1"}, m.task(p, "")}, "not a tillerman store"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			store := p.path("broken.db")
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(store + suffix)
			}
			p.must(os.WriteFile(store, c.spoil(slices.Clone(body)), 0o600))
			for _, args := range c.args {
				if args[0] == "run" {
					args = args[:len(args)-2]
				}
				code := 2
				if slices.Contains(args, "--max-steps") { // it drove until it met the damage
					code = 1
				}
				p.refused(code, []string{c.sick, store}, append(slices.Clone(args), "--db", store)...)
			}
			p.sick(store, c.sick)
		})
	}
}

// spoil overwrites the first page of a table or index.
func spoil(t *testing.T, store, name string) func([]byte) []byte {
	at, size := pageOf(t, store, name)
	return func(b []byte) []byte {
		copy(b[at:at+size], bytes.Repeat([]byte{0xff}, int(size)))
		return b
	}
}

func TestStoreOfALaterVersionStaysAsItIs(t *testing.T) {
	p := newProgram(t)
	m := newLister(t)
	store := p.path("later", "runs.db")
	p.ok(m.task(p, store)...)
	execSQL(t, store, "PRAGMA user_version = 99")
	before := sums(t, filepath.Dir(store))
	for _, args := range [][]string{
		{"runs"},
		{"show", "1"},
		{"resume", "1"},
		{"inbox"},
		{"cancel", "1"},
		{"watch", "1"},
		{"stats", "cancel"},
		{"prune", "--older", "0d"},
		{"demo", "--fast"},
		{"run", "x", "-w", p.path("ws"), "--base-url", m.URL + "/v1", "--model", "m"},
	} {
		p.refused(2, []string{"newer", "its schema is 99", store, "use that version"}, append(args, "--db", store)...)
	}
	p.sick(store, "its schema is 99")
	if after := sums(t, filepath.Dir(store)); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the store has changed: %v, was %v", after, before)
	}
}

// sums are the digests of a folder's files.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		body, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(body))
	}
	return all
}

// What the documentation says of SQLite's own tool holds: a copy of a store in use is whole, and VACUUM gives room back.
func TestWithSQLitesOwnTool(t *testing.T) {
	tool, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("sqlite3 is not installed")
	}
	p := newProgram(t)
	m := newLister(t)
	store, copied := p.path("runs.db"), p.path("copy.db")
	p.ok(m.task(p, store)...)
	want := p.ok("show", "1", "--canonical", "--db", store)
	sqlite := func(db, command string) []byte {
		t.Helper()
		out, err := exec.Command(tool, db, command).Output()
		if err != nil {
			t.Fatalf("sqlite3 %s %s: %v", db, command, err)
		}
		return out
	}
	m.before(func(step int) {
		if step == 3 {
			sqlite(store, "VACUUM INTO '"+copied+"'")
		}
	})
	p.ok(m.task(p, store)...)
	if got := p.ok("show", "1", "--canonical", "--db", copied); got != want {
		t.Errorf("the copy's run 1:\n%s\n%s", got, want)
	}
	if got := p.ok("show", "2", "--steps", "--db", copied); !strings.Contains(got, "   2  list .") {
		t.Errorf("the copy's run 2 lacks what was committed:\n%s", got)
	}
	p.ok("doctor", "--db", copied)

	size := func() int64 {
		info, err := os.Stat(store)
		p.must(err)
		return info.Size()
	}
	before := size()
	p.ok("prune", "--older", "0d", "--db", store)
	if size() > before {
		t.Errorf("prune made the file larger: %d, was %d", size(), before)
	}
	before = size()
	sqlite(store, "VACUUM")
	if size() >= before {
		t.Errorf("VACUUM left %d of %d bytes", size(), before)
	}
	p.ok("doctor", "--db", store)
}
