package tuitest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// fakeTB is a test that may fail: it keeps what was said and leaves cleanup to
// the real one.
type fakeTB struct {
	testing.TB
	said string
}

func (f *fakeTB) Errorf(format string, args ...any) { f.said += fmt.Sprintf(format, args...) + "\n" }

func (f *fakeTB) Fatal(args ...any) {
	f.said += fmt.Sprint(args...) + "\n"
	runtime.Goexit()
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// failing gives what a test says that runs do; empty when it passes.
func failing(t *testing.T, do func(tb testing.TB)) string {
	t.Helper()
	f := &fakeTB{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(f)
	}()
	<-done
	return f.said
}

// expectFailure checks that do fails and says all of the texts.
func expectFailure(t *testing.T, do func(tb testing.TB), texts ...string) {
	t.Helper()
	said := failing(t, do)
	if said == "" {
		t.Error("did not fail")
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%q is missing in:\n%s", text, said)
		}
	}
}
