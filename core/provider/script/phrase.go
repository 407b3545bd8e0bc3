package script

import (
	"fmt"
	"strings"
	"unicode"
)

// phrases are words to look for in what somebody said.
type phrases struct {
	wanted   []string // one of these, each in words
	unwanted []string // none of these
	anything bool     // "*" is among the wanted
}

func parsePhrases(texts []string) (phrases, error) {
	var p phrases
	for _, text := range texts {
		if text == "*" {
			p.anything = true
			continue
		}
		rest, no := strings.CutPrefix(text, "!")
		normal := words(rest)
		switch {
		case strings.TrimSpace(normal) == "":
			return p, fmt.Errorf("%q has no words", text)
		case no:
			p.unwanted = append(p.unwanted, normal)
		default:
			p.wanted = append(p.wanted, normal)
		}
	}
	if len(p.unwanted) > 0 && len(p.wanted) == 0 {
		p.anything = true
	}
	return p, nil
}

// any says whether there is something to look for.
func (p phrases) any() bool { return p.anything || len(p.wanted) > 0 }

// newest is the place of the last text that fits, -1 if none does.
func (p phrases) newest(texts []string) int {
	for i := len(texts) - 1; i >= 0; i-- {
		if p.fit(words(texts[i])) {
			return i
		}
	}
	return -1
}

func (p phrases) fit(text string) bool {
	for _, phrase := range p.unwanted {
		if strings.Contains(text, phrase) {
			return false
		}
	}
	for _, phrase := range p.wanted {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return p.anything
}

// words is a text in lower case with one space before, between and after its words, so that a phrase is found in it only
// as whole words.
func words(text string) string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return " " + strings.Join(fields, " ") + " "
}
