package redact_test

import (
	"strings"
	"testing"

	"tillerman/core/redact"
)

func TestRules(t *testing.T) {
	r := redact.New(nil)
	pem := "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA=\n-----END OPENSSH PRIVATE KEY-----"
	for _, tc := range []struct{ name, text, want string }{
		{"api key", "key=sk-proj-abcDEF0123456789_x, next", "key=[redacted api-key], next"},
		{"payment key", "sk_live_" + strings.Repeat("a", 24), "[redacted api-key]"},
		{"github", "ghp_" + strings.Repeat("A1", 18) + ".", "[redacted github-token]."},
		{"github fine-grained", "github_pat_11AAAAAAA0abcdefghijklmnop", "[redacted github-token]"},
		{"slack", "xoxb-1234567890-abcdef", "[redacted slack-token]"},
		{"aws", "id AKIAIOSFODNN7EXAMPLE end", "id [redacted aws-key] end"},
		{"google", "AIza" + strings.Repeat("a", 35), "[redacted google-key]"},
		{"gitlab", "glpat-abcdefghij0123456789", "[redacted gitlab-token]"},
		{"npm", "npm_" + strings.Repeat("a", 36), "[redacted npm-token]"},
		{"jwt", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-_123 x", "Bearer [redacted jwt] x"},
		{"pem", "a\n" + pem + "\nb", "a\n[redacted private-key]\nb"},
		{"pem in json", `{"k":"` + strings.ReplaceAll(pem, "\n", `\n`) + `"}`, `{"k":"[redacted private-key]"}`},
		{"pem cut off", "-----BEGIN PRIVATE KEY-----\nMIIabc\nMIIdef\n<end>", "[redacted private-key]<end>"},
		{"userinfo", "git clone https://me:hunter2@host/x", "git clone https://[redacted url-userinfo]@host/x"},
		{"userinfo with @", "https://me:p@ss@host/x", "https://[redacted url-userinfo]@host/x"},
		{"after an escaped line break", `"\nsk-abcdefgh12345678"`, `"\n[redacted api-key]"`},
		{"after a percent escape", "k%3Dsk-abcdefgh12345678&", "k%3D[redacted api-key]&"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, n := r.String(tc.text)
			if got != tc.want || n != 1 {
				t.Errorf("got %d, %q, want %q", n, got, tc.want)
			}
			if again, n := r.String(got); again != got || n != 0 {
				t.Errorf("the second time: %q", again)
			}
			if r.Holds(tc.text) {
				t.Error("a shape is taken for a known value")
			}
		})
	}
}

func TestRulesLeaveTheRestAlone(t *testing.T) {
	r := redact.New(nil)
	for _, text := range []string{
		"class sk-loading-indicator-component-name", "task-sk-abcdefgh12345678", "risk-assessment-2024-abcdefgh",
		"AKIAIOSFODNN7EXAMPLEX", "ssh://git@host/repo", "http://host:8080/path@x", "https://host/a:b@c", "eyJhbGciOiJI alone",
		"-----BEGIN CERTIFICATE-----\nMIIabc\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----",
		"ghp_short", "xoxb-1", "a://:@b", "func() { return x[1:2] } // https://go.dev", "", "-----", "://",
	} {
		if got, n := r.String(text); got != text || n != 0 {
			t.Errorf("%q became %q", text, got)
		}
	}
}
