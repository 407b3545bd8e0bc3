package tuitest

import "unicode/utf8"

// Kind is a kind of control sequence (ECMA-48).
type Kind string

// The kinds.
const (
	CSI    Kind = "CSI"
	OSC    Kind = "OSC"
	DCS    Kind = "DCS"
	APC    Kind = "APC"
	PM     Kind = "PM"
	SOS    Kind = "SOS"
	Escape Kind = "ESC" // a short one, or a C1 control that begins none of the above
)

// Sequence is a control sequence in a program's output.
type Sequence struct {
	Kind   Kind
	Body   string // what stands between the introducer and the terminator; of CSI and ESC with the final byte
	Offset int    // of its first byte
	Ended  bool   // false when it was broken off: by CAN, SUB, another sequence, or the end
}

// Scan finds the control sequences in what a program wrote. It takes for one
// whatever some terminal may take for one: 7-bit introducers, C1 controls
// encoded in UTF-8, and bare C1 bytes, which are not valid UTF-8.
func Scan(raw []byte) []Sequence {
	s := scanner{data: raw}
	for s.pos < len(raw) {
		s.next()
	}
	return s.found
}

type scanner struct {
	data  []byte
	pos   int
	found []Sequence
}

// c1 gives the C1 control at a position, and its length in bytes; else 0 and
// the length of what stands there.
func (s *scanner) c1(at int) (control byte, size int) {
	r, size := utf8.DecodeRune(s.data[at:])
	switch {
	case r == utf8.RuneError && size == 1 && s.data[at] >= 0x80 && s.data[at] <= 0x9f:
		return s.data[at], 1
	case r >= 0x80 && r <= 0x9f:
		return byte(r), size
	default:
		return 0, size
	}
}

// next passes over one sequence or one character.
func (s *scanner) next() {
	start := s.pos
	introducer, size := s.c1(s.pos)
	s.pos += size
	if introducer == 0 {
		if s.data[start] != 0x1b {
			return
		}
		if s.pos == len(s.data) {
			s.add(Escape, start, s.pos, false)
			return
		}
		// ESC and a byte of column 4 or 5 is the C1 control of that column's
		// place (ECMA-48, 5.3).
		if c := s.data[s.pos]; c >= 0x40 && c <= 0x5f {
			introducer = c + 0x40
			s.pos++
		}
	}
	switch introducer {
	case 0:
		s.short(start)
	case 0x9b:
		s.csi(start)
	case 0x9d:
		s.text(OSC, start)
	case 0x90:
		s.text(DCS, start)
	case 0x9f:
		s.text(APC, start)
	case 0x9e:
		s.text(PM, start)
	case 0x98:
		s.text(SOS, start)
	default:
		s.found = append(s.found, Sequence{Escape, string(introducer - 0x40), start, true})
	}
}

// short passes over ESC, intermediate bytes and a final one.
func (s *scanner) short(start int) {
	from := s.pos
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c >= 0x20 && c <= 0x2f:
		case c >= 0x30 && c <= 0x7e:
			s.pos++
			s.found = append(s.found, Sequence{Escape, string(s.data[from:s.pos]), start, true})
			return
		default:
			s.found = append(s.found, Sequence{Escape, string(s.data[from:s.pos]), start, false})
			return
		}
	}
	s.found = append(s.found, Sequence{Escape, string(s.data[from:]), start, false})
}

// csi passes over parameters, intermediates and a final byte. C0 controls in
// between act on their own and do not end it.
func (s *scanner) csi(start int) {
	var body []byte
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c >= 0x20 && c <= 0x3f:
			body = append(body, c)
		case c >= 0x40 && c <= 0x7e:
			s.pos++
			s.found = append(s.found, Sequence{CSI, string(append(body, c)), start, true})
			return
		case c == 0x18 || c == 0x1a || c == 0x1b || c >= 0x7f:
			s.found = append(s.found, Sequence{CSI, string(body), start, false})
			return
		}
	}
	s.found = append(s.found, Sequence{CSI, string(body), start, false})
}

// text passes over a control string up to its terminator: ST, and BEL for OSC.
func (s *scanner) text(kind Kind, start int) {
	from := s.pos
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		control, size := s.c1(s.pos)
		switch {
		case control == 0x9c, c == 0x07 && kind == OSC:
			s.add(kind, start, from, true)
			s.pos += size
			return
		case c == 0x1b && s.pos+1 < len(s.data) && s.data[s.pos+1] == '\\':
			s.add(kind, start, from, true)
			s.pos += 2
			return
		case c == 0x18 || c == 0x1a || c == 0x1b:
			s.add(kind, start, from, false)
			return
		}
		s.pos += size
	}
	s.add(kind, start, from, false)
}

func (s *scanner) add(kind Kind, start, from int, ended bool) {
	s.found = append(s.found, Sequence{kind, string(s.data[from:s.pos]), start, ended})
}
