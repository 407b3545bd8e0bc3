package policy

import (
	"errors"
	"strings"
	"testing"
)

func TestNarrow(t *testing.T) {
	parent := policyOf(t, "default net ask\nallow exec go test *\nlayer x")
	child := policyOf(t, "default exec deny\ndefault net allow\nallow write *\ndeny exec go test -exec *\nask read private\nlayer grants\nallow net *")
	child.Layers[0].Rules[1].Repeat = Safe
	n := Narrow(parent, child)
	if n.Defaults != (Defaults{Read: Allow, Write: Ask, Exec: Deny, Net: Ask}) {
		t.Errorf("defaults %+v", n.Defaults)
	}
	var names []string
	for _, l := range n.Layers {
		names = append(names, l.Name)
		for _, r := range l.Rules {
			if l.Name == "team 2" && (r.Effect == Allow || r.Repeat != "") {
				t.Errorf("%s kept %+v", l.Name, r)
			}
		}
	}
	if strings.Join(names, ",") != "team,x,team 2" {
		t.Errorf("layers %v", names)
	}
	if _, err := New(n, t.TempDir()); err != nil {
		t.Error(err)
	}
	if len(parent.Layers) != 2 || len(child.Layers[0].Rules) != 3 || child.Layers[0].Rules[1].Repeat == "" {
		t.Error("Narrow changed its arguments")
	}
	standardPolicy, _ := Starter("standard")
	if Narrow(Permissive(), standardPolicy).Bare || Narrow(standardPolicy, Permissive()).Bare {
		t.Error("narrowing lost the built-in layer")
	}
	if got := Narrow(standardPolicy, Permissive()); got.Defaults != standard {
		t.Errorf("a looser child loosened: %+v", got)
	}
}

func TestNonNarrowing(t *testing.T) {
	for _, rules := range []string{"", "deny exec rm *\nask read x", "default exec deny\ndefault read ask"} {
		if err := NonNarrowing(policyOf(t, rules)); err != nil {
			t.Errorf("%q: %v", rules, err)
		}
	}
	p, err := Parse([]byte(ruleText(`act = "exec"`, `effect = "allow"`, `match = ["go", "*"]`)), "x")
	if err != nil {
		t.Fatal(err)
	}
	var wide *WideningError
	if err := NonNarrowing(p); !errors.As(err, &wide) || wide.Line != 3 || wide.Layer != "x" || wide.Rule != "go *" ||
		!strings.Contains(err.Error(), "line 3") || !strings.Contains(err.Error(), `"go *"`) {
		t.Errorf("%v", err)
	}
	for _, rules := range []string{"default exec allow", "default net ask", "default write allow"} {
		if err := NonNarrowing(policyOf(t, rules)); !errors.As(err, &wide) || wide.Rule != "" {
			t.Errorf("%q: %v", rules, err)
		}
	}
	repeat := policyOf(t, "ask exec make *")
	repeat.Layers[0].Rules[0].Repeat = Safe
	if err := NonNarrowing(repeat); err == nil {
		t.Error("a workspace may not say that commands run again")
	}
	if err := NonNarrowing(Permissive()); err == nil {
		t.Error("a workspace may not drop the built-in layer")
	}
}
