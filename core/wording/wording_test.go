package wording_test

import (
	"testing"

	"tillerman/core/wording"
)

var tags = []string{
	wording.Refused, wording.Denied, wording.Cancelled, wording.Interrupted, wording.Killed, wording.FileChanged,
	wording.ChangedByOperator, wording.NotRun, wording.OutcomeUnknown, wording.CheckFailed, wording.Operator,
	wording.NoProgress,
}

func TestTagsAreReadBackAndNeverTakenForEachOther(t *testing.T) {
	for _, tag := range tags {
		for _, text := range []string{"", "no", "two\nlines", "[operator] a tag inside"} {
			tagged := wording.Tag(tag, text)
			for _, other := range tags {
				rest, ok := wording.Cut(tagged, other)
				if ok != (tag == other) {
					t.Fatalf("Cut(%q, %q) says %v", tagged, other, ok)
				}
				if ok && rest != text || !ok && rest != tagged {
					t.Errorf("Cut(%q, %q) leaves %q", tagged, other, rest)
				}
			}
		}
	}
}

func TestATagInsideATextIsNotATag(t *testing.T) {
	for _, text := range []string{"output [cancelled]", " [cancelled]", "[cancelled]x", "", "[cancel"} {
		if rest, ok := wording.Cut(text, wording.Cancelled); ok || rest != text {
			t.Errorf("Cut(%q) = %q, %v", text, rest, ok)
		}
	}
}
