//go:build !linux

package tool

import (
	"os"
	"testing"
)

// asNobody runs a test as a user without rights. Only Linux can change the user of one thread.
func asNobody(t *testing.T, _ string, test func(*testing.T)) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("permissions: root passes all of them, and one thread cannot become another user here")
	}
	test(t)
}
