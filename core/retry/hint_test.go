package retry_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"tillerman/core/retry"
)

func TestHint(t *testing.T) {
	now := time.Date(2026, time.October, 21, 7, 27, 55, 0, time.UTC)
	const none = -1
	for _, c := range []struct {
		after string
		want  time.Duration
	}{
		{"3", 3 * time.Second},
		{" 3 ", 3 * time.Second},
		{"0.5", 500 * time.Millisecond},
		{"1.25", 1250 * time.Millisecond},
		{"Wed, 21 Oct 2026 07:28:00 GMT", 5 * time.Second},
		{"Wednesday, 21-Oct-26 07:28:00 GMT", 5 * time.Second},
		{"Wed Oct 21 07:28:00 2026", 5 * time.Second},
		{"Wed, 21-Oct-26 07:28:00 GMT", 5 * time.Second},
		{"Wed, 21-Oct-2026 07:28:00 GMT", 5 * time.Second},
		{"1e9", 1e9 * time.Second},
		{"1e99", math.MaxInt64},
		{"99999999999999999999", math.MaxInt64},
		{"Fri, 31 Dec 9999 23:59:59 GMT", math.MaxInt64},
		{"-5", none},
		{"0", none},
		{"-0", none},
		{"0.0", none},
		{"1e-99", none},
		{"-1e99", none},
		{"soon", none},
		{"", none},
		{"  ", none},
		{"inf", none},
		{"NaN", none},
		{"0x10", none},
		{"1_000", none},
		{"e", none},
		{"3s", none},
		{"3, 4", none},
		{"Wed, 21 Oct 2026 07:27:50 GMT", none},
		{"Wed, 21 Oct 2026 07:27:55 GMT", none},
		{"Wed, 21-Oct-26 07:27:50 GMT", none},
		{"Wed, 21-Oct-26 07:28:00 EST", none},
		{"2026-10-21T07:28:00Z", none},
	} {
		got := retry.Hint(http.Header{"Retry-After": {c.after}}, now)
		switch {
		case c.want == none && got != nil:
			t.Errorf("%q: %s, want no hint", c.after, *got)
		case c.want != none && (got == nil || *got != c.want):
			t.Errorf("%q: %v, want %s", c.after, got, c.want)
		}
	}
}

func TestHintMillis(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		header map[string]string
		want   time.Duration // 0 is no hint
	}{
		{map[string]string{"retry-after-ms": "1500"}, 1500 * time.Millisecond},
		{map[string]string{"retry-after-ms": "1500.5"}, 1500500 * time.Microsecond},
		{map[string]string{"retry-after-ms": "1500", "retry-after": "9"}, 1500 * time.Millisecond},
		{map[string]string{"retry-after-ms": "-1", "retry-after": "9"}, 9 * time.Second},
		{map[string]string{"retry-after-ms": "soon", "retry-after": "9"}, 9 * time.Second},
		{map[string]string{"retry-after-ms": "0"}, 0},
		{map[string]string{"x-ratelimit-reset": "3", "x-ratelimit-reset-requests": "6m0s"}, 0},
		{nil, 0},
	} {
		h := http.Header{}
		for name, value := range c.header {
			h.Set(name, value)
		}
		got := retry.Hint(h, now)
		if (got == nil) != (c.want == 0) || (got != nil && *got != c.want) {
			t.Errorf("%v: %v, want %s", c.header, got, c.want)
		}
	}
}

func FuzzHint(f *testing.F) {
	for _, seed := range []string{"3", "Wed, 21-Oct-26 07:28:00 GMT", "-1e9", "Wed, 21 Oct 2026 07:28:00 GMT"} {
		f.Add(seed)
	}
	now := time.Date(2026, time.October, 21, 7, 27, 55, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		for _, name := range []string{"Retry-After", "Retry-After-Ms"} {
			if d := retry.Hint(http.Header{name: {value}}, now); d != nil && *d <= 0 {
				t.Errorf("%s %q: %s", name, value, *d)
			}
		}
	})
}
