package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"tillerman/core/redact"
)

// encodings are the ways in which a secret may turn up. Each gets what stands around the secret in the same text.
var encodings = map[string]func(before, secret, after string) string{
	"plain":        func(b, s, a string) string { return b + s + a },
	"query escape": func(b, s, a string) string { return url.QueryEscape(b + s + a) },
	"path escape":  func(b, s, a string) string { return url.PathEscape(b + s + a) },
	"percent all":  func(b, s, a string) string { return b + percentAll(s, "%%%02X") + a },
	"percent low":  func(b, s, a string) string { return b + percentAll(s, "%%%02x") + a },
	"percent twice": func(b, s, a string) string {
		return url.PathEscape(b + percentAll(s, "%%%02x") + a)
	},
	"json":       func(b, s, a string) string { return asJSON(b + s + a) },
	"json twice": func(b, s, a string) string { return asJSON(asJSON(b + s + a)) },
	"json all":   func(b, s, a string) string { return b + jsonAll(s) + a },
	"go quote":   func(b, s, a string) string { return strconv.Quote(b + s + a) },
	"go ascii":   func(b, s, a string) string { return strconv.QuoteToASCII(b + s + a) },
	"octal":      func(b, s, a string) string { return b + percentAll(s, `\%03o`) + a },
	"octal zero": func(b, s, a string) string { return b + percentAll(s, `\0%03o`) + a },
	"c hex":      func(b, s, a string) string { return b + percentAll(s, `\x%02x`) + a },
	"html":       func(b, s, a string) string { return html.EscapeString(b + s + a) },
	"html quotes": func(b, s, a string) string {
		return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&apos;", "<", "&lt;", ">", "&gt;").Replace(b + s + a)
	},
	"html decimal":  func(b, s, a string) string { return b + referenceAll(s, "&#%d;") + a },
	"html hex":      func(b, s, a string) string { return b + referenceAll(s, "&#x%04X;") + a },
	"json thrice":   func(b, s, a string) string { return asJSON(asJSON(asJSON(b + s + a))) },
	"json in query": func(b, s, a string) string { return url.QueryEscape(asJSON(b + s + a)) },
	"json in html":  func(b, s, a string) string { return html.EscapeString(asJSON(b + s + a)) },
	"html in query": func(b, s, a string) string { return url.QueryEscape(html.EscapeString(b + s + a)) },
	"query in json": func(b, s, a string) string { return asJSON(url.QueryEscape(b + s + a)) },
	"html in json":  func(b, s, a string) string { return asJSON(html.EscapeString(b + s + a)) },
	"shell single":  func(b, s, a string) string { return "'" + strings.ReplaceAll(b+s+a, "'", `'\''`) + "'" },
	"shell mixed":   func(b, s, a string) string { return "'" + strings.ReplaceAll(b+s+a, "'", `'"'"'`) + "'" },
	"shell double": func(b, s, a string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(b+s+a) + `"`
	},
	"shell slashes":   func(b, s, a string) string { return slashAll(b + s + a) },
	"hex":             func(b, s, a string) string { return hex.EncodeToString([]byte(b + s + a)) },
	"hex upper":       func(b, s, a string) string { return strings.ToUpper(hex.EncodeToString([]byte(b + s + a))) },
	"hex wrapped":     func(b, s, a string) string { return wrap(hex.EncodeToString([]byte(b+s+a)), 60, "\n") },
	"base64":          base64With(base64.StdEncoding),
	"base64 raw":      base64With(base64.RawStdEncoding),
	"base64 url":      base64With(base64.URLEncoding),
	"base64 url raw":  base64With(base64.RawURLEncoding),
	"base64 wrapped":  func(b, s, a string) string { return wrap(base64With(base64.StdEncoding)(b, s, a), 76, "\n") },
	"base64 crlf":     func(b, s, a string) string { return wrap(base64With(base64.StdEncoding)(b, s, a), 64, "\r\n") },
	"base64 indented": func(b, s, a string) string { return wrap(base64With(base64.StdEncoding)(b, s, a), 64, "\n    ") },
	"base64 wrapped in json": func(b, s, a string) string {
		return asJSON(wrap(base64With(base64.StdEncoding)(b, s, a), 76, "\n"))
	},
	"html twice":   func(b, s, a string) string { return html.EscapeString(html.EscapeString(b + s + a)) },
	"braces":       func(b, s, a string) string { return b + referenceAll(s, `\u{%x}`) + a },
	"braces upper": func(b, s, a string) string { return b + referenceAll(s, `\u{%04X}`) + a },
	"base64 twice": func(b, s, a string) string {
		return base64With(base64.StdEncoding)("", base64With(base64.StdEncoding)(b, s, a), "")
	},
	"base64 of url":  func(b, s, a string) string { return base64With(base64.StdEncoding)(b, url.QueryEscape(s), a) },
	"base64 of path": func(b, s, a string) string { return base64With(base64.URLEncoding)(b, url.PathEscape(s), a) },
	"base64 of html": func(b, s, a string) string { return base64With(base64.StdEncoding)(b, html.EscapeString(s), a) },
	"base64 of json": func(b, s, a string) string { return base64With(base64.StdEncoding)("", asJSON(b+s+a), "") },
	"base64 of hex": func(b, s, a string) string {
		return base64With(base64.StdEncoding)(b, hex.EncodeToString([]byte(s)), a)
	},
	"hex of base64": func(b, s, a string) string {
		return hex.EncodeToString([]byte(base64With(base64.URLEncoding)(b, s, a)))
	},
	"hex twice":         func(b, s, a string) string { return hex.EncodeToString([]byte(hex.EncodeToString([]byte(b + s + a)))) },
	"base64 in a query": func(b, s, a string) string { return url.QueryEscape(base64With(base64.StdEncoding)(b, s, a)) },
}

func base64With(e *base64.Encoding) func(b, s, a string) string {
	return func(b, s, a string) string { return e.EncodeToString([]byte(b + s + a)) }
}

func percentAll(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func referenceAll(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

// slashAll is what printf %q of a shell writes for text without control characters.
func slashAll(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > ' ' && r < 0x80 && !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') || r == ' ' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func jsonAll(s string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return b.String()
}

func asJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func wrap(s string, width int, end string) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + end)
		s = s[width:]
	}
	return b.String() + s
}

// awkward secrets have everything that encoders treat in their own way.
var awkward = []string{
	"hunter2hunter2", `q"u\o/t&e<d>+'x y`, "tabs\tand\nlines", "пароль-ключ", "8bytes!!", "emoji 😀 key", "a=b&c=d%41%zz", "??>>~~??>>~~", `"quoted&key"`,
}

func TestEveryEncodingAtEveryAlignment(t *testing.T) {
	for name, encode := range encodings {
		t.Run(name, func(t *testing.T) {
			for _, secret := range awkward {
				r := redact.New([]redact.Secret{{Name: "THE_KEY", Value: secret}})
				for pad := range 80 {
					text := encode(strings.Repeat("z", pad), secret, "tail")
					if !r.Holds(text) {
						t.Fatalf("%q is not found after %d bytes in %q", secret, pad, text)
					}
					clean, n := r.String(text)
					if n != 1 || strings.Count(clean, "[redacted THE_KEY]") != 1 {
						t.Fatalf("%q after %d bytes: %d redactions: %q", secret, pad, n, clean)
					}
					if r.Holds(clean) {
						t.Fatalf("%q after %d bytes is still in %q", secret, pad, clean)
					}
				}
			}
		})
	}
}

func TestBase64IsTakenWithItsPadding(t *testing.T) {
	const secret = "hunter2hunter2"
	r := redact.New([]redact.Secret{{Name: "K", Value: secret}})
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
		if got, _ := r.String("<" + e.EncodeToString([]byte(secret)) + ">"); got != "<[redacted K]>" {
			t.Errorf("got %q", got)
		}
	}
}

// Whatever the secrets and the text: afterwards no secret is left, and doing it again changes nothing.
func TestNothingIsLeftAndTwiceIsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets, text := drawText(t)
		r := redact.New(secrets)
		clean, _ := r.String(text)
		if r.Holds(clean) {
			t.Fatalf("still holds a secret: %q", clean)
		}
		for _, s := range secrets {
			if strings.Contains(clean, s.Value) {
				t.Fatalf("still holds %q: %q", s.Value, clean)
			}
		}
		if again, n := r.String(clean); again != clean || n != 0 {
			t.Fatalf("the second time %q became %q", clean, again)
		}
	})
}

// drawText makes some secrets and a text that holds them in several encodings among other things.
func drawText(t *rapid.T) ([]redact.Secret, string) {
	value := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9]{8,40}`),
		rapid.StringMatching(`[ab]{8,12}`),
		rapid.StringMatching(`[ -~]{6}[!-Z\]-~]{4,20}`),
		rapid.SampledFrom(awkward),
	)
	var secrets []redact.Secret
	for i, v := range rapid.SliceOfN(value, 1, 4).Draw(t, "values") {
		v = strings.TrimSpace(v)
		if len(v) >= 8 {
			secrets = append(secrets, redact.Secret{Name: fmt.Sprintf("KEY_%d", i), Value: v})
		}
	}
	names := make([]string, 0, len(encodings))
	for name := range encodings {
		names = append(names, name)
	}
	slices.Sort(names)
	noise := rapid.OneOf(
		rapid.StringN(0, 20, 60), rapid.StringMatching(`[ab\\%n]{0,12}`), rapid.StringMatching(`[a-zA-Z0-9+/]{30,70}`),
		rapid.SampledFrom([]string{
			"https://user:pa55word@host/x ", " sk-abcdefgh12345678 ", "\n", `"`, "=", " eyJhbGciOiJI.eyJzdWIiOiIx.abc ",
			"-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\n", "[redacted ", "]",
		}),
	)
	var text strings.Builder
	for range rapid.IntRange(0, 6).Draw(t, "parts") {
		text.WriteString(noise.Draw(t, "noise"))
		if len(secrets) > 0 {
			s := rapid.SampledFrom(secrets).Draw(t, "secret")
			encode := encodings[rapid.SampledFrom(names).Draw(t, "encoding")]
			text.WriteString(encode(noise.Draw(t, "before"), s.Value, noise.Draw(t, "after")))
		}
	}
	return secrets, text.String()
}
