package policy

import (
	"path"
	"slices"
	"strings"
)

// commandGlob is a compiled pattern of an exec rule.
type commandGlob struct {
	program programWord
	words   []commandWord // after the program, without the last lone *
	rest    bool          // a last lone * was there
	long    bool          // the program writes long options with one dash
}

// commandWord is one word of a command pattern after the program.
type commandWord struct {
	any  bool // a lone *
	glob wordGlob
	flag *flagWord // set for an option
	name string    // of an option that is a word: without its dashes and its value
}

// singleDash lists programs whose options are words after one dash, so that -exec is no cluster of letters.
var singleDash = []string{
	"find", "go", "java", "javac", "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "ffmpeg", "ffprobe",
	"convert", "magick", "terraform", "openssl", "test", "[",
}

// compileCommand compiles the words of an exec rule. The roots are the forms of the workspace's path.
func compileCommand(match []string, roots ...string) (commandGlob, error) {
	var c commandGlob
	if _, err := checkMatch(Exec, match); err != nil {
		return c, err
	}
	first := match[0]
	c.program = programWord{any: first == "*", path: strings.Contains(first, "/")}
	c.long = slices.Contains(singleDash, path.Base(first))
	rooted := rootedProgram(first, roots...)
	var err error
	if c.program.glob, err = compileWord(rooted); err != nil {
		return c, err
	}
	// A set whose ends change order by folding fits nothing folded; unfolded it still fits what it says.
	c.program.folded, _ = compileWord(fold(rooted))
	rest := match[1:]
	if first == "*" {
		c.rest = true
	}
	if len(rest) > 0 && rest[len(rest)-1] == "*" {
		rest, c.rest = rest[:len(rest)-1], true
	}
	for _, text := range rest {
		word := commandWord{any: text == "*"}
		if word.glob, err = compileWord(text); err != nil {
			return c, err
		}
		word.flag = readFlag(text)
		if !strings.Contains(text, "=") { // with a value only the spelling given fits
			word.name = optionName(text)
		}
		c.words = append(c.words, word)
	}
	return c, nil
}

// allows reports whether an allow covers a command: exactly its words, from the first on.
func (c commandGlob) allows(p program, args []string, lookup func(string) (string, error)) bool {
	if len(args) < len(c.words) || len(args) > len(c.words) && !c.rest {
		return false
	}
	for i, word := range c.words {
		if !word.any && !word.glob.match(args[i]) {
			return false
		}
	}
	return c.program.allows(p, lookup)
}

// stops reports whether an ask or deny finds its words after a program that it knows by one of these names.
func (c commandGlob) stops(names, args []string, folds bool) bool {
	if !c.program.stops(names, folds) {
		return false
	}
	clusters := !c.long && !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(singleDash, path.Base(n)) })
	given := readFlags(args)
	at := 0
	for _, word := range c.words {
		if word.any {
			continue
		}
		if word.flag != nil {
			anywhere := slices.ContainsFunc(args, word.glob.match)
			if !anywhere && !word.flag.in(given, clusters) && (clusters || !word.named(args)) {
				return false
			}
			continue
		}
		if !clusters && word.named(args) {
			continue
		}
		for at < len(args) && !word.glob.match(args[at]) {
			at++
		}
		if at == len(args) {
			return false
		}
		at++
	}
	return true
}

// named reports whether an option that is a word is among the arguments, with one dash or two, with a value or without.
func (w commandWord) named(args []string) bool {
	return w.name != "" && slices.ContainsFunc(args, func(arg string) bool { return optionName(arg) == w.name })
}

// optionName is what an option is called without its dashes and its value, "" for what is no option.
func optionName(word string) string {
	name, _, has := strings.Cut(word, "=")
	if has && strings.ContainsAny(word, `*?[\`) || len(name) < 2 || name[0] != '-' || strings.ContainsAny(name, `*?[\`) {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-")
}
