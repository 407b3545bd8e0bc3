package redact_test

import (
	"strings"
	"testing"

	"tillerman/core/redact"
)

func FuzzRedact(f *testing.F) {
	f.Add("hunter2hunter2", "a hunter2hunter2 b", 3)
	f.Add(`q"uo\te8`, `{"a":"q\"uo\\te8"}`, 1)
	f.Add("\\u0041bcdefg", `\\u0041bcdefg\ud83d\ude00\ud83d`, 2)
	f.Add("surrogate", `\ud83dx`, 2)
	f.Add("] foobar", "https://a:b@c%41%4", 1)
	f.Fuzz(func(t *testing.T, secret, text string, chunk int) {
		if len(secret) > 1<<12 || len(text) > 1<<14 {
			return
		}
		r := redact.New([]redact.Secret{{Name: "FUZZED", Value: secret}})
		clean, n := r.String(text)
		if r.Holds(clean) {
			t.Fatalf("%q is left in %q", secret, clean)
		}
		if again, k := r.String(clean); again != clean || k != 0 {
			t.Fatalf("%q became %q", clean, again)
		}
		if n == 0 && clean != text {
			t.Fatalf("%q became %q uncounted", text, clean)
		}
		chunk = max(1, min(chunk, len(text)))
		var out strings.Builder
		w := r.Stream(&out)
		for rest := []byte(text); len(rest) > 0; rest = rest[min(chunk, len(rest)):] {
			if _, err := w.Write(rest[:min(chunk, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if n == 0 && out.String() != text {
			t.Fatalf("the stream made %q of %q", out.String(), text)
		}
		value := strings.TrimSpace(secret)
		if len(value) >= 8 && !strings.ContainsAny(value, "[]") && !strings.Contains("[redacted FUZZED] [redacted secret]", value) &&
			n > 0 && strings.Contains(out.String(), value) {
			t.Fatalf("the stream left %q in %q", value, out.String())
		}
	})
}
