package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"
)

// secretLength is from how many bytes on a key is looked for. Shorter ones ("none", "ollama") are placeholders for
// local servers, and words that would be cut out of honest messages.
const secretLength = 8

// concealed stands where the key was.
const concealed = "[key]"

// conceal makes a replacer that takes the key, in the encodings that error texts use, out of a text.
func conceal(key string) *strings.Replacer {
	if len(key) < secretLength {
		return strings.NewReplacer()
	}
	quoted, _ := json.Marshal(key) // a string always marshals
	raw := []byte(key)
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var pairs []string
	for _, form := range []string{
		key,
		strings.TrimSuffix(strings.TrimPrefix(string(quoted), `"`), `"`),
		escape.Replace(key),
		url.QueryEscape(key),
		url.PathEscape(key),
		base64.StdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw),
		base64.RawStdEncoding.EncodeToString(raw),
		base64.RawURLEncoding.EncodeToString(raw),
	} {
		pairs = append(pairs, form, concealed)
	}
	return strings.NewReplacer(pairs...)
}

// messageLength is how many bytes of an endpoint's error text are kept.
const messageLength = 2 << 10

// clean makes outside text fit for an error: without the key, valid UTF-8, not longer than messageLength.
// The key goes first, so that no cut leaves part of it.
func clean(secret *strings.Replacer, text string) string {
	text = strings.ToValidUTF8(secret.Replace(text), "\uFFFD")
	text = strings.TrimSpace(text)
	if len(text) <= messageLength {
		return text
	}
	end := messageLength
	for !utf8.RuneStart(text[end]) {
		end--
	}
	// A word that would be cut goes whole: half of a secret of another kind would not be known for what it is.
	if space := strings.LastIndexAny(text[:end], " \t\r\n"); space > messageLength/2 {
		end = space
	}
	return text[:end] + "…"
}
