package tool

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// QuoteName writes a path so that it stands on one line, means one file and cannot be taken for anything else: as it is
// when every character is printable and none is a quote, a backslash or a colon, else as a quoted Go string. A path that
// begins with "[" or with or ends with a space is quoted too, since notes of tools stand in brackets.
func QuoteName(path string) string {
	odd := path == "" || path[0] == '[' || path[0] == ' ' || path[len(path)-1] == ' ' || !utf8.ValidString(path) ||
		strings.ContainsFunc(path, func(r rune) bool {
			return r == '"' || r == '\\' || r == ':' || !strconv.IsPrint(r)
		})
	if odd {
		return strconv.Quote(path)
	}
	return path
}

// UnquoteName reads a path in either form that QuoteName writes. Text that is not a quoted string is the path itself.
func UnquoteName(name string) string {
	if len(name) < 2 || name[0] != '"' {
		return name
	}
	path, err := strconv.Unquote(name)
	if err != nil {
		return name
	}
	return path
}
