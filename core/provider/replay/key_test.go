package replay

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core/provider"
)

func TestKeysAreEqualWhenRequestsAre(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "b", "ab", "\xff", "\uFFFD"})
	rapid.Check(t, func(t *rapid.T) {
		var th thread
		seen := map[key]string{}
		for range 10 {
			var req provider.Request
			req.Model, req.System = word.Draw(t, "model"), word.Draw(t, "system")
			req.MaxOutput = rapid.IntRange(0, 1).Draw(t, "max")
			for range rapid.IntRange(0, 4).Draw(t, "messages") {
				role := rapid.SampledFrom([]provider.Role{provider.RoleUser, provider.RoleTool}).Draw(t, "role")
				req.Messages = append(req.Messages, provider.Say(role, word.Draw(t, "text")))
			}
			for range rapid.IntRange(0, 2).Draw(t, "tools") {
				req.Tools = append(req.Tools, provider.ToolSpec{Name: word.Draw(t, "name")})
			}
			k, canonical := th.key(req), string(req.Canonical())
			var fresh thread
			if k != fresh.key(req) {
				t.Fatal("a key depends on what was asked before")
			}
			if known, ok := seen[k]; ok && known != canonical {
				t.Fatalf("one key for %s and %s", known, canonical)
			}
			seen[k] = canonical
			for other, text := range seen {
				if text == canonical && other != k {
					t.Fatalf("two keys for %s", canonical)
				}
			}
		}
	})
}

func TestAThreadIsNotFooledByAReusedSlice(t *testing.T) {
	var th thread
	req := provider.Request{
		Messages: []provider.Message{provider.Say("user", "a")},
		Tools:    []provider.ToolSpec{{Name: "t", Schema: []byte(`{}`)}},
	}
	first := th.key(req)
	req.Messages[0].Parts[0].Text = "b"
	second := th.key(req)
	req.Tools[0].Schema[0] = '['
	req.Tools[0].Schema[1] = ']'
	third := th.key(req)
	if first == second || second == third {
		t.Error(fmt.Sprint("keys repeat: ", first == second, second == third))
	}
}

func TestNoMessagesAndNoToolsAreEmptyLists(t *testing.T) {
	var none, empty thread
	if none.key(provider.Request{}) != empty.key(provider.Request{Messages: []provider.Message{}, Tools: []provider.ToolSpec{}}) {
		t.Error("two keys")
	}
}
