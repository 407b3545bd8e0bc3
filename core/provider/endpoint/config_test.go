package endpoint_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewRefuses(t *testing.T) {
	const canary = "CANARY-7f3a"
	for base, want := range map[string]string{
		"":                             "is missing",
		"  ":                           "is missing",
		canary:                         "must begin with http:// or https://",
		"ftp://" + canary + ".example": "must begin with",
		"//api.example/" + canary:      "must begin with",
		"http:" + canary:               "names no host",
		"https:///" + canary:           "names no host",
		"https://:443/" + canary:       "names no host",
		"https://user:" + canary + "@api.example": "user name or password",
		"https://" + canary + "@api.example":      "user name or password",
		"https://@api.example/" + canary:          "user name or password",
		"https://api.example?key=" + canary:       "query or a fragment",
		"https://api.example/?":                   "query or a fragment",
		"https://api.example/#" + canary:          "query or a fragment",
		"https://api.example/#":                   "query or a fragment",
		"https://api.example:/" + canary:          "port that does not exist",
		"https://api.example:0/" + canary:         "port that does not exist",
		"https://api.example:65536/" + canary:     "port that does not exist",
		"https://api.example:" + canary:           "cannot be read",
		"https://api example/" + canary:           "cannot be read",
		"https://[::1/" + canary:                  "cannot be read",
		"https://api.example/%zz" + canary:        "cannot be read",
		"https://api.example/\n" + canary:         "cannot be read",
		"https://büsum.example/" + canary:         "xn--",
	} {
		_, err := endpoint.New(endpoint.Config{Name: "own", BaseURL: base})
		var wrong *provider.ConfigError
		if !errors.As(err, &wrong) || wrong.Provider != "own" || wrong.Setting != "base URL" {
			t.Errorf("%q: %v", base, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, canary) || strings.Contains(text, "\n") {
			t.Errorf("%q: %q, want %q in one line without the canary", base, text, want)
		}
	}
	for _, key := range []string{canary + "\n", "CANARY 7f3a\r\nX-Evil: 1", "CANARY-ü", "CANARY-\x00"} {
		_, err := endpoint.New(endpoint.Config{Name: "own", BaseURL: "https://api.example", Key: key})
		var wrong *provider.ConfigError
		if !errors.As(err, &wrong) || wrong.Setting != "key" || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

func TestEndpoints(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.example":           "api.example:443",
		"https://API.Example/v1/":       "api.example:443",
		"http://api.example/v1":         "api.example:80",
		"http://localhost:11434/v1":     "localhost:11434",
		"https://[2001:db8::1]/v1":      "[2001:db8::1]:443",
		"http://[::1]:8080":             "[::1]:8080",
		" http://127.0.0.1:8080/v1 ":    "127.0.0.1:8080",
		"https://xn--bsum-0ra.example/": "xn--bsum-0ra.example:443",
	} {
		e, err := endpoint.New(endpoint.Config{Name: "own", BaseURL: base, Transport: refuse{}})
		if err != nil {
			t.Errorf("%q: %v", base, err)
			continue
		}
		if got := e.Endpoints(); !reflect.DeepEqual(got, []string{want}) {
			t.Errorf("%q: %q, want %q", base, got, want)
		}
		if e.Name() != "own" || e.LastServed() != "" || e.AcceptsImages() {
			t.Errorf("%q: %q %q", base, e.Name(), e.LastServed())
		}
	}
}
