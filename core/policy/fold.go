package policy

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold maps the spellings that a case-blind file system takes for one name to one text: NFC, each letter replaced by the
// least one of its case orbit, and without the characters that HFS+ ignores in names (the list is Git's, which had to
// close `.g<U+200C>it`).
func fold(s string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if ignorable(r) {
			return -1
		}
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		return least
	}, norm.NFC.String(s)))
}

func ignorable(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// foldsCase finds out, without writing, whether the file system under root takes names that differ in case for the same:
// it looks a name that exists up in the other case.
func foldsCase(root string) bool {
	if dir, err := os.Open(root); err == nil {
		names, _ := dir.Readdirnames(64)
		dir.Close()
		for _, name := range names {
			if other := otherCase(name); other != name {
				return sameFile(filepath.Join(root, name), filepath.Join(root, other))
			}
		}
	}
	for at := root; at != filepath.Dir(at); at = filepath.Dir(at) {
		if other := otherCase(filepath.Base(at)); other != filepath.Base(at) {
			return sameFile(at, filepath.Join(filepath.Dir(at), other))
		}
	}
	return false
}

func sameFile(a, b string) bool {
	first, err := os.Lstat(a)
	if err != nil {
		return false
	}
	second, err := os.Lstat(b)
	return err == nil && os.SameFile(first, second)
}

// otherCase swaps the case of ASCII letters.
func otherCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, s)
}
