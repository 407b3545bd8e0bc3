package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// notFoundError says why a program cannot be started. It names the program and no other argument.
type notFoundError struct{ Reason string }

func (e *notFoundError) Error() string { return e.Reason }

func notFound(format string, args ...any) error {
	return &notFoundError{Reason: fmt.Sprintf(format, args...)}
}

// checkDir says why a command cannot run in dir.
func checkDir(dir string) error {
	switch info, err := os.Stat(dir); {
	case dir == "":
		return notFound("no working directory")
	case errors.Is(err, os.ErrNotExist):
		return notFound("the working directory %q does not exist", dir)
	case err != nil:
		return notFound("the working directory %q cannot be read: %v", dir, errors.Unwrap(err))
	case !info.IsDir():
		return notFound("the working directory %q is not a directory", dir)
	case unix.Access(dir, unix.X_OK) != nil:
		return notFound("the working directory %q may not be entered", dir)
	}
	return nil
}

// resolve finds the program that name means, as execvp(3) does, except that entries of path that depend on the
// working directory are passed over.
func resolve(name, dir, path string) (string, error) {
	if strings.ContainsRune(name, '/') {
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		return file, checkProgram(file)
	}
	if name == "" {
		return "", notFound("no program is named")
	}
	var found error
	for _, entry := range filepath.SplitList(path) {
		if !filepath.IsAbs(entry) {
			continue
		}
		file := filepath.Join(entry, name)
		err := checkProgram(file)
		if err == nil {
			return file, nil
		}
		if _, e := os.Stat(file); e == nil && found == nil {
			found = err
		}
	}
	if found != nil {
		return "", found
	}
	return "", notFound("program %q is not in PATH", name)
}

func checkProgram(file string) error {
	switch info, err := os.Stat(file); {
	case errors.Is(err, os.ErrNotExist):
		return notFound("program %q does not exist", file)
	case err != nil:
		return notFound("program %q cannot be read: %v", file, errors.Unwrap(err))
	case info.IsDir():
		return notFound("%q is a directory", file)
	case !info.Mode().IsRegular():
		return notFound("%q is not a file", file)
	case unix.Access(file, unix.X_OK) != nil:
		return notFound("program %q is not executable", file)
	}
	return nil
}

// startFailure says what an error of starting a checked program means; any other error, like a lack of processes, is
// not the program's and comes back as it is.
func startFailure(file string, err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	switch errno {
	case syscall.ENOENT:
		if interpreter := interpreterOf(file); interpreter != "" {
			return notFound("the interpreter %q of program %q does not exist", interpreter, file)
		}
		return notFound("program %q or its loader does not exist", file)
	case syscall.ENOEXEC:
		return notFound("program %q is in no format that the system can run; a script must begin with #!", file)
	case syscall.E2BIG:
		return notFound("the arguments are too long for the system")
	case syscall.EINVAL:
		return notFound("an argument holds a NUL byte")
	case syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.ELOOP, syscall.ETXTBSY, syscall.ENAMETOOLONG:
		return notFound("program %q cannot be run: %v", file, errno)
	}
	return err
}

// interpreterOf reads what stands after #! in a script.
func interpreterOf(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	rest, ok := strings.CutPrefix(string(line), "#!")
	if fields := strings.Fields(rest); ok && len(fields) > 0 {
		return fields[0]
	}
	return ""
}
