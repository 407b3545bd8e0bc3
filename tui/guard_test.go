package tui

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"
)

func TestAPanicInAGoroutineGivesTheTerminalBack(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	g := NewGuard(slave, slave)
	before, err := term.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.MakeRaw(int(slave.Fd())); err != nil {
		t.Fatal(err)
	}
	died := make(chan int, 1)
	g.die = func(code int) { died <- code }
	g.Go(func() { panic("boom") })
	if code := <-died; code != 1 {
		t.Errorf("exit code %d", code)
	}
	after, err := term.GetState(int(slave.Fd()))
	if err != nil || *after != *before {
		t.Errorf("the line settings are not as before (%v)", err)
	}
	buf := make([]byte, 1000)
	n, err := master.Read(buf)
	if err != nil || !strings.Contains(string(buf[:n]), "\x1b[?1049l") || !strings.Contains(string(buf[:n]), "\x1b[?25h") {
		t.Errorf("written: %q %v", buf[:n], err)
	}
}

// TestEveryGoroutineIsGuarded finds go statements in the console outside the guarded starter.
func TestEveryGoroutineIsGuarded(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		// The test kit runs in tests, and the line printer has no terminal to give back.
		if err != nil || d.IsDir() && (d.Name() == "tuitest" || d.Name() == "plain") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok && path != "guard.go" {
				t.Errorf("%s: a goroutine that no guard catches", set.Position(g.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
