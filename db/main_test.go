package db

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tillerman/db/audit"
)

// childEnv names the part that this test binary plays when a test starts it as another process.
const childEnv = "TILLERMAN_DB_TEST_CHILD"

// children are the parts. Each talks in lines: what it is told comes on in, what it says goes to standard output. It
// ends when it is through or when in ends.
var children = map[string]func(ctx context.Context, in *bufio.Scanner, args []string) error{
	"open":    childOpen,
	"hold":    childHold,
	"look":    childLook,
	"drive":   childDrive,
	"takeup":  childTakeUp,
	"decide":  childDecide,
	"control": childControl,
	"watch":   childWatch,
	"audit":   childAudit,
	"prune":   childPrune,
}

func TestMain(m *testing.M) {
	if part := os.Getenv(childEnv); part != "" {
		in := bufio.NewScanner(os.Stdin)
		if err := children[part](context.Background(), in, os.Args[1:]); err != nil {
			fmt.Println("error:", strings.ReplaceAll(err.Error(), "\n", " "))
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// process is this test binary playing a part.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// child starts a part. It is killed when the test ends.
func child(t *testing.T, part string, args ...string) *process {
	t.Helper()
	return start(t, false, part, args...)
}

// unprivileged starts a part as a user whom permissions bind: this one, or nobody when this one is root.
func unprivileged(t *testing.T, part string, args ...string) *process {
	t.Helper()
	return start(t, os.Getuid() == 0, part, args...)
}

// nobody is the unprivileged user that tests of permissions run as when they are started by root.
const nobody = 65534

func start(t *testing.T, drop bool, part string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if drop {
		if runtime.GOOS != "linux" {
			t.Skip("dropping to an unprivileged user is only done on Linux; run the tests as one")
		}
		self = "/proc/self/exe" // the build folder is root's alone
	}
	cmd := exec.Command(self, args...)
	if drop {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Dir = "/"
	}
	cmd.Env = append(os.Environ(), childEnv+"="+part)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(p.kill)
	return p
}

// say tells the process a line.
func (p *process) say(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

// hear is the next line of the process. One that says nothing for long is ended.
func (p *process) hear() string {
	p.t.Helper()
	silent := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer silent.Stop()
	if !p.out.Scan() {
		p.t.Fatalf("the other process ended or fell silent: %v", p.out.Err())
	}
	return p.out.Text()
}

// want fails unless the next line of the process is want.
func (p *process) want(want string) {
	p.t.Helper()
	if got := p.hear(); got != want {
		p.t.Fatalf("the other process says %q, want %q", got, want)
	}
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the process at once and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

// finish lets the process end and waits for it.
func (p *process) finish() {
	p.t.Helper()
	_ = p.in.Close()
	for p.out.Scan() {
		p.t.Logf("the other process also says %q", p.out.Text())
	}
	_ = p.cmd.Wait()
}

// clock is a clock that stands still until it is moved, to either side. It is for one goroutine at a time.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{at: time.UnixMilli(1_700_000_000_000)} }

func (c *clock) now() time.Time { return c.at }

func (c *clock) move(ms int64) { c.at = c.at.Add(time.Duration(ms) * time.Millisecond) }

// opened is a new store that is closed when the test ends. Its writes are left to the kernel: most tests are about what
// is written, and not about power cuts.
func opened(t testing.TB, opts Options) *Store {
	t.Helper()
	return reopened(t, t.TempDir()+"/runs.db", opts)
}

func reopened(t testing.TB, path string, opts Options) *Store {
	t.Helper()
	s := durable(t, path, opts)
	if !opts.ReadOnly {
		must(t, quick(s))
	}
	return s
}

// durable is a store as everybody else gets it.
func durable(t testing.TB, path string, opts Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// tester is a person or engine in tests.
var tester = Actor{User: "ann", Surface: "test", Host: "here", PID: 1}

// begun starts a run.
func begun(t testing.TB, s *Store) Lease {
	t.Helper()
	lease, _, err := s.Start(t.Context(), aRun(), tester, "floor", func(*Tx) error { return nil })
	must(t, err)
	return lease
}

func aRun() Run {
	return Run{
		Agent: "0", Goal: "make the tests pass", Workspace: "/w", Provider: "script", Model: "m", Contract: "{}", ContractDigest: "c",
		Policy: "{}", PolicyDigest: "p", Inputs: "{}", Version: "0",
	}
}

// commit commits under a lease.
func commit(t testing.TB, s *Store, lease Lease, fn func(*Tx) error) {
	t.Helper()
	_, err := s.Commit(t.Context(), lease, fn)
	must(t, err)
}

// ended ends a run with an outcome.
func ended(t testing.TB, s *Store, lease Lease, e Ending) (sum Summary) {
	t.Helper()
	commit(t, s, lease, func(tx *Tx) (err error) {
		sum, err = tx.Finish(e)
		return err
	})
	return sum
}

func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error,
) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// raw runs SQL on a store's file beside the package.
func raw(t testing.TB, s *Store, query string, args ...any) {
	t.Helper()
	must(t, s.writer.do(t.Context(), func(c *conn) error {
		_, err := c.w.conn.ExecContext(c.ctx, query, args...)
		return err
	}))
}

// number reads one number from a store.
func number(t testing.TB, s *Store, query string, args ...any) int64 {
	t.Helper()
	var n int64
	must(t, s.reader(t.Context()).row(query, args...).Scan(&n))
	return n
}

// dump is everything that a store holds.
func dump(t testing.TB, s *Store) string {
	t.Helper()
	tables, err := words(s.reader(t.Context()), `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
	must(t, err)
	var b strings.Builder
	for _, table := range tables {
		rows, err := s.reader(t.Context()).query("SELECT * FROM " + table)
		must(t, err)
		columns, err := rows.Columns()
		must(t, err)
		for rows.Next() {
			row := make([]any, len(columns))
			for i := range row {
				row[i] = new(any)
			}
			must(t, rows.Scan(row...))
			b.WriteString(table)
			for i, v := range row {
				fmt.Fprintf(&b, " %s=%q", columns[i], fmt.Sprint(*v.(*any)))
			}
			b.WriteString("\n")
		}
		must(t, errors.Join(rows.Err(), rows.Close()))
	}
	return b.String()
}

// asError is errors.As as an expression.
func asError[E error](err error) (E, bool) {
	var e E
	ok := errors.As(err, &e)
	return e, ok
}

func ptr[T any](v T) *T { return &v }

// timeout is a context for a wait: long when it should end by itself, as short as given when it should not.
func timeout(t *testing.T, short time.Duration, ends bool) (context.Context, context.CancelFunc) {
	t.Helper()
	if ends {
		short = 20 * time.Second
	}
	return context.WithTimeout(t.Context(), short)
}

func entryOf(t testing.TB, l audit.Link) audit.Entry {
	t.Helper()
	e, err := audit.Parse(l.Body)
	must(t, err)
	return e
}
