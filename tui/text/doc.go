// Package text is the one door through which text from outside reaches a
// terminal: what a model said, what a program printed, a file name, an error of
// a server. All of it is taken to be hostile.
//
// Nothing that leaves this package moves a cursor, changes a mode, hides, joins
// or reorders what stands beside it. What a terminal would obey or not show is
// drawn as an escape in Go's syntax instead: \x1b, \r, \u202e, \U000e0041, and
// \xff for a byte that is not UTF-8. A backslash that is really there is left
// alone, so [Clean], [Line], [Safe] and [Payload] are for reading, not for
// reading back; given their own output they change nothing. [Quote] is exact.
//
// Widths are counted in cells. Terminals count in two ways: by grapheme cluster
// (DEC mode 2027), or code point by code point as wcwidth does. They differ for
// many emoji and for Indic, Thai and Hangul text, and a frame is only closed in
// both if its content is as wide in both. [Fit], [Safe] and [Payload] give such
// content, by the tables that the renderer has.
//
// Every function is pure and safe for concurrent use. Text that needs no
// change is returned as it is, without a copy.
package text
