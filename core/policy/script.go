package policy

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// scriptReader walks a parsed script. It judges nothing: it hands every simple command and redirection to its reader and
// notes whatever only the running shell will know.
type scriptReader struct {
	*reader
	source string
	found  bool // there is something to run
}

// visit is called for every node, inner ones after outer ones: commands in substitutions, functions, conditions, loops
// and here-documents that are code are met by themselves.
func (s *scriptReader) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.CallExpr:
		s.call(n)
	case *syntax.Stmt:
		s.fed(n)
	case *syntax.BinaryCmd:
		if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && readsCode(s.wordsOf(n.Y)) {
			s.reader.text(s.source[n.X.Pos().Offset():n.X.End().Offset()]) // what is printed may be run
		}
	case *syntax.Redirect:
		s.redirect(n)
	case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
		s.doubts(s.text(node))
	case *syntax.DeclClause, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CoprocClause, *syntax.TestDecl:
		s.found = true
		s.doubts(s.text(node))
	case *syntax.TestClause:
		s.found = true
		syntax.Walk(n, func(inner syntax.Node) bool {
			if word, ok := inner.(*syntax.Word); ok {
				text, _ := s.word(word)
				s.subscript(text)
			}
			return true
		})
	}
	return true
}

// text is a node as the script spells it, cut where it is long.
func (s *scriptReader) text(node syntax.Node) string {
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	if from >= to || to > len(s.source) {
		return "an expansion"
	}
	return strings.ToValidUTF8(s.source[from:min(to, from+100)], "")
}

// lookForMoves notes whether the script changes its working directory, after which a relative path means something else.
func (s *scriptReader) lookForMoves(file *syntax.File) {
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			name, _ := s.word(call.Args[0])
			s.moves = s.moves || movers[name]
		}
		return !s.moves
	})
}

// call takes a simple command.
func (s *scriptReader) call(n *syntax.CallExpr) {
	s.found = true
	for _, assign := range n.Assigns {
		s.doubts(s.text(assign)) // a variable can decide what runs
		if assign.Value != nil {
			if value, _ := s.word(assign.Value); strings.ContainsAny(value, " \t\n;|&") {
				s.reader.script(value)
			}
		}
	}
	var argv []string
	for _, word := range n.Args {
		text, sure := s.word(word)
		if !sure {
			s.doubts(s.text(word))
		}
		if words := s.braces(word, text); words != nil {
			argv = append(argv, words...)
			continue
		}
		argv = append(argv, text)
		if strings.ContainsAny(text, "{}") && !sure {
			s.reader.text(text)
		}
	}
	if slices.ContainsFunc(argv, func(word string) bool { return evaluators[word] }) {
		for _, word := range argv {
			s.subscript(word)
		}
	}
	if len(argv) > 0 && strings.HasPrefix(argv[0], "-") { // behind the word time, which is a program to other shells
		argv = slices.Insert(argv, 0, "time")
	}
	s.command(argv)
}

// evaluators are words of a shell that take the name of a variable.
var evaluators = set("test", "[", "printf", "unset", "wait", "read", "getopts")

// subscript looks for substitutions in the subscript of a name. Where bash expects the name of a variable it runs them,
// quoted or not: test -v 'a[$(x)]'.
func (s *scriptReader) subscript(text string) {
	_, rest, has := strings.Cut(text, "[")
	if has && (strings.Contains(rest, "$(") || strings.Contains(rest, "`")) {
		s.doubts(text)
		s.reader.text(text)
	}
}

// braces returns the words that a word with braces in it is, as {rm,-rf,x} is three; nil for none, and where there would
// be very many.
func (s *scriptReader) braces(word *syntax.Word, text string) []string {
	if !strings.Contains(text, "{") {
		return nil
	}
	expanded := *word
	expanded.Parts = slices.Clone(word.Parts)
	if !syntax.SplitBraces(&expanded) {
		return nil
	}
	var words []string
	for each, err := range expand.BracesSeq(nil, &expanded) {
		if err != nil || s.spend(1) || len(words) == maxBraces {
			return nil
		}
		text, _ := s.word(each)
		words = append(words, text)
	}
	return words
}

// maxBraces is how many words one word with braces may be.
const maxBraces = 1000

// fed looks into what a statement gives to a shell or an interpreter as its input.
func (s *scriptReader) fed(n *syntax.Stmt) {
	words := s.wordsOf(n)
	if !readsCode(words) {
		return
	}
	for _, r := range n.Redirs {
		from := r.Hdoc
		if r.Op == syntax.WordHdoc {
			from = r.Word
		}
		if from == nil || r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc && r.Op != syntax.WordHdoc {
			continue
		}
		text, _ := s.word(from)
		if slices.ContainsFunc(words, func(word string) bool { return shells[programName(word)] }) {
			s.reader.script(text)
			continue
		}
		s.reader.text(text)
	}
}

// wordsOf returns the words of a statement that is a simple command.
func (s *scriptReader) wordsOf(n *syntax.Stmt) []string {
	call, ok := n.Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	var words []string
	for _, word := range call.Args {
		text, _ := s.word(word)
		words = append(words, text)
	}
	return words
}

// readsCode reports whether a command may run what it reads: it is a shell or an interpreter, or something that runs one.
func readsCode(words []string) bool {
	for i, word := range words {
		name := programName(word)
		if isTabled(name) || otherShells[name] {
			return true
		}
		_, wraps := wrappers[name]
		if i == 0 && !wraps && !looseWrappers[name] && !multicall[name] {
			return false
		}
	}
	return false
}

// redirect takes the target of a redirection. Here-documents and here-strings are data; what is code in them is met as
// a node.
func (s *scriptReader) redirect(n *syntax.Redirect) {
	if n.Word == nil {
		return
	}
	acts := redirections[n.Op]
	if acts == nil {
		return
	}
	target, sure := s.word(n.Word)
	if !sure {
		s.doubts(s.text(n))
		return
	}
	duplicates := n.Op == syntax.DplIn || n.Op == syntax.DplOut
	if duplicates && strings.Trim(target, "0123456789-") == "" {
		return
	}
	switch target {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return
	case "":
		s.doubts(s.text(n))
		return
	}
	if s.moves && !strings.HasPrefix(target, "/") {
		s.doubts(s.text(n))
	}
	s.found = true
	for _, act := range acts {
		s.parts = append(s.parts, part{act: act, path: target, mark: n.Op.String() + " "})
	}
}

// redirections says what each operator does to its target (POSIX shell, section 2.7, and the manual of bash).
var redirections = map[syntax.RedirOperator][]Act{
	syntax.RdrOut: {Write}, syntax.AppOut: {Write}, syntax.RdrClob: {Write}, syntax.DplOut: {Write},
	syntax.RdrAll: {Write}, syntax.AppAll: {Write}, syntax.RdrInOut: {Read, Write},
	syntax.RdrIn: {Read}, syntax.DplIn: {Read},
}

// word returns the text of a word without its quotes, and whether that is surely what the shell makes of it: an unquoted
// pattern, brace or tilde is not, and an expansion, which stays as it is spelled, neither.
func (s *scriptReader) word(word *syntax.Word) (string, bool) {
	var b strings.Builder
	sure := true
	for i, p := range word.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text, plain := unquoted(p.Value)
			if i == 0 && startsExpansion(p.Value) {
				plain = false
			}
			sure = sure && plain
			b.WriteString(text)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				var known bool
				text, known = ansiC(text)
				sure = sure && known
			}
			b.WriteString(text)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					b.WriteString(doubleQuoted(lit.Value))
					continue
				}
				sure = false
				b.WriteString(s.text(inner))
			}
		default:
			sure = false
			b.WriteString(s.text(p))
		}
	}
	return b.String(), sure
}

// ansiC undoes the escapes of $'…' (the manual of bash, ANSI-C Quoting), and reports whether it knows all of them.
func ansiC(text string) (string, bool) {
	var b strings.Builder
	known := true
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		c := text[i]
		base, most := 0, 0
		switch c {
		case 'x':
			base, most = 16, 2
		case 'u':
			base, most = 16, 4
		case 'U':
			base, most = 16, 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base, most = 8, 3
			i--
		}
		if base == 0 {
			if at := strings.IndexByte(`abeEfnrtv\'"?`, c); at >= 0 {
				b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[at])
			} else {
				known = false
				b.WriteByte(c)
			}
			continue
		}
		end := i + 1
		for end < len(text) && end-i <= most && digitOf(text[end]) < base {
			end++
		}
		n, err := strconv.ParseUint(text[i+1:end], base, 32)
		switch {
		case err != nil || n == 0: // a NUL ends the text
			known = false
		case base == 16 && most > 2:
			b.WriteRune(rune(n))
		default:
			b.WriteByte(byte(n))
		}
		i = end - 1
	}
	return b.String(), known
}

func digitOf(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}

// startsExpansion knows ~ and, in zsh, a program's path written =name.
func startsExpansion(text string) bool {
	if strings.HasPrefix(text, "~") {
		return true
	}
	return len(text) > 1 && text[0] == '=' && (text[1]|0x20 >= 'a' && text[1]|0x20 <= 'z' || text[1] == '_')
}

// unquoted takes backslashes out of text outside quotes, and reports whether no pattern or brace is left in it.
func unquoted(text string) (string, bool) {
	var b strings.Builder
	plain := true
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\n' {
				b.WriteByte(text[i])
			}
			continue
		case strings.IndexByte("*?[", c) >= 0:
			plain = false
		case c == '{' && len(text) > 2:
			plain = false
		}
		b.WriteByte(c)
	}
	if out := b.String(); out == "[" || out == "[[" {
		plain = true // the program of that name
	}
	return b.String(), plain
}

// doubleQuoted takes out the backslashes that have a meaning between double quotes (POSIX shell, section 2.2.3).
func doubleQuoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
