package policy

import "strings"

// gitEntry is one setting of a file of Git's.
type gitEntry struct {
	key   string // section, subsection and name; all but the subsection in lower case
	value string
}

// gitReader reads a file of Git's settings as Git does (the syntax of git-config(1)): several sections may stand on a
// line, and a value may go on over many.
type gitReader struct {
	text string
	at   int
}

// next returns the next character, a line end for the end of the file, and false behind that.
func (g *gitReader) next() (byte, bool) {
	if g.at > len(g.text) {
		return 0, false
	}
	g.at++
	if g.at > len(g.text) {
		return '\n', true
	}
	c := g.text[g.at-1]
	if c == '\r' && g.at < len(g.text) && g.text[g.at] == '\n' {
		g.at++
		c = '\n'
	}
	return c, true
}

// gitEntries returns the settings of a file; false when Git would refuse it.
func gitEntries(text string) ([]gitEntry, bool) {
	g := &gitReader{text: strings.TrimPrefix(text, "\ufeff")}
	var entries []gitEntry
	section, comment := "", false
	for {
		c, more := g.next()
		switch {
		case !more:
			return entries, true
		case c == '\n':
			comment = false
		case comment || gitSpace(c):
		case c == '#' || c == ';':
			comment = true
		case c == '[':
			name, ok := g.section()
			if !ok {
				return nil, false
			}
			section = name
		case isLetter(c):
			g.at--
			name, value, ok := g.setting()
			if !ok {
				return nil, false
			}
			entries = append(entries, gitEntry{strings.TrimPrefix(section+"."+name, "."), value})
		default:
			return nil, false
		}
	}
}

// section reads a section's header behind its bracket.
func (g *gitReader) section() (string, bool) {
	var name strings.Builder
	for {
		c, more := g.next()
		switch {
		case !more || c == '\n':
			return "", false
		case c == ']':
			return strings.ToLower(name.String()), true
		case gitSpace(c):
			sub, ok := g.subsection()
			return strings.ToLower(name.String()) + "." + sub, ok
		case !isGitName(c) && c != '.':
			return "", false
		}
		name.WriteByte(c)
	}
}

// subsection reads what stands between quotes in a header, and its end.
func (g *gitReader) subsection() (string, bool) {
	c, _ := g.next()
	for gitSpace(c) {
		c, _ = g.next()
	}
	if c != '"' {
		return "", false
	}
	var name strings.Builder
	for {
		c, more := g.next()
		if c == '"' {
			c, _ = g.next()
			return name.String(), c == ']'
		}
		if c == '\\' {
			c, more = g.next()
		}
		if !more || c == '\n' {
			return "", false
		}
		name.WriteByte(c)
	}
}

// setting reads a name and its value.
func (g *gitReader) setting() (name, value string, ok bool) {
	var b strings.Builder
	c, _ := g.next()
	for ; isGitName(c); c, _ = g.next() {
		b.WriteByte(c)
	}
	name = strings.ToLower(b.String())
	for c == ' ' || c == '\t' {
		c, _ = g.next()
	}
	if c == '\n' {
		return name, "true", true
	}
	if c != '=' {
		return "", "", false
	}
	value, ok = g.value()
	return name, value, ok
}

// value reads a value up to the end of its last line.
func (g *gitReader) value() (string, bool) {
	var b strings.Builder
	quoted, comment, spaces := false, false, 0
	for {
		c, more := g.next()
		switch {
		case !more || c == '\n':
			return b.String(), more && !quoted
		case comment:
			continue
		case gitSpace(c) && !quoted:
			if b.Len() > 0 {
				spaces++
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		}
		b.WriteString(strings.Repeat(" ", spaces))
		spaces = 0
		switch c {
		case '"':
			quoted = !quoted
			continue
		case '\\':
			switch c, _ = g.next(); c {
			case '\n':
				continue
			case 't', 'b', 'n':
				c = "\t\b\n"[strings.IndexByte("tbn", c)]
			case '\\', '"':
			default:
				return "", false
			}
		}
		b.WriteByte(c)
	}
}

func gitSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isGitName(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
