package plain

import (
	"testing"

	"tillerman/db"
)

func TestBeforeWords(t *testing.T) {
	last := &db.Request{Decision: "deny", Reason: "not that"}
	for want, b := range map[string]db.Before{
		"": {},
		"approved once, denied never; last: deny: not that":                              {Approved: 1, Same: 1, Last: last},
		"approved 2 times, denied once (with other content); last: deny: not that":       {Approved: 2, Denied: 1, Last: last},
		"approved 2 times, denied once (1 of 3 with this content); last: deny: not that": {Approved: 2, Denied: 1, Same: 1, Last: last},
	} {
		if got := BeforeWords(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
