package endpoint

import (
	"strings"
	"testing"
)

// The key is taken out before a long message is cut, other secrets after it by those who know them: no word is cut.
func TestLongMessagesAreCutBetweenWords(t *testing.T) {
	text := strings.Repeat("word ", 600)
	got := clean(conceal("the-key-of-this-endpoint"), text[:messageLength-3]+"anothersecret of somebody")
	if strings.Contains(got, "anoth") || len(got) < messageLength-20 {
		t.Errorf("%d bytes, ending %q", len(got), got[len(got)-30:])
	}
	if got := clean(conceal(""), strings.Repeat("x", 3000)); len(got) != messageLength+len("…") {
		t.Errorf("a word without end: %d bytes", len(got))
	}
}
