package redact_test

import (
	"slices"
	"testing"

	"tillerman/core/redact"
)

func TestFromEnvironPicksByName(t *testing.T) {
	got := redact.FromEnviron([]string{
		"OPENAI_API_KEY=sk-aaaaaaaa", "gh_token=0123456789", "Db_Password=p=a=s=s=word", "X_SECRET=12345678",
		"SHORT_KEY=1234567", "KEYBOARD=qwertyuiop", "PATH=/usr/bin:/bin", "BROKEN_KEY", "=C:_KEY=xxxxxxxxx",
	})
	want := []redact.Secret{
		{Name: "OPENAI_API_KEY", Value: "sk-aaaaaaaa"},
		{Name: "gh_token", Value: "0123456789"},
		{Name: "Db_Password", Value: "p=a=s=s=word"},
		{Name: "X_SECRET", Value: "12345678"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFromURL(t *testing.T) {
	for _, tc := range []struct {
		name, url string
		want      []string
	}{
		{"user and password", "https://longusername:hunter2hunter2@example.com/v1", []string{"longusername", "hunter2hunter2"}},
		{"key as user", "https://CANARY-7f3a@example.com", []string{"CANARY-7f3a"}},
		{"escaped password", "https://u:p%40ss%2Fword1@example.com", []string{"p@ss/word1"}},
		{"key in the query", "https://example.com/?api_key=abcdefgh12&model=abcdefghij", []string{"abcdefgh12"}},
		{"does not parse", "https://u:pass%zzword@example.com/", []string{"pass%zzword"}},
		{"nothing", "https://example.com/path", nil},
		{"short", "https://git:x@example.com", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range redact.FromURL("BASE_URL", tc.url) {
				if s.Name != "BASE_URL" {
					t.Errorf("name %q", s.Name)
				}
				got = append(got, s.Value)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
