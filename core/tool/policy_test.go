package tool

import (
	"context"
	"strings"
	"testing"

	"tillerman/core/policy"
)

// guarded is an environment under the program's own default policy.
func guarded(t *testing.T, root string) Env {
	t.Helper()
	p, ok := policy.Starter("standard")
	if !ok {
		t.Fatal("there is no standard policy")
	}
	boundary, err := policy.New(p, root)
	if err != nil {
		t.Fatal(err)
	}
	return Env{Root: root, May: boundary.Explain}
}

func TestSearchUnderTheStandardPolicy(t *testing.T) {
	root := workspace(t, map[string]string{".env": "x", "sub/.env.local": "x", "sub/tls.key": "x", "main.go": "x", "[odd].go": "x"})
	out := workspace(t, map[string]string{"x": "x"})
	link(t, root, "sub/tls.key", "innocent")
	link(t, root, out, "outbox")
	link(t, root, out+"/x", "outfile")
	env := guarded(t, root)
	wantText(t, call(t, findTool{}, env, map[string]any{"glob": "*"}), "\"[odd].go\"\nmain.go\n[6 files withheld by the policy]")
	wantText(t, call(t, grepTool{}, env, map[string]any{"pattern": "x"}), "\"[odd].go\":1: x\nmain.go:1: x\n[6 files withheld by the policy]")
	wantText(t, call(t, listTool{}, env, nil), "file 1 \"[odd].go\"\nfile 1 main.go\ndir - sub\n[4 entries withheld by the policy]")
}

// Every way out of the workspace is planned without a look at what is there, and the action planned is denied.
func TestWaysOutAreDeniedByThePlannedAction(t *testing.T) {
	root := workspace(t, map[string]string{"a": "x"})
	out := workspace(t, map[string]string{"old.txt": "x"})
	link(t, root, out, "outbox")
	link(t, root, out+"/none", "dangling")
	env := guarded(t, root)
	for _, path := range []string{"outbox/new.txt", "outbox/old.txt", "dangling", "../up", out + "/old.txt", "outbox/../../x"} {
		for _, c := range []struct {
			tool Tool
			args map[string]any
		}{
			{writeTool{}, map[string]any{"path": path, "content": "y"}},
			{editTool{}, map[string]any{"path": path, "old": "x", "new": "y"}},
			{readTool{}, map[string]any{"path": path}},
			{grepTool{}, map[string]any{"path": path, "pattern": "x"}},
			{findTool{}, map[string]any{"path": path, "glob": "*"}},
			{listTool{}, map[string]any{"path": path}},
		} {
			p := plan(t, c.tool, env, c.args)
			if v := env.May(p.Action); v.Effect != policy.Deny || p.Write != nil {
				t.Errorf("%s of %s: %+v is answered %+v", c.tool.Spec().Name, path, p.Action, v)
			}
			r, err := c.tool.Run(context.Background(), env, p)
			if err != nil || !r.Failed || strings.Contains(r.Text, "old.txt:") {
				t.Errorf("%s of %s ran: %+v, %v", c.tool.Spec().Name, path, r, err)
			}
		}
	}
}

func TestRegisteredToolsUnderTheStandardPolicy(t *testing.T) {
	env := guarded(t, workspace(t, nil))
	p := plan(t, echo(nil), env, map[string]any{"a": 1})
	if v := env.May(p.Action); v.Effect != policy.Ask {
		t.Errorf("%+v is answered %+v", p.Action, v)
	}
}
