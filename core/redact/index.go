package redact

import (
	"cmp"
	"slices"
	"strings"
)

// index finds patterns in a text in one pass: a bit table over every three bytes says where a pattern could begin, a
// map from the first eight bytes says which.
type index struct {
	filter  [1 << 10]uint64
	heads   map[uint64][]pattern // longest first
	sorted  []string             // every pattern's text, ordered
	longest int
}

func newIndex(patterns []pattern) *index {
	x := &index{heads: make(map[uint64][]pattern, len(patterns))}
	for _, p := range patterns {
		x.admit(p.text)
		head := eight(p.text)
		x.heads[head] = append(x.heads[head], p)
		x.sorted = append(x.sorted, p.text)
		x.longest = max(x.longest, len(p.text))
	}
	for _, list := range x.heads {
		slices.SortStableFunc(list, func(a, b pattern) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	slices.Sort(x.sorted)
	return x
}

// admit makes the filter let through what begins with the first three bytes of text.
func (x *index) admit(text string) {
	h := three(text)
	x.filter[h>>6] |= 1 << (h & 63)
}

// next returns the first place from i on, before end, where a pattern or a rule could begin, -1 if there is none.
func (x *index) next(s string, i, end int) int {
	end = min(end, len(s)-2)
	if i >= end {
		return -1
	}
	window := uint32(s[i])<<8 | uint32(s[i+1])<<16
	for ; i < end; i++ {
		window = window>>8 | uint32(s[i+2])<<16
		h := hash(window)
		if x.filter[h>>6&(1<<10-1)]&(1<<(h&63)) != 0 {
			return i
		}
	}
	return -1
}

// at returns the longest pattern that stands at s[i].
func (x *index) at(s string, i int) (pattern, bool) {
	if i+shortest > len(s) {
		return pattern{}, false
	}
	for _, p := range x.heads[eight(s[i:])] {
		if strings.HasPrefix(s[i:], p.text) {
			return p, true
		}
	}
	return pattern{}, false
}

// begun returns where the longest end of s stands that could grow into a pattern, len(s) if none could.
func (x *index) begun(s string) int {
	for i := max(0, len(s)-x.longest+1); i < len(s); i++ {
		k, _ := slices.BinarySearch(x.sorted, s[i:])
		for ; k < len(x.sorted) && strings.HasPrefix(x.sorted[k], s[i:]); k++ {
			if len(x.sorted[k]) > len(s)-i {
				return i
			}
		}
	}
	return len(s)
}

// three hashes the first three bytes of s to 16 bits.
func three(s string) uint32 {
	return hash(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16)
}

func hash(bytes uint32) uint32 { return bytes * 2654435761 >> 16 }

func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
