package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"tillerman/core/policy"
)

// changeBytes is the largest file that write_file and edit change: its whole content is kept for undo.
const changeBytes = 64 << 20

// runChange answers for a write plan that holds no write: its path was denied or led out when it was planned.
func runChange(plan Plan) (Result, error) {
	if plan.Write != nil {
		return Result{}, errors.New("a planned write is applied by the engine, not run")
	}
	return failed("not written: %s was denied or outside the workspace when the call was planned", plan.Target), nil
}

// planChange plans the change of one file. A plan for a path that the policy denies for one of the acts looks at nothing
// there: not even an error about the file may tell what a denied file holds.
func planChange(env Env, name string, needs policy.Act, after func(Write) ([]byte, error)) (Plan, error) {
	at, err := env.place(name)
	if err != nil {
		return Plan{}, err
	}
	action, verdict := env.judge(policy.Write, at)
	plan := Plan{Action: action, Target: QuoteName(at.given)}
	if at.outside || verdict.Effect == policy.Deny {
		return plan, nil
	}
	if needs != policy.Write {
		if _, v := env.judge(needs, at); v.Effect == policy.Deny {
			return Plan{}, fmt.Errorf("%s: the policy denies reading it, which a change of a part needs", plan.Target)
		}
	}
	w, err := preimage(env.Root, at.real)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", plan.Target, err)
	}
	if w.After, err = after(w); err != nil {
		return Plan{}, fmt.Errorf("%s: %w", plan.Target, err)
	}
	plan.Write, plan.Payload = &w, payload(w)
	return plan, nil
}

// preimage reads what stands at a resolved path, for a write to it.
func preimage(root, rel string) (Write, error) {
	w := Write{Path: rel}
	file, info, err := openReal(root, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.Mode = newMode()
		return w, nil
	case errors.Is(err, syscall.ENOTDIR):
		return Write{}, errors.New("a file stands where the path has a directory")
	case err != nil:
		return Write{}, err
	}
	defer file.Close()
	w.Exists, w.Mode, w.Names = true, uint32(info.Mode().Perm()), namesOf(info)
	if err := writable(info); err != nil {
		return Write{}, err
	}
	if w.Before, err = readUpTo(file, info.Size(), changeBytes); err != nil {
		return Write{}, err
	}
	return w, nil
}

// namesOf is how many names a file has, at least 1.
func namesOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// writable refuses a file that nobody may write. Replacing it by renaming would get round that, for root always.
func writable(info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("it is read-only (mode %04o)", info.Mode().Perm())
	}
	return nil
}

// readUpTo reads a whole file of at most limit bytes.
func readUpTo(file io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("it has %d bytes, and %d is the most that is changed here", size, limit)
	}
	body, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, bare(err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("it has more than %d bytes, which is the most that is changed here", limit)
	}
	return body, nil
}

// newMode is the mode of a file made now: 0666 without the bits of the umask where the system says what that is.
// Elsewhere the kernel takes them when the file is made.
func newMode() uint32 {
	const all = 0o666
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return all
	}
	_, rest, found := strings.Cut(string(status), "\nUmask:")
	var mask uint32
	if !found {
		return all
	}
	if _, err := fmt.Sscanf(rest, "%o", &mask); err != nil {
		return all
	}
	return all &^ mask
}
