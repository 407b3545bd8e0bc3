package provider_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core/provider"
)

func part() *rapid.Generator[provider.Part] {
	return rapid.Custom(func(t *rapid.T) provider.Part {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "\xff", "\uFFFD", `\ufffd`, `\\ufffd`, "<&>", "\u2028"}))
		return provider.Part{
			Kind: rapid.SampledFrom([]provider.PartKind{provider.PartText, provider.PartCall, provider.PartResult}).Draw(t, "kind"),
			Text: text.Draw(t, "text"), Arguments: text.Draw(t, "arguments"), Failed: rapid.Bool().Draw(t, "failed"),
		}
	})
}

func message() *rapid.Generator[provider.Message] {
	return rapid.Custom(func(t *rapid.T) provider.Message {
		return provider.Message{
			Role:  rapid.SampledFrom([]provider.Role{provider.RoleUser, provider.RoleTool}).Draw(t, "role"),
			Parts: rapid.SliceOfN(part(), 0, 2).Draw(t, "parts"),
		}
	})
}

func TestCanonicalSurvivesBeingReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message().Draw(t, "message")
		var again provider.Message
		if err := json.Unmarshal(m.Canonical(), &again); err != nil {
			t.Fatalf("canonical form is no JSON: %v", err)
		}
		if got, want := string(again.Canonical()), string(m.Canonical()); got != want {
			t.Fatalf("read back: %s, was %s", got, want)
		}
	})
}

func TestTheReplacementCharacterIsNotItsEscapeSpelledOut(t *testing.T) {
	spelled, character := provider.Say("user", `\ufffd`), provider.Say("user", "\uFFFD")
	if spelled.Digest() == character.Digest() {
		t.Error("a spelled-out escape and the character have one digest")
	}
	if invalid := provider.Say("user", "\xff"); invalid.Digest() != character.Digest() {
		t.Error("an invalid byte and the character that stands for it have two digests")
	}
}

func TestEqualMessagesHaveEqualCanonicalForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := message().Draw(t, "a"), message().Draw(t, "b")
		if a.Equal(b) && string(a.Canonical()) != string(b.Canonical()) {
			t.Fatalf("equal, but %s and %s", a.Canonical(), b.Canonical())
		}
		if !a.Equal(a.Clone()) {
			t.Fatal("a clone differs")
		}
	})
	if (provider.Message{}).Equal(provider.Message{Parts: []provider.Part{}}) {
		t.Error("no parts and an empty list of parts are written differently, so they are not equal")
	}
}

func TestCommonCountsFromTheStart(t *testing.T) {
	a, b, c := provider.Say("user", "a"), provider.Say("user", "b"), provider.Say("user", "c")
	for _, test := range []struct {
		left, right []provider.Message
		want        int
	}{
		{nil, nil, 0},
		{[]provider.Message{a}, nil, 0},
		{[]provider.Message{a, b}, []provider.Message{a, b, c}, 2},
		{[]provider.Message{a, b, c}, []provider.Message{a, c, c}, 1},
		{[]provider.Message{a}, []provider.Message{b}, 0},
	} {
		if got := provider.Common(test.left, test.right); got != test.want {
			t.Errorf("Common(%v, %v) = %d, want %d", test.left, test.right, got, test.want)
		}
	}
}

func TestACloneSharesNothing(t *testing.T) {
	m := provider.Say("user", "a")
	clone := m.Clone()
	m.Parts[0].Text = "b"
	if clone.Text() != "a" {
		t.Error("the clone followed the original")
	}
}

func TestEveryKindIsValidAndNothingElse(t *testing.T) {
	for _, k := range []provider.Kind{
		provider.Transport, provider.Timeout, provider.RateLimited, provider.Overloaded, provider.Server,
		provider.Malformed, provider.Auth, provider.BadRequest, provider.ContextLength, provider.ModelRefused,
	} {
		if !k.Valid() {
			t.Errorf("%s is not valid", k)
		}
	}
	if provider.Kind("").Valid() || provider.Kind("other").Valid() {
		t.Error("an unknown kind is valid")
	}
}
