package keys

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the documentation anew")

const guide = "../../docs/keys.md"

const intro = "# Keys\n\nEvery key of the console. `[keys]` in the configuration binds an action to other keys; two actions on one key are an error.\nEnter, space and Esc never decide a question.\n"

func TestDocumentationListsEveryKey(t *testing.T) {
	want := intro + Default().Markdown()
	if *update {
		if err := os.WriteFile(guide, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(guide)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the key map says (%v): go test ./tui/keys -update", guide, err)
	}
}

func TestDefaultsHaveNoConflictAndNoForbiddenKey(t *testing.T) {
	m := Default()
	if err := m.check(); err != nil {
		t.Error(err)
	}
	for _, b := range m.bindings {
		if b.Help == "" || len(b.Keys) == 0 {
			t.Errorf("%s has no help or no key", b.Action)
		}
		for _, k := range b.Keys {
			if slices.Contains(forbidden, k) {
				t.Errorf("%s is on %s, which terminals keep", b.Action, k)
			}
		}
		if b.decides() && slices.ContainsFunc(b.Keys, func(k string) bool { return k == "enter" || k == "space" || k == "esc" }) {
			t.Errorf("%s would be decided by enter, space or esc", b.Action)
		}
	}
}

func TestRebind(t *testing.T) {
	m, err := Default().Rebind(map[string][]string{"cancel": {"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := m.Find("x", OnLive); !ok || b.Action != Cancel {
		t.Errorf("x is %v", b.Action)
	}
	if b, _ := m.Find("c", OnLive); b.Action == Cancel {
		t.Error("c still cancels")
	}
	for name, change := range map[string]map[string][]string{
		"cancel": {"cancel": {"s"}}, "no action": {"dance": {"x"}},
	} {
		if _, err := Default().Rebind(change); err == nil || name == "cancel" && !(strings.Contains(err.Error(), "cancel") && strings.Contains(err.Error(), "summary")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
