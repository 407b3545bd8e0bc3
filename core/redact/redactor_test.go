package redact_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tillerman/core/redact"
)

func TestNames(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"MY_KEY", "[redacted MY_KEY]"},
		{"hunter2hunter2", "[redacted secret]"},
		{"x-aHVudGVyMmh1bnRlcjI=", "[redacted secret]"},
		{"", "[redacted secret]"},
		{"a\x1b[31m", "[redacted secret]"},
		{"a]b", "[redacted secret]"},
		{strings.Repeat("n", 65), "[redacted secret]"},
	} {
		r := redact.New([]redact.Secret{{Name: tc.name, Value: "hunter2hunter2"}})
		if got, _ := r.String("a hunter2hunter2 b"); got != "a "+tc.want+" b" {
			t.Errorf("name %q: %q", tc.name, got)
		}
	}
}

func TestValues(t *testing.T) {
	r := redact.New([]redact.Secret{
		{"SHORT", "1234567"},
		{"FIRST", "hunter2hunter2"},
		{"SECOND", "hunter2hunter2"},
		{"LONGER", "hunter2hunter2-and-more"},
		{"PADDED", "  padded-value\n"},
		{"MARK", "redacted"},
		{"OVERLAP", "nter2-overlap"},
	})
	for _, tc := range []struct {
		text, want string
		count      int
	}{
		{"1234567", "1234567", 0},
		{"hunter2hunter2", "[redacted FIRST]", 1},
		{"hunter2hunter2-and-more", "[redacted LONGER]", 1},
		{"hunter2hunter2 hunter2hunter2", "[redacted FIRST] [redacted FIRST]", 2},
		{"hunter2hunter2hunter2", "[redacted FIRST]", 1},
		{"x padded-value y", "x [redacted PADDED] y", 1},
		{"redacted", "redacted", 0},
		{"hunter2hunter2-overlap.", "[redacted FIRST].", 1},
		{"\xff\xfehunter2hunter2\x00", "\xff\xfe[redacted FIRST]\x00", 1},
		{"https://me:hunter2hunter2@host", "https://[redacted FIRST]@host", 1},
	} {
		got, n := r.String(tc.text)
		if got != tc.want || n != tc.count {
			t.Errorf("%q: got %d, %q, want %d, %q", tc.text, n, got, tc.count, tc.want)
		}
		b, n := r.Bytes([]byte(tc.text))
		if string(b) != tc.want || n != tc.count {
			t.Errorf("%q as bytes: %d, %q", tc.text, n, b)
		}
		if r.Holds(tc.text) != (tc.count > 0) {
			t.Errorf("Holds(%q) is %v", tc.text, tc.count == 0)
		}
	}
}

// A mark and what stands beside it may spell another secret.
func TestSecretsSpelledByMarks(t *testing.T) {
	r := redact.New([]redact.Secret{{"A", "hunter2hunter2"}, {"B", "] foobar"}, {"C", "foo [redac"}})
	for _, text := range []string{"hunter2hunter2 foobar", "foo hunter2hunter2", "foo hunter2hunter2 foobar"} {
		got, n := r.String(text)
		if r.Holds(got) || n < 2 {
			t.Errorf("%q became %q", text, got)
		}
		if again, n := r.String(got); n != 0 || again != got {
			t.Errorf("the second time %q became %q", got, again)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	r := redact.New([]redact.Secret{{"A", "hunter2hunter2"}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, _ := r.String(`x hunter2hunter2 %41 \n y`); !strings.Contains(got, "[redacted A]") {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wg.Wait()
}

// Text made to be slow must not be: the time grows with its length, not with its square.
func TestHostileTextIsNotSlow(t *testing.T) {
	r := redact.New([]redact.Secret{{"A", strings.Repeat("a", 64)}, {"B", "abababababab"}, {"C", "00000000"}})
	for _, part := range []string{
		"a", "ab", "eyJ", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "://", "://a:", "sk-", ` sk-a`, `\`, `\u00`,
		"%", "%25", "%41", `\n`, "\n", strings.Repeat("a", 64) + "\n", "xoxb-", "0", "AKIA", `\u0061`, "61",
	} {
		text := strings.Repeat(part, 1<<20/len(part))
		start := processorTime(t)
		r.String(text)
		if d := processorTime(t) - start; d > 2*time.Second {
			t.Errorf("1 MiB of %.20q took %v", part, d)
		}
	}
}

// processorTime is what this process has used, which other programs on the machine do not change.
func processorTime(t *testing.T) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// A key of several lines is found by any of them: grep, cat -n and diff put something before each.
func TestLinesOfAKey(t *testing.T) {
	const key = "-----BEGIN SOME KEY-----\nMIIEowIBAAKCAQEAx4UbaDzY5xjW6hc9jwN0mX33XpTDVW5ZgkHqzYFQ8xk1\r\nqgpHJn1yq3bmZ4f9PpQ7oZt2\nshort==\n-----END SOME KEY-----\n"
	r := redact.New([]redact.Secret{{Name: "K", Value: key}})
	for _, c := range [][2]string{
		{"a.pem:2: MIIEowIBAAKCAQEAx4UbaDzY5xjW6hc9jwN0mX33XpTDVW5ZgkHqzYFQ8xk1", "a.pem:2: [redacted K]"},
		{"     3\tqgpHJn1yq3bmZ4f9PpQ7oZt2", "     3\t[redacted K]"},
		{"+-----BEGIN SOME KEY-----", "+-----BEGIN SOME KEY-----"},
		{"<" + strings.TrimSpace(key) + ">", "<[redacted K]>"},
	} {
		if got, _ := r.String(c[0]); got != c[1] {
			t.Errorf("%q became %q", c[0], got)
		}
	}
}
