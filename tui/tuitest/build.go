package tuitest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// program is the path of the program under test, built at most once in a process.
var program = sync.OnceValues(build)

// Build gives the path of the program under test: the main package at the root
// of the module that the test runs in, built from its present source. Packages
// that are tested at the same time share one file in the directory for
// temporary files, so that only the first links it; the file stays there for
// the next run.
func Build(tb testing.TB) string {
	tb.Helper()
	path, err := program()
	if err != nil {
		tb.Fatalf("build the program under test: %v", err)
	}
	return path
}

func build() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := buildDir(root)
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	path := filepath.Join(dir, "tillerman")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build in %s: %w\n%s", root, err, out)
	}
	return path, nil
}

// moduleRoot is the nearest directory, from the working directory upwards, that
// holds a go.mod: go test runs a package's tests in the package's directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod in or above the working directory")
		}
		dir = parent
	}
}

// buildDir makes the directory for the program built from root. Its name can be
// guessed, so nothing is run from it unless it is this user's alone.
func buildDir(root string) (string, error) {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(root))
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("tuitest-build-%d-%x", os.Getuid(), sum.Sum64()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(stat.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a directory of this user alone", dir)
	}
	return dir, nil
}
