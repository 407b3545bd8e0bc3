package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// check finds the first thing in a policy in normal form that could not be enforced as it is written.
func (p *Policy) check() error {
	for _, act := range []Act{Read, Write, Exec, Net} {
		if effect := p.Defaults.Of(act); !effect.valid() {
			return fmt.Errorf("policy: default of %s: %w", act, flaw{quoted(string(effect)) + " is no effect", adviseEffect})
		}
	}
	var names []string
	for _, layer := range p.Layers {
		switch {
		case layer.Name == "":
			return errors.New("policy: a layer has no name")
		case layer.Name == BuiltinLayer:
			return fmt.Errorf("policy: the layer name %s is reserved", quoted(layer.Name))
		case slices.Contains(names, layer.Name):
			return fmt.Errorf("policy: two layers are named %s", quoted(layer.Name))
		}
		names = append(names, layer.Name)
		for i, r := range layer.Rules {
			if err := r.check(); err != nil {
				return fmt.Errorf("policy: layer %s, rule %d: %w", quoted(layer.Name), i+1, err)
			}
		}
	}
	return nil
}

// check finds what keeps a rule in normal form from being enforced. Its error is a flaw.
func (r Rule) check() error {
	switch {
	case !r.Act.valid():
		return flaw{quoted(string(r.Act)) + " is no act", adviseAct}
	case !r.Effect.valid():
		return flaw{quoted(string(r.Effect)) + " is no effect", adviseEffect}
	case r.Repeat != "" && r.Repeat != Safe:
		return flaw{quoted(r.Repeat) + " is no value of repeat", adviseRepeat}
	case r.Repeat != "" && r.Act != Exec:
		return flaw{"repeat is for exec rules only", "leave it out of this " + string(r.Act) + " rule"}
	}
	_, err := checkMatch(r.Act, r.Match)
	return err
}

// What to do about the words of a rule.
const (
	adviseAct    = "write read, write, exec or net"
	adviseEffect = "write allow, ask or deny"
	adviseRepeat = `write repeat = "safe" or leave it out`
)

// checkMatch finds the entry of a match that makes it one that can match nothing. Its error is a flaw.
func checkMatch(act Act, match []string) (at int, err error) {
	if len(match) == 0 {
		return 0, flaw{"match is empty, so the rule matches nothing", "write what it is about, or * for everything"}
	}
	for i, text := range match {
		if !utf8.ValidString(text) {
			return i, flaw{quoted(text) + " is not valid UTF-8", "write it as UTF-8"}
		}
		switch act {
		case Exec:
			err = checkWord(i, text)
		case Read, Write:
			_, err = compilePath(text)
		case Net:
			_, err = compileHost(text)
		}
		if f, ok := err.(flaw); ok {
			return i, f.in(kinds[act], text)
		}
	}
	return 0, nil
}

var kinds = map[Act]string{Exec: "word", Read: "pattern", Write: "pattern", Net: "host"}

// checkWord finds what makes a word of a command pattern one that fits nothing.
func checkWord(at int, word string) error {
	switch {
	case word == "":
		return flaw{"it is empty", "leave it out, or write '' for an argument that is the empty word"}
	case strings.ContainsRune(word, 0):
		return flaw{"no command holds a NUL byte", "leave it out"}
	}
	if _, err := compileWord(word); err != nil || at > 0 {
		return err
	}
	switch {
	case word == emptyWord:
		return flaw{"no program has an empty name", "write its name"}
	case len(splitWords(word)) != 1 || isSpace(rune(word[0])):
		return flaw{"the program holds a space", "write each word by itself, or a backslash before the space"}
	case strings.HasPrefix(word, "~/"):
		return flaw{"nothing expands ~", "write the path in full"}
	case strings.Contains(word, "/") && slices.Contains(strings.Split(word, "/"), ".."):
		return flaw{"the program's path goes through ..", "write it without"}
	case path.Base(word) == "." || strings.HasSuffix(word, "/"):
		return flaw{"it is a directory, not a program", "write the program's path"}
	}
	return nil
}
