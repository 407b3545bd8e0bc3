package redact_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core/redact"
)

// Wherever the text is cut, the stream gives no secret away, and gives what the whole text would have given.
func TestStreamIsCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets, text := drawText(t)
		r := redact.New(secrets)
		var out strings.Builder
		w := r.Stream(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 40)).Draw(t, "chunk")
			if k, err := w.Write([]byte(rest[:n])); k != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", k, n, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if strings.Contains(out.String(), s.Value) {
				t.Fatalf("%q is in %q", s.Value, out.String())
			}
		}
		want, _ := r.String(text)
		if out.String() != want {
			t.Fatalf("text    %q\nstream  %q\nat once %q", text, out.String(), want)
		}
	})
}

func TestStreamEveryEncodingByteByByte(t *testing.T) {
	for name, encode := range encodings {
		t.Run(name, func(t *testing.T) {
			for _, secret := range awkward {
				r := redact.New([]redact.Secret{{Name: "K", Value: secret}})
				text := encode(strings.Repeat("z", 70), secret, "tail") + " end"
				var out strings.Builder
				w := r.Stream(&out)
				for i := range len(text) {
					if _, err := w.Write([]byte{text[i]}); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if want, _ := r.String(text); out.String() != want || w.Count() != 1 {
					t.Errorf("%q: got %d, %q, want %q", secret, w.Count(), out.String(), want)
				}
			}
		})
	}
}

// Ordinary text must appear at once: only what could be the beginning of a secret waits.
func TestStreamHoldsBackOnlyBeginnings(t *testing.T) {
	r := redact.New([]redact.Secret{{"K", "hunter2hunter2"}})
	for _, tc := range []struct{ text, held string }{
		{"building...\n", ""},
		{"Continue? ", ""},
		{"tests", ""},
		{"all 12 tests pass: hunt", "hunt"},
		{"key sk-abcdefgh", "sk-abcdefgh"},
		{"see https://host", "://host"},
		{"see https://host/paths.", ""},
		{"50%", "%"},
		{"50% ", ""},
		{"b \\", "\\"},
		{"-----BEGIN PRIVATE KEY-----\nMII", "-----BEGIN PRIVATE KEY-----\nMII"},
	} {
		var out strings.Builder
		w := r.Stream(&out)
		if _, err := w.Write([]byte(tc.text)); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(tc.text, out.String()); got != tc.held {
			t.Errorf("%q: held back %q, want %q", tc.text, got, tc.held)
		}
	}
}

func TestStreamHoldsABoundedAmount(t *testing.T) {
	r := redact.New([]redact.Secret{{"K", "abababababab"}})
	for _, part := range []string{"ab", "sk-a1", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----\nMII", "://a:b"} {
		counter := &countingWriter{}
		w := r.Stream(counter)
		chunk := []byte(strings.Repeat(part, 32<<10/len(part)))
		for range 20 {
			if _, err := w.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
		if counter.n == 0 {
			t.Errorf("%.20q: nothing of 640 KiB was passed on", part)
		}
	}
}

type countingWriter struct{ n int }

func (w *countingWriter) Write(p []byte) (int, error) { w.n += len(p); return len(p), nil }

func TestStreamReportsFailure(t *testing.T) {
	broken := errors.New("broken")
	w := redact.New(nil).Stream(failingWriter{broken})
	if _, err := w.Write([]byte("some text ")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
