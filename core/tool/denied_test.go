package tool

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDenied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{".env", "a/.env", "a/b", "keys/one", "keys/two", ".git/.env", "ignored/.env", "a/.git/.env"} {
		at := filepath.Join(real, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(real, ".gitignore"), []byte("ignored\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link.env": ".env", "a/up": ".."} {
		if err := os.Symlink(target, filepath.Join(real, link)); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(t.TempDir(), "workspace")
	if err := os.Symlink(real, linked); err != nil {
		t.Fatal(err)
	}
	may := func(p string) bool { return path.Base(p) != ".env" && !strings.HasPrefix(p, "keys") && p != "link.env" }
	want := []string{".env", "a/.env", "a/.git/.env", "ignored/.env", "keys"}
	for i := range want {
		want[i] = filepath.Join(real, want[i])
	}
	for _, root := range []string{real, linked} {
		got, err := Denied(t.Context(), root, may)
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Denied(ended, real, may); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if _, err := Denied(t.Context(), filepath.Join(real, "gone"), may); err == nil {
		t.Error("a workspace that is not there")
	}
}
