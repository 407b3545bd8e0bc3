package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func look(t testing.TB, root string) *Listing {
	t.Helper()
	l, err := Snapshot(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestListingSeesChanges(t *testing.T) {
	later := time.Now().Add(time.Hour)
	touch := func(t *testing.T, root, name string) {
		if err := os.Chtimes(filepath.Join(root, name), later, later); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		turn func(t *testing.T, root string)
		want []FileChange
	}{
		"nothing":        {func(*testing.T, string) {}, nil},
		"a new file":     {func(t *testing.T, r string) { write(t, r, "new", "") }, []FileChange{{"new", Added}}},
		"a file gone":    {func(t *testing.T, r string) { remove(t, r, "a") }, []FileChange{{"a", Removed}}},
		"another size":   {func(t *testing.T, r string) { write(t, r, "a", "longer") }, []FileChange{{"a", Modified}}},
		"another time":   {func(t *testing.T, r string) { touch(t, r, "d/b") }, []FileChange{{"d/b", Modified}}},
		"another mode":   {func(t *testing.T, r string) { _ = os.Chmod(r+"/a", 0o755) }, []FileChange{{"a", Modified}}},
		"a directory":    {func(t *testing.T, r string) { mkdir(t, r, "void") }, []FileChange{{"void/", Added}}},
		"a full one":     {func(t *testing.T, r string) { mkdir(t, r, "n"); write(t, r, "n/x", "") }, []FileChange{{"n/x", Added}}},
		"a tree gone":    {func(t *testing.T, r string) { remove(t, r, "d") }, []FileChange{{"d/b", Removed}}},
		"a file to dir":  {func(t *testing.T, r string) { remove(t, r, "a"); mkdir(t, r, "a") }, []FileChange{{"a", Removed}, {"a/", Added}}},
		"a file to link": {func(t *testing.T, r string) { rename(t, r, "a", "d/a"); link(t, r, "d/a", "a") }, []FileChange{{"a", Modified}, {"d/a", Added}}},
		"moved":          {func(t *testing.T, r string) { rename(t, r, "a", "z") }, []FileChange{{"a", Removed}, {"z", Added}}},
		"ignored":        {func(t *testing.T, r string) { write(t, r, "d/x.log", ""); write(t, r, "out/y", "") }, nil},
		"in .git":        {func(t *testing.T, r string) { write(t, r, ".git/index", "") }, nil},
		"a temp file":    {func(t *testing.T, r string) { write(t, r, ".tillerman-0123456789abcdef-3.tmp", "") }, nil},
		"an odd name":    {func(t *testing.T, r string) { write(t, r, "bad\xff", "") }, []FileChange{{"bad\xff", Added}}},
	} {
		t.Run(name, func(t *testing.T) {
			root := workspace(t, map[string]string{"a": "a", "d/b": "b", ".gitignore": "*.log\n/out/\n", "out/x": "", ".git/HEAD": ""})
			before := look(t, root)
			c.turn(t, root)
			// The earlier one comes back from the store.
			stored, err := json.Marshal(before)
			if err != nil {
				t.Fatal(err)
			}
			var restored Listing
			if err := json.Unmarshal(stored, &restored); err != nil {
				t.Fatal(err)
			}
			changed, files := restored.Changed(look(t, root))
			if changed != (len(c.want) > 0) || !reflect.DeepEqual(files, c.want) {
				t.Errorf("got %v, %v; want %v\n%s", changed, files, c.want, stored)
			}
		})
	}
}

func TestListingOverflow(t *testing.T) {
	root := workspace(t, nil)
	for i := range 10 {
		write(t, root, fmt.Sprint(i), "")
	}
	full, err := snapshot(context.Background(), root, 10)
	if err != nil || full.Overflow || full.Len() != 10 {
		t.Fatalf("exactly as many as fit: %+v, %v", full, err)
	}
	over, err := snapshot(context.Background(), root, 9)
	if err != nil || !over.Overflow || over.Len() != 0 {
		t.Fatalf("one more than fits: %+v, %v", over, err)
	}
	for _, pair := range [][2]*Listing{{full, over}, {over, full}, {over, over}} {
		if changed, files := pair[0].Changed(pair[1]); !changed || files != nil {
			t.Errorf("got %v, %v", changed, files)
		}
	}
	stored, err := json.Marshal(over)
	var back Listing
	if err != nil || json.Unmarshal(stored, &back) != nil || !back.Overflow {
		t.Errorf("stored as %s", stored)
	}
	deep := workspace(t, map[string]string{strings.Repeat("d/", maxDepth+2): ""})
	if l := look(t, deep); !l.Overflow {
		t.Error("a tree deeper than the walk counts as known")
	}
}

func TestListingErrors(t *testing.T) {
	root := workspace(t, map[string]string{"a": ""})
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := Snapshot(ctx, root); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
	if _, err := Snapshot(context.Background(), root+"/none"); err == nil || strings.Contains(err.Error(), root) {
		t.Errorf("a missing root: %v", err)
	}
}

func TestListingIsSmallJSON(t *testing.T) {
	l := &Listing{entries: []listed{
		{path: "a.go", kind: 'f', mode: 0o644, size: 12, mtime: 99},
		{path: "core", kind: 'd', mode: 0o755},
		{path: "core/b\xff.go", kind: 'f', mode: 0o600, size: 1, mtime: 5},
	}}
	got, err := json.Marshal(l)
	want := `{"dirs":[{"e":[["a.go","f",420,12,99],["core","d",493]]},{"d":"core","e":[["\"b\\xff.go\"","f",384,1,5]]}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestListingSurvivesTheStore(t *testing.T) {
	name := rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.SampledFrom([]byte("ab \"\\\n\xff\x1b[.-")), 1, 5).Draw(t, "name"))
	}).Filter(func(s string) bool { return s != "." && s != ".." })
	rapid.Check(t, func(t *rapid.T) {
		l, seen := &Listing{}, map[string]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "entries") {
			e := listed{
				path: strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "path"), "/"),
				kind: rapid.SampledFrom([]byte("fdlo")).Draw(t, "kind"),
				mode: rapid.Uint32Range(0, 0o777).Draw(t, "mode"),
			}
			if e.kind != 'd' {
				e.size, e.mtime = rapid.Int64Min(0).Draw(t, "size"), rapid.Int64().Draw(t, "mtime")
			}
			if !seen[e.path] {
				l.entries = append(l.entries, e)
			}
			seen[e.path] = true
		}
		slices.SortFunc(l.entries, func(a, b listed) int { return strings.Compare(a.key(), b.key()) })
		stored, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back Listing
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatal(err)
		}
		if changed, files := back.Changed(l); changed {
			t.Fatalf("%v changed in the store: %s", files, stored)
		}
	})
}

// Whatever changes, the two lists agree on it: what one order calls added the other calls removed.
func TestChangesMirror(t *testing.T) {
	some := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "a/b", "a-b", "a/b/c", "b", "a.c"}), 0, 6, rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) *Listing {
			l := &Listing{}
			for _, p := range some.Draw(t, label) {
				l.entries = append(l.entries, listed{path: p, kind: 'f', size: rapid.Int64Range(0, 1).Draw(t, "size")})
			}
			slices.SortFunc(l.entries, func(a, b listed) int { return strings.Compare(a.key(), b.key()) })
			return l
		}
		one, other := draw("one"), draw("other")
		there, files := one.Changed(other)
		back, mirrored := other.Changed(one)
		for i := range mirrored {
			mirrored[i].Kind = map[ChangeKind]ChangeKind{Added: Removed, Removed: Added, Modified: Modified}[mirrored[i].Kind]
		}
		if there != back || !reflect.DeepEqual(files, mirrored) {
			t.Fatalf("%v and %v", files, mirrored)
		}
	})
}

func FuzzListingJSON(f *testing.F) {
	f.Add([]byte(`{"dirs":[{"d":"a","e":[["b","f",420,1,2],["c","d",493]]}]}`))
	f.Add([]byte(`{"overflow":true}`))
	f.Add([]byte(`{"dirs":[{"e":[["..","f",1,1,1]]}]}`))
	f.Add([]byte(`{"dirs":[{"e":[["a","x",1]]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var l Listing
		if json.Unmarshal(text, &l) != nil {
			return
		}
		again, err := json.Marshal(&l)
		if err != nil {
			t.Fatal(err)
		}
		var back Listing
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
	})
}
