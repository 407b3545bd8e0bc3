package tool

import (
	"bytes"
	"fmt"

	"github.com/aymanbagabas/go-udiff"
)

// payload shows a write to the person who decides, complete: the content of a new file, else a unified diff; a diff also
// where the content would pass for one. Bytes that are not UTF-8 appear as \xNN. It is for reading only; what is written is
// Write.After.
func payload(w Write) string {
	if w.Names > 1 {
		// No rule for paths sees that another name is the same file, but a write puts a new file at this one.
		return fmt.Sprintf("[the file has %d names (hard links); this one gets a file of its own, the others stay as they are]\n", w.Names) + change(w)
	}
	return change(w)
}

// ours says that a new file's content begins as what this package says about a change does: shown as it is, it would pass
// for that, a diff of another file or a word that nothing changes.
func ours(content []byte) bool {
	for _, begins := range []string{"--- ", "[the file has ", "[no change: ", "[binary file of ", "[replaced whole by:]"} {
		if bytes.HasPrefix(content, []byte(begins)) {
			return true
		}
	}
	return false
}

// change is the payload itself.
func change(w Write) string {
	after, _ := escapeInvalid(w.After)
	switch {
	case !w.Exists && !ours(w.After):
		return after
	case bytes.Equal(w.Before, w.After):
		return "[no change: the file has this content already]"
	case binary(w.Before[:min(len(w.Before), sampleSize)]):
		return fmt.Sprintf("[binary file of %d bytes, SHA-256 %s, replaced whole by:]\n%s", len(w.Before), sum(w.Before), after)
	}
	// The diff is made of the bytes themselves and escaped afterwards, so that no difference hides behind an escape.
	before, label := string(w.Before), QuoteName(w.Path)
	diff, err := udiff.ToUnified(label, label, before, udiff.Lines(before, string(w.After)), udiff.DefaultContextLines)
	if err != nil || diff == "" {
		return "[replaced whole by:]\n" + after
	}
	diff, _ = escapeInvalid([]byte(diff))
	return diff
}
