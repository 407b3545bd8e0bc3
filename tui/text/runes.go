package text

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

const (
	zwnj      = '\u200c' // zero width non-joiner
	zwj       = '\u200d' // zero width joiner
	vs15      = '\ufe0e' // variation selector: draw as text
	vs16      = '\ufe0f' // variation selector: draw as emoji
	keycap    = '\u20e3' // combining enclosing keycap
	blackFlag = '\U0001f3f4'
)

// graphic reports whether r draws something by itself or is a mark that changes
// what it stands on. Letters, marks, numbers, punctuation, symbols and spaces
// do; controls, format characters, surrogates, private use and everything
// unassigned do not. Of a private or unassigned code point nobody knows the
// width.
func graphic(r rune) bool {
	return strconv.IsGraphic(r) && !ignorable(r)
}

// solitary reports whether r is one of the many letters that are drawn in a cell
// or two of their own and that nothing but a mark can join. It is a short cut: a
// false says nothing.
func solitary(r rune) bool {
	switch {
	case r < 0x034f: // Latin
		return r > 0xbf && r < 0x0300
	case r < 0x3000: // Greek, Cyrillic, box drawing
		return r >= 0x0391 && r <= 0x03a1 || r >= 0x03b1 && r <= 0x03ff || r >= 0x0400 && r <= 0x0482 || r >= 0x2500 && r <= 0x257f
	}
	// Kana, ideographs, Hangul syllables.
	return r >= 0x3041 && r <= 0x3094 || r >= 0x30a1 && r <= 0x30fa || r >= 0x3400 && r <= 0x4dbf ||
		r >= 0x4e00 && r <= 0x9ffc || r >= 0xac00 && r <= 0xd7a3
}

// ignorable reports whether r is one of the letters, marks and symbols that
// draw nothing at all. All but the last are Default_Ignorable_Code_Point in
// Unicode's DerivedCoreProperties; the other default ignorables are format
// characters or unassigned and not graphic to begin with.
func ignorable(r rune) bool {
	switch {
	case r < 0x034f:
		return false
	case r == 0x034f, // combining grapheme joiner
		r == 0x115f, r == 0x1160, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer inherent vowels
		r >= 0x180b && r <= 0x180f, // Mongolian selectors
		r == 0x3164, r == 0xffa0,   // Hangul fillers
		r >= 0xfe00 && r <= 0xfe0f,   // variation selectors
		r >= 0xe0000 && r <= 0xe0fff, // tags, more variation selectors
		r == 0x1d159:                 // musical null notehead
		return true
	}
	return false
}

// blank reports whether r draws the same as nothing or as an ASCII space, and
// is neither that space nor the wide space of East Asian text.
func blank(r rune) bool {
	switch r {
	case ' ', '\u3000':
		return false
	case '\u2800': // a Braille cell without dots
		return true
	}
	return r >= 0xa0 && unicode.Is(unicode.Zs, r)
}

func isMark(r rune) bool { return r >= 0x0300 && unicode.Is(unicode.M, r) }

func isModifier(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// isJamoTail reports whether r is a vowel or a final consonant of conjoining
// Hangul, which terminals draw into the cell of the consonant before it.
func isJamoTail(r rune) bool {
	return r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff
}

// prepends holds the letters that join whatever follows them into their own
// cluster (Grapheme_Cluster_Break=Prepend). A border after one would vanish.
var prepends = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x0d4e, Hi: 0x0d4e, Stride: 1}},
	R32: []unicode.Range32{
		{Lo: 0x111c2, Hi: 0x111c3, Stride: 1},
		{Lo: 0x113d1, Hi: 0x113d1, Stride: 1},
		{Lo: 0x1193f, Hi: 0x11941, Stride: 2},
		{Lo: 0x11a84, Hi: 0x11a89, Stride: 1},
		{Lo: 0x11d46, Hi: 0x11d46, Stride: 1},
		{Lo: 0x11f02, Hi: 0x11f02, Stride: 1},
	},
}

func isPrepend(r rune) bool { return r >= 0x0d4e && unicode.Is(prepends, r) }

// joining holds the scripts in which a joiner between two letters chooses the
// form of the letters and so belongs to the spelling.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
}

// joinsBack reports whether r, at the start of a text, would be drawn into the
// cell before it, whatever stands there. Only marks and a few letters and
// symbols can; of those the segmenter that the renderer uses is asked.
func joinsBack(r rune) bool {
	if r < 0x0300 {
		return false
	}
	if !isMark(r) && !isModifier(r) && r != zwj && r != zwnj &&
		r != 0x0e33 && r != 0x0eb3 && r != 0xff9e && r != 0xff9f {
		return false
	}
	return len(graphemes.FromString("x"+string(r)).First()) > 1
}

// pictographic reports whether r is Extended_Pictographic, the property of the
// code points that emoji are made of. Only two of those are held together by a
// zero width joiner, which the segmenter is asked instead of keeping a table.
func pictographic(r rune) bool {
	if r < 0xa9 || !strconv.IsGraphic(r) || isMark(r) {
		return false
	}
	s := string(r) + string(zwj) + "\u00a9"
	return len(graphemes.FromString(s).First()) == len(s)
}

// clusterWindow bounds how far the segmenter looks, so that a cluster of a
// million marks costs no more than one of fifty. It holds more code points
// than a cluster may keep.
const clusterWindow = 4 * (maxRunes + 4)

// clusterLen gives the length in bytes of the grapheme cluster that s starts
// with, or of a part of it that is longer than what is kept of a cluster.
func clusterLen(s string) int {
	if len(s) > clusterWindow {
		end := clusterWindow
		for end > clusterWindow-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	return len(graphemes.FromString(s).First())
}
