package redact_test

import (
	"strings"
	"testing"

	"tillerman/core/redact"
)

// However a text is cut: of a secret at its end nothing is left, of one that is whole all stays, and of other text all.
func TestHead(t *testing.T) {
	const secret = "hunter2hunter2"
	r := redact.New([]redact.Secret{{Name: "K", Value: secret}})
	for _, form := range []string{secret, `\u0068unter2hunter2`, "68756e7465723268756e74657232", "aHVudGVyMmh1bnRlcjI="} {
		text := "some words " + form
		for end := len("some words "); end < len(text); end++ {
			got := r.Head(text[:end])
			if !strings.HasPrefix(text, got) || len(got) < len("some words ") || len(got) > len("some words ") && !r.Holds(text[:end]) {
				t.Fatalf("%q became %q", text[:end], got)
			}
		}
	}
	if got := r.Head("nothing of that kind!"); got != "nothing of that kind!" {
		t.Errorf("%q", got)
	}
}
