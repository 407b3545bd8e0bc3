package policy

import "strings"

// flagWord is an option in an ask or a deny, which holds however the command spells it.
type flagWord struct {
	letters string // of a cluster of one-letter options; "" for a long option
	long    string // name of a long option with its dashes; "" for a cluster
}

// spellings lists the letters that mean the same as each other or as a long option in every program worth a deny: rm, cp,
// git, docker, chmod. For all others a rule knows only the spelling it was given, which Lint says.
var spellings = map[rune][]string{
	'r': {"R", "--recursive"},
	'R': {"r", "--recursive"},
	'f': {"--force"},
}

// readFlag reads an option of a rule; nil for other words. A final star, which only says that more may follow, is no
// part of it.
func readFlag(word string) *flagWord {
	name := strings.TrimRight(word, "*")
	switch {
	case len(name) < 2 || name[0] != '-' || name == "--" || strings.ContainsAny(name, `*?[\`):
		return nil
	case strings.HasPrefix(name, "--"):
		name, _, _ = strings.Cut(name, "=")
		if name != strings.TrimRight(word, "*") {
			return nil // a value is asked for: only the spelling given fits
		}
		return &flagWord{long: name}
	}
	seen := map[rune]bool{}
	for _, r := range name[1:] {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum || seen[r] {
			return nil
		}
		seen[r] = true
	}
	return &flagWord{letters: name[1:]}
}

// givenFlags are the options among a command's arguments. Arguments after -- count too: too many rather than too few.
type givenFlags struct {
	letters map[rune]bool // of all clusters together
	long    []string      // without values
}

func readFlags(args []string) givenFlags {
	g := givenFlags{letters: map[rune]bool{}}
	for _, arg := range args {
		switch {
		case len(arg) < 2 || arg[0] != '-' || arg == "--":
		case strings.HasPrefix(arg, "--"):
			name, _, _ := strings.Cut(arg, "=")
			g.long = append(g.long, name)
		default:
			for _, r := range arg[1:] {
				g.letters[r] = true
			}
		}
	}
	return g
}

// in reports whether the option is among the given ones. Clusters are of no meaning to programs that write long options
// with one dash.
func (f *flagWord) in(g givenFlags, clusters bool) bool {
	if f.long != "" {
		if g.hasLong(f.long) {
			return true
		}
		for letter, same := range spellings {
			for _, long := range same {
				if long == f.long && clusters && g.letters[letter] {
					return true
				}
			}
		}
		return false
	}
	if !clusters {
		return false
	}
	for _, letter := range f.letters {
		if !g.hasLetter(letter) {
			return false
		}
	}
	return true
}

func (g givenFlags) hasLetter(letter rune) bool {
	if g.letters[letter] {
		return true
	}
	for _, same := range spellings[letter] {
		if strings.HasPrefix(same, "--") && g.hasLong(same) || g.letters[rune(same[0])] && len(same) == 1 {
			return true
		}
	}
	return false
}

// hasLong knows an option's abbreviations, which getopt_long and Git take.
func (g givenFlags) hasLong(name string) bool {
	for _, given := range g.long {
		if given == name || len(given) > len("--") && strings.HasPrefix(name, given) {
			return true
		}
	}
	return false
}
