package plain

import (
	"fmt"

	"tillerman/db"
)

// BeforeWords is what was decided earlier about the same thing, "" for nothing.
func BeforeWords(b db.Before) string {
	if b.Last == nil {
		return ""
	}
	s := fmt.Sprintf("approved %s, denied %s", times(b.Approved), times(b.Denied))
	switch all := b.Approved + b.Denied; {
	case b.Same == 0:
		s += " (with other content)"
	case b.Same < all:
		s += fmt.Sprintf(" (%d of %d with this content)", b.Same, all)
	}
	s += "; last: " + b.Last.Decision
	if by := b.Last.DecidedBy; by != nil {
		s += " by " + by.String()
	}
	return s + because(b.Last.Reason)
}

// times is how often, in words.
func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// ShortDigest is the start of a digest: what a person copies to bind a decision to what was shown.
func ShortDigest(digest string) string { return digest[:min(12, len(digest))] }

func ruleWords(rule, layer *string) string {
	switch {
	case rule != nil && layer != nil:
		return fmt.Sprintf("rule %q in layer %q", *rule, *layer)
	case layer != nil:
		return fmt.Sprintf("layer %q", *layer)
	case rule != nil:
		return fmt.Sprintf("rule %q", *rule)
	}
	return "by default"
}
