package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"tillerman/db"
	"tillerman/db/audit"
	"tillerman/themes"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trail is a store with two runs: the first with n writes that a rule allows, the second with a hostile target.
func trail(t *testing.T, n int) *db.Store {
	t.Helper()
	store, err := db.Open(context.Background(), filepath.Join(t.TempDir(), "runs.db"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	who := db.Actor{User: "ann", Surface: "command run", Terminal: "/dev/pts/1", Host: "box", PID: 7}
	rule, layer := "*.go", "team"
	for _, target := range []string{"a.go", "evil\x1b[2J\u202e.go"} {
		_, _, err = store.Start(context.Background(), db.Run{Agent: "0", Goal: "g", PolicyDigest: "p1", Version: "0.1.0"}, who, "floor", func(tx *db.Tx) error {
			err := tx.Audit(db.AuditRow{Action: audit.Start, Actor: who})
			for i := range n {
				position := i + 1
				err = errors.Join(err, tx.Audit(db.AuditRow{
					Action: audit.Write, Actor: who, Step: 1, Position: &position, Act: "write", Target: target, Rule: &rule, Layer: &layer, Model: "m-1", Digest: "d", Decision: "allow",
				}))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		n = 1
	}
	return store
}

// settled is a screen after every command it started has ended.
func settled(t *testing.T, m *Model, cmd tea.Cmd) {
	t.Helper()
	for todo := []tea.Cmd{cmd}; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		if next == nil {
			continue
		}
		switch msg := next().(type) {
		case nil:
		case tea.BatchMsg:
			todo = append(todo, msg...)
		default:
			todo = append(todo, m.Update(msg))
		}
	}
}

func screen(t *testing.T, store *db.Store, run int64, w, h int) *Model {
	t.Helper()
	theme, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	m := New(Deps{Store: store, Keys: keys.Default(), Painter: paint.New(theme, colorprofile.TrueColor, false)}, run)
	t.Cleanup(m.Close)
	m.Resize(w, h)
	settled(t, m, m.Init())
	return m
}

func (m *Model) plain() string { return ansi.Strip(m.View()) }

func press(t *testing.T, m *Model, key tea.KeyPressMsg) {
	t.Helper()
	handled, cmd := m.Press(key)
	if !handled {
		t.Fatalf("%s means nothing", key)
	}
	settled(t, m, cmd)
}

var (
	down   = tea.KeyPressMsg{Code: tea.KeyDown}
	up     = tea.KeyPressMsg{Code: tea.KeyUp}
	enter  = tea.KeyPressMsg{Code: tea.KeyEnter}
	letter = func(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }
)

func TestNewestRowsWithTheirAccount(t *testing.T) {
	m := screen(t, trail(t, 1), 0, 120, 30)
	view := m.plain()
	for _, want := range []string{"all runs", "intact", "no key, no anchor", "run 2 step 1", `evil\x1b[2J`, "ann through command run on /dev/pts/1, box, process 7; tillerman 0.1.0", "*.go, layer team   policy p1"} {
		if !strings.Contains(view, want) {
			t.Errorf("%q is not in\n%s", want, view)
		}
	}
	if strings.Contains(m.View(), "\x1b[2J") || strings.ContainsRune(view, '\u202e') {
		t.Error("a row's text reached the terminal as it is")
	}
	press(t, m, enter)
	if view = m.plain(); !strings.Contains(view, "asked by model m-1; done by tillerman 0.1.0") || !strings.Contains(view, "allowed by the policy of ann") {
		t.Error(view)
	}
	press(t, m, down)
	press(t, m, enter)
	if view = m.plain(); strings.Contains(view, "asked by model") || !strings.Contains(view, "nobody has to answer for it") {
		t.Error(view)
	}
}

func TestRowsOfOneRun(t *testing.T) {
	m := screen(t, trail(t, 3), 1, 100, 24)
	if view := m.plain(); !strings.Contains(view, "run 1") || strings.Contains(view, "evil") {
		t.Error(view)
	}
	press(t, m, letter('f'))
	if view := m.plain(); !strings.Contains(view, "all runs") || !strings.Contains(view, "evil") {
		t.Error(view)
	}
	press(t, m, letter('f')) // of the selected row, which is the newest
	if view := m.plain(); strings.Contains(view, "a.go") || !strings.Contains(view, "evil") {
		t.Error(view)
	}
}

// Going down turns pages through the whole trail and up through it again; only one page is held.
func TestPagesAreTurned(t *testing.T) {
	const n = 2*page + 30
	m := screen(t, trail(t, n), 1, 80, 24)
	last := int64(0)
	for want := int64(n + 1); want >= 1; want-- {
		if got := m.rows[m.selected].Seq; got != want {
			t.Fatalf("row %d is selected, want %d", got, want)
		}
		if len(m.rows) > page {
			t.Fatalf("%d rows are held", len(m.rows))
		}
		last = m.rows[m.selected].Seq
		press(t, m, down)
	}
	if last != 1 || m.rows[m.selected].Seq != 1 {
		t.Errorf("it ended at row %d", m.rows[m.selected].Seq)
	}
	for want := int64(1); want <= n+1; want++ {
		if got := m.rows[m.selected].Seq; got != want {
			t.Fatalf("going up, row %d is selected, want %d", got, want)
		}
		press(t, m, up)
	}
	press(t, m, letter('g'))
	if m.rows[m.selected].Seq != n+1 {
		t.Error("g does not lead to the newest row")
	}
}

func TestStateOfTheTrail(t *testing.T) {
	store := trail(t, 1)
	for name, c := range map[string]struct {
		report audit.Report
		err    error
		want   []string
	}{
		"altered":      {audit.Report{Verdict: audit.Altered, Msg: "row 4: it is missing", Fault: &audit.Fault{Seq: 4}}, nil, []string{"✗ altered", "row 4: it is missing"}},
		"short":        {audit.Report{Verdict: audit.Short, Msg: "the log has 3 rows"}, nil, []string{"✗ short", "the log has 3 rows"}},
		"no key":       {audit.Report{Verdict: audit.Unverifiable, Msg: "a key is missing"}, nil, []string{"cannot be verified", "a key is missing"}},
		"cannot":       {audit.Report{}, errors.New("no anchors\x1b[2J there"), []string{"cannot be verified", `no anchors\x1b[2J there`}},
		"keyed":        {audit.Report{Verdict: audit.Intact, Msg: "all follow", KeyedFrom: 3, Anchored: 1000, Rows: 1234}, nil, []string{"✓ intact", "keyed from row 3 on, anchored up to row 1,000 of 1,234"}},
		"not anchored": {audit.Report{Verdict: audit.Intact, Msg: "all follow", KeyedFrom: 1, Rows: 4}, nil, []string{"no anchor"}},
	} {
		m := screen(t, store, 0, 110, 24)
		m.deps.Verify = func(context.Context, func(int64)) (audit.Report, error) { return c.report, c.err }
		press(t, m, letter('v'))
		view := m.plain()
		for _, want := range c.want {
			if !strings.Contains(view, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, view)
			}
		}
	}
	// While it is verified the screen says how far it is; a screen that was left stops it.
	m := screen(t, store, 0, 110, 24)
	m.report = nil
	m.Update(progressMsg{check: m.checking, rows: 5000, next: make(chan int64)})
	if view := m.plain(); !strings.Contains(view, "verifying") || !strings.Contains(view, "looked at 5,000 rows so far") {
		t.Error(view)
	}
	m.deps.Verify = func(ctx context.Context, _ func(int64)) (audit.Report, error) {
		<-ctx.Done()
		return audit.Report{}, ctx.Err()
	}
	_, cmd := m.Press(letter('v'))
	m.Close()
	settled(t, m, cmd)
}

// In every window the screen is exactly as large as it, and in none it panics.
func TestEverySize(t *testing.T) {
	store := trail(t, 30)
	m := screen(t, store, 0, 80, 24)
	press(t, m, enter)
	for w := 1; w <= 210; w += 3 {
		for h := 1; h <= 62; h += 4 {
			m.Resize(w, h)
			lines := strings.Split(m.View(), "\n")
			if len(lines) != h {
				t.Fatalf("%d×%d: %d lines", w, h, len(lines))
			}
			for i, l := range lines {
				if got := ansi.StringWidth(l); got > w {
					t.Fatalf("%d×%d: line %d is %d wide: %s", w, h, i+1, got, fmt.Sprintf("%q", l))
				}
			}
		}
	}
}
