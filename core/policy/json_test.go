package policy

import (
	"encoding/json"
	"testing"
)

func TestCanonicalForm(t *testing.T) {
	p, err := Parse([]byte(example), "x")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"defaults":{"read":"allow","write":"deny","exec":"ask","net":"deny"},"layers":[` +
		`{"name":"team","rules":[{"act":"exec","effect":"allow","match":["go","test","*"],"repeat":"safe"},` +
		`{"act":"exec","effect":"deny","match":["rm","-rf","*"]},` +
		`{"act":"write","effect":"ask","match":["*.md","docs/**"]}]},` +
		`{"name":"net","rules":[{"act":"net","effect":"allow","match":["example.com"]}]}]}`
	got, err := json.Marshal(p)
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	var back Policy
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if back.Digest() != p.Digest() || len(p.Digest()) != 64 {
		t.Errorf("digests %q and %q", back.Digest(), p.Digest())
	}
	again := p.normal()
	again.Layers[0].Rules[1].Match = []string{"rm -rf *"}
	again.Defaults.Net = ""
	if again.Digest() != p.Digest() {
		t.Error("two spellings of one policy have two digests")
	}
	again.Layers[0].Rules[1].Effect = Ask
	if again.Digest() == p.Digest() {
		t.Error("two policies have one digest")
	}
	if Permissive().Digest() == (&Policy{Defaults: Permissive().Defaults}).Digest() {
		t.Error("the built-in layer makes no difference")
	}
	empty, _ := Starter("standard")
	if got, _ := json.Marshal(empty); string(got) != `{"defaults":{"read":"allow","write":"ask","exec":"ask","net":"deny"},"layers":[]}` {
		t.Errorf("%s", got)
	}
}

func TestStoredPolicyIsReadStrictly(t *testing.T) {
	var p Policy
	if err := json.Unmarshal([]byte(`{"defaults":{"read":"allow"},"layers":null}`), &p); err != nil || p.Defaults != standard {
		t.Errorf("%+v, %v", p, err)
	}
	var contract Policy
	if err := json.Unmarshal([]byte(`{"layers":[{"name":"contract","rules":[]}]}`), &contract); err != nil {
		t.Errorf("the engine's own layer is stored as well: %v", err)
	}
	for _, text := range []string{
		`{"defaults":{"fly":"allow"}}`,
		`{"defaults":{"read":"maybe"}}`,
		`{"what":1}`,
		`{} {}`,
		`[]`,
		`{"layers":[{"name":""}]}`,
		`{"layers":[{"name":"builtin"}]}`,
		`{"layers":[{"name":"a"},{"name":"a"}]}`,
		`{"layers":[{"name":"a","rules":[{"act":"exec","effect":"deny","match":[]}]}]}`,
		`{"layers":[{"name":"a","rules":[{"act":"read","effect":"deny","match":["a["]}]}]}`,
		`{"layers":[{"name":"a","rules":[{"act":"read","effect":"no","match":["a"]}]}]}`,
		`{"layers":[{"name":"a","rules":[{"act":"read","effect":"ask","match":["a"],"repeat":"safe"}]}]}`,
	} {
		kept := Policy{Defaults: standard}
		if err := json.Unmarshal([]byte(text), &kept); err == nil {
			t.Errorf("%s was read as %+v", text, kept)
		} else if kept.Defaults != standard || kept.Layers != nil {
			t.Errorf("%s: an error changed the receiver", text)
		}
	}
	bad := Policy{Layers: []Layer{{Name: "a", Rules: []Rule{{Act: Exec, Effect: Allow, Match: []string{"a\xff"}}}}}}
	if _, err := json.Marshal(bad); err == nil || bad.Digest() != "" {
		t.Error("a rule that cannot be stored as it is was stored")
	}
}
