package policy

import (
	"strconv"
	"strings"
)

// emptyWord is how a rule spells the empty word of a command.
const emptyWord = "''"

// splitWords splits a command pattern at its spaces; a space after a backslash is part of the word.
func splitWords(text string) []string {
	var words []string
	start, escaped := -1, false
	for i, r := range text {
		if isSpace(r) && !escaped {
			if start >= 0 {
				words = append(words, text[start:i])
			}
			start = -1
			continue
		}
		escaped = r == '\\' && !escaped
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		words = append(words, text[start:])
	}
	return words
}

// isSpace knows the spaces at which a pattern is split, those of ASCII.
func isSpace(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }

// EscapeWords returns the words of the exec rule that fits exactly this command and no other: what is special in a rule
// is escaped. It is what "always" saves. A program spelled as a relative path means, in a rule, the one found from the
// workspace's root.
func EscapeWords(argv []string) []string {
	words := make([]string, 0, len(argv))
	for _, arg := range argv {
		switch arg {
		case "":
			words = append(words, emptyWord)
		case emptyWord:
			words = append(words, `\'\'`)
		default:
			words = append(words, escapeWord(arg))
		}
	}
	return words
}

func escapeWord(arg string) string {
	var b strings.Builder
	for i := 0; i < len(arg); i++ {
		if c := arg[i]; isSpace(rune(c)) || strings.IndexByte(`*?[]\`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(arg[i])
	}
	return b.String()
}

// EscapePath returns the pattern that fits exactly this path in the workspace.
func EscapePath(path string) string {
	var b strings.Builder
	b.WriteString("./")
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '*', '?', '[', ']', '{', '}', ',', '\\', '!':
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// commandText joins words for people: a word that could be taken for several, or for none, is quoted.
func commandText(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool { return isSpace(r) || r == '"' }) {
			arg = strconv.Quote(arg)
		}
		words[i] = arg
	}
	return strings.Join(words, " ")
}
