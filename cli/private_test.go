package cli

import (
	"context"
	"path/filepath"
	"testing"

	"tillerman/cli/config"
	"tillerman/core/policy"
	"tillerman/db"
)

// No agent reads or writes the audit trail's key and anchors, though a careless owner keeps them in the workspace.
func TestAgentReachesNeitherKeyNorAnchors(t *testing.T) {
	ws := t.TempDir()
	store, err := db.Open(context.Background(), filepath.Join(t.TempDir(), "runs.db"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	a := &app{Host: Host{Getenv: func(string) string { return "" }}}
	a.conf.Audit = config.Audit{KeyFile: filepath.Join(ws, "audit-trail"), Anchor: filepath.Join(ws, "sub", "heads.jsonl")}
	std, _ := policy.Starter("trusting")
	b, err := policy.New(std, ws, policy.Private(a.private(store, t.TempDir())...))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"audit-trail", "sub/heads.jsonl", "./sub/../sub/heads.jsonl", store.Path()} {
		for _, act := range []policy.Act{policy.Read, policy.Write} {
			if v := b.Explain(policy.Action{Act: act, Path: name}); v.Effect != policy.Deny {
				t.Errorf("%s %s: %s", act, name, v.Effect)
			}
		}
	}
	if v := b.Explain(policy.Action{Act: policy.Write, Path: "sub/other.jsonl"}); v.Effect != policy.Allow {
		t.Errorf("another file: %s", v.Effect)
	}
}
