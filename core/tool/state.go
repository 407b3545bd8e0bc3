package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// FileState is what stands at a path.
type FileState struct {
	Exists bool
	Mode   uint32 // permission bits
	Digest string // SHA-256 of the content in hexadecimal; "" when there is no file
	Body   []byte // the content; nil when it has more than 64 MiB
}

// State looks at one file of the workspace, following no links. Nothing there is a state, not an error; a link, a
// directory or anything else that is no regular file is ErrChanged.
func State(root, name string) (FileState, error) { return state(root, name, changeBytes) }

func state(root, name string, keep int64) (FileState, error) {
	wrap := func(err error) (FileState, error) {
		return FileState{}, fmt.Errorf("look at %s: %w", QuoteName(name), err)
	}
	if err := checkPath(name); err != nil {
		return wrap(err)
	}
	file, info, err := openReal(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return FileState{}, nil
	}
	if err != nil {
		return wrap(changedIf(err))
	}
	defer file.Close()
	s := FileState{Exists: true, Mode: uint32(info.Mode().Perm())}
	digest := sha256.New()
	body, err := io.ReadAll(io.LimitReader(file, keep))
	if err != nil {
		return wrap(bare(err))
	}
	digest.Write(body)
	more, err := io.Copy(digest, file)
	if err != nil {
		return wrap(bare(err))
	}
	if more == 0 {
		s.Body = body
	}
	s.Digest = hex.EncodeToString(digest.Sum(nil))
	return s, nil
}

// Standing is what a file's state means for a write that may or may not have happened.
type Standing int

// The standings of a write. One that changes nothing stands applied.
const (
	StandsOther   Standing = iota // the file is something else: neither repeat nor trust the write
	StandsBefore                  // the file is as before the write
	StandsApplied                 // the file has the write's content
)

// Standing compares a file's state with the write. The mode does not count: a write keeps it.
func (w Write) Standing(s FileState) Standing {
	switch {
	case s.Exists && s.Digest == sum(w.After):
		return StandsApplied
	case s.Exists == w.Exists && (!s.Exists || s.Digest == sum(w.Before)):
		return StandsBefore
	}
	return StandsOther
}

func sum(body []byte) string {
	digest := sha256.Sum256(body)
	return hex.EncodeToString(digest[:])
}

// Written is the result of a write that Apply performed.
func (w Write) Written(changed bool) Result {
	text := "unchanged: " + QuoteName(w.Path) + " has this content already"
	if changed {
		text = fmt.Sprintf("wrote %s (%s%s)", QuoteName(w.Path), plural(len(w.After), "byte", "bytes"), map[bool]string{false: ", new file"}[w.Exists])
	}
	return Result{Text: text, Changed: changed}
}

// NotWritten is the result of a write that Apply refused or could not perform.
func (w Write) NotWritten(err error) Result {
	if errors.Is(err, ErrChanged) {
		return failed("file changed: %s is not what it was when the change was shown; nothing was written, read it again", QuoteName(w.Path))
	}
	return failed("not written: %v", err)
}
