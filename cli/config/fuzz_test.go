package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tillerman/core/policy"
)

var seeds = []string{
	"provider = \"anthropic\"\nmodel = \"m\"\n[limits]\nsteps = 4\ntime = \"90m\"\n[prices.m]\ninput = 1.5\n[keys]\nquit = [\"q\"]\n",
	"[limits]\ntokens = -1\n", "[audit]\nkey_file = \"x\"\n", "a = 1\n", "\x00\xff", "model = 'a\x1b[2J'\n", "[limits]\ntime = \"-5h\"\n", "prices = 3",
	"[defaults]\nexec = \"deny\"\n[[layer]]\nname = \"w\"\n[[layer.rule]]\nact = \"read\"\neffect = \"deny\"\nmatch = \"x\"\n[limits]\nsteps = 3\n",
	"[[layer]]\nname = \"w\"\n[[layer.rule]]\nact = \"exec\"\neffect = \"allow\"\nmatch = \"*\"\n", "[defaults]\nnet = \"allow\"\n", "limits.steps = 1e9\n",
}

// FuzzUserFile: whatever stands in a user's settings is read or refused with the file's name, and limits make sense.
func FuzzUserFile(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "config.toml")
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path, true)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Fatalf("the file is not named: %v", err)
			}
			return
		}
		if d, err := c.Limits.Duration(); err != nil || d < 0 || c.Limits.Steps < 0 || c.Limits.Tokens < 0 {
			t.Fatalf("%+v: %v", c.Limits, err)
		}
	})
}

// FuzzWorkspaceFile: whatever stands in a workspace's settings only narrows, or is refused with the file's name.
func FuzzWorkspaceFile(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	root := f.TempDir()
	parents := []*policy.Policy{}
	for _, name := range policy.Starters() {
		p, _ := policy.Starter(name)
		parents = append(parents, p)
	}
	actions := []policy.Action{
		{Act: policy.Read, Path: "x"},
		{Act: policy.Read, Path: ".env"},
		{Act: policy.Write, Path: "x"},
		{Act: policy.Write, Path: ".git/config"},
		{Act: policy.Exec, Argv: []string{"ls"}},
		{Act: policy.Exec, Argv: []string{"sh", "-c", "ls"}},
		{Act: policy.Net, Host: "host.example:443"},
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ws, err := ParseWorkspace("ws.toml", body)
		if err != nil {
			if !strings.Contains(err.Error(), "ws.toml") {
				t.Fatalf("the file is not named: %v", err)
			}
			return
		}
		if d, err := ws.Limits.Duration(); err == nil && d < 0 || ws.Limits.Steps < 0 || ws.Limits.Tokens < 0 {
			t.Fatalf("%+v", ws.Limits)
		}
		for _, parent := range parents {
			before, err := policy.New(parent, root)
			if err != nil {
				t.Fatal(err)
			}
			after, err := policy.New(policy.Narrow(parent, ws.Policy), root)
			if err != nil {
				t.Fatalf("what was read cannot be put in force: %v", err)
			}
			for _, a := range actions {
				if v, w := before.Explain(a), after.Explain(a); strict(w.Effect) < strict(v.Effect) {
					t.Fatalf("%+v: %+v became %+v", a, v, w)
				}
			}
		}
	})
}

func strict(e policy.Effect) int {
	return map[policy.Effect]int{policy.Allow: 0, policy.Ask: 1, policy.Deny: 2}[e]
}
