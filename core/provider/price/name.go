package price

import (
	"regexp"
	"slices"
	"strings"
)

// index finds entries by name, exactly first and then more and more loosely: one map for each form of a name.
type index[T any] struct {
	byForm [6]map[string][]T
}

// forms are a name's keys, from the exact one to the loosest.
func forms(name string) [6]string {
	bare := name[strings.LastIndexByte(name, '/')+1:]
	vendor := name[:len(name)-len(bare)]
	return [6]string{
		name,
		bare,
		vendor + undated(bare),
		undated(bare),
		vendor + unordered(bare),
		unordered(bare),
	}
}

func (x *index[T]) add(name string, entry T) {
	for i, key := range forms(name) {
		if x.byForm[i] == nil {
			x.byForm[i] = map[string][]T{}
		}
		x.byForm[i][key] = append(x.byForm[i][key], entry)
	}
}

// find looks a model up as Table says. same says whether two entries are as good as one.
func (x index[T]) find(name string, same func(a, b T) bool) (T, bool) {
	for i, key := range forms(name) {
		entries := x.byForm[i][key]
		differs := func(e T) bool { return !same(entries[0], e) }
		if len(entries) > 0 && !slices.ContainsFunc(entries, differs) {
			return entries[0], true
		}
	}
	var none T
	return none, false
}

var (
	snapshot = regexp.MustCompile(`-20\d{2}-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])$`)
	version  = regexp.MustCompile(`(\d)\.(\d)`)
)

// undated is a name without a snapshot's date and with hyphens for the dots of versions.
func undated(name string) string {
	name = snapshot.ReplaceAllString(name, "")
	// Twice: in 1.2.3 the matches would overlap.
	name = version.ReplaceAllString(name, "$1-$2")
	return version.ReplaceAllString(name, "$1-$2")
}

// unordered is an undated name with its words sorted. A version's numbers stay together in their order.
func unordered(name string) string {
	var words []string
	for _, word := range strings.Split(undated(name), "-") {
		if n := len(words); n > 0 && numeric(word) && numeric(words[n-1]) {
			words[n-1] += "-" + word
			continue
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func numeric(s string) bool {
	return s != "" && strings.Trim(s, "0123456789-") == ""
}
