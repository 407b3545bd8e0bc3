package text

// edit is a text with changes, which is copied only once there is one.
type edit struct {
	src  string
	from int // where the part of src starts that is not in out yet
	out  []byte
}

// add draws a unit of src.
func (e *edit) add(u unit) {
	if u.changed() {
		e.upTo(u.start)
		e.out = u.appendTo(e.out, e.src)
		e.from = u.end
	}
}

// put draws text in place of src[start:end].
func (e *edit) put(start, end int, text string) {
	e.upTo(start)
	e.out = append(e.out, text...)
	e.from = end
}

func (e *edit) upTo(start int) {
	if e.out == nil {
		e.out = make([]byte, 0, len(e.src)-e.from+32)
	}
	e.out = append(e.out, e.src[e.from:start]...)
}

// text gives the text with all changes.
func (e *edit) text() string {
	if e.out == nil {
		return e.src[e.from:]
	}
	return string(append(e.out, e.src[e.from:]...))
}
