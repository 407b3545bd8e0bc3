package text

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// isEven reports whether a cluster is as wide in terminals that count clusters as
// in those that count code points.
func isEven(cluster string) bool {
	return ansi.StringWidth(cluster) == ansi.StringWidthWc(cluster)
}

// evenPrefix gives how many bytes at the start of an uneven cluster may stay if
// the code point after them is escaped. Where a letter makes the cluster uneven,
// what ties it to the cluster goes, so that the letter itself can be read.
func evenPrefix(cluster string) int {
	last := 0
	for pos, r := range cluster {
		end := pos + utf8.RuneLen(r)
		if isEven(cluster[:end]) {
			last = pos
			continue
		}
		before, _ := utf8.DecodeRuneInString(cluster[last:])
		if last > 0 && isMark(before) && !isMark(r) && !joinsBack(r) {
			return withoutPrepends(cluster[:last])
		}
		return withoutPrepends(cluster[:pos])
	}
	return len(cluster)
}

// respelled holds letters that join back and take a cell of their own in some
// terminals, and the same sound written with characters that agree.
var respelled = strings.NewReplacer(
	"\u0e33", "\u0e4d\u0e32", // Thai sara am: nikhahit and sara aa
	"\u0eb3", "\u0ecd\u0eb2", // Lao am: niggahita and aa
	"\uff9e", "\u309b", // halfwidth voiced sound mark
	"\uff9f", "\u309c", // halfwidth semi-voiced sound mark
)

// levelled gives a plainer form of an uneven cluster that is as wide in all
// terminals, or nothing if there is none. What it cannot write otherwise it marks
// with an ellipsis.
func levelled(cluster string) string {
	text := ""
	if first, w := utf8.DecodeRuneInString(cluster); first < utf8.RuneSelf || pictographic(first) {
		text = cluster[:w]
	} else if syllable, ok := composed(cluster); ok {
		text = string(syllable)
	} else {
		text = spelled(respelled.Replace(cluster))
	}
	if !isEven(text) || Clean(text) != text {
		return ""
	}
	return text
}

// spelled writes a cluster of a script with joined letters as several clusters:
// letters that were one conjunct come apart, as with a visible virama, and signs
// that are counted differently become one ellipsis a letter.
func spelled(cluster string) string {
	var out strings.Builder
	piece, cut := "", false // the latest letter, and whether an ellipsis follows it
	for _, r := range cluster {
		switch {
		case r == zwj, r == zwnj:
			continue
		case piece != "" && !cut && isEven(piece+string(r)):
			piece += string(r)
			continue
		case !isMark(r):
			out.WriteString(piece)
			if piece != "" && !cut {
				out.WriteRune(zwnj)
			}
			piece, cut = string(r), false
		case !cut:
			piece += ellipsis
			cut = true
		}
	}
	return out.String() + piece
}

// composed gives the syllable that a cluster of conjoining Hangul spells, by the
// arithmetic of the Unicode Standard, section 3.12. macOS writes file names so.
func composed(cluster string) (rune, bool) {
	const (
		base, lead, vowel, tail = 0xac00, 0x1100, 0x1161, 0x11a7
		leads, vowels, tails    = 19, 21, 28
		syllables               = leads * vowels * tails
	)
	r := []rune(cluster)
	if len(r) == 2 && r[0] >= base && r[0] < base+syllables && (r[0]-base)%tails == 0 &&
		r[1] > tail && r[1] < tail+tails {
		return r[0] + r[1] - tail, true
	}
	if len(r) < 2 || len(r) > 3 ||
		r[0] < lead || r[0] >= lead+leads || r[1] < vowel || r[1] >= vowel+vowels {
		return 0, false
	}
	s := base + ((r[0]-lead)*vowels+r[1]-vowel)*tails
	if len(r) == 3 {
		if r[2] <= tail || r[2] >= tail+tails {
			return 0, false
		}
		s += r[2] - tail
	}
	return s, true
}
