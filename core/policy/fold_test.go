package policy

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOtherCaseSameFile(t *testing.T) {
	root := workspace(t)
	rules := "deny read **/.env\ndeny read ~/.ssh/**\ndeny read Straße\nallow write src/**\ndeny exec git push *"
	blind := boundary(t, root, rules, FoldCase(true))
	for _, line := range []string{
		"read .ENV", "read sub/.Env", "read ~/.SSH/id", "write .NETRC", "write .GIT/hooks/x", "write .g\u200cit/hooks/x", "write .gi\ufefft/hooks/x", "write .gi\u206at/hooks/x",
		"read STRAßE", "write .TILLERMAN.toml", "exec GIT push", "exec /usr/bin/Git push", "read \u212aEYS/x.\u212aey",
	} {
		wantEffect(t, blind, line, Deny)
	}
	wantEffect(t, blind, "write SRC/x", Ask) // an allow is never wider
	wantEffect(t, blind, "write src/x", Allow)

	exact := boundary(t, root, rules, FoldCase(false))
	wantEffect(t, exact, "read .ENV", Allow)
	wantEffect(t, exact, "read .env", Deny)
	wantEffect(t, exact, "write .NETRC", Ask)
}

func TestComposedAndDecomposedAreOneText(t *testing.T) {
	const composed, decomposed = "caf\u00e9", "cafe\u0301"
	for _, pattern := range []string{composed, decomposed} {
		for _, path := range []string{composed, decomposed} {
			b := boundary(t, workspace(t), "deny read "+pattern+"\nallow write "+pattern)
			wantEffect(t, b, "read "+path, Deny)
			want := Ask
			if pattern == path {
				want = Allow
			}
			wantEffect(t, b, "write "+path, want)
			blind := boundary(t, workspace(t), "allow write "+pattern, FoldCase(true))
			wantEffect(t, blind, "write "+path, Allow)
		}
	}
}

func TestFileSystemIsProbedWithoutWriting(t *testing.T) {
	root := workspace(t)
	before, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Lstat(filepath.Join(root, "MAIN.GO"))
	if got, want := foldsCase(root), err == nil; got != want {
		t.Errorf("foldsCase = %v, want %v", got, want)
	}
	if after, _ := os.ReadDir(root); len(after) != len(before) {
		t.Error("the probe left something behind")
	}
	empty := t.TempDir()
	if got, want := foldsCase(empty), foldsCase(root); got != want {
		t.Errorf("an empty directory: %v, want %v", got, want)
	}
	// Two names that differ in case only are two files where the file system tells them apart.
	write(t, filepath.Join(root, "Main.go"))
	if err != nil && foldsCase(root) {
		t.Error("two files were taken for one")
	}
}
