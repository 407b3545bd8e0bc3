package text

// Expand is [Clean] for code, diffs and other text with tabs: each tab is filled
// up with spaces to the next multiple of stop cells, counted from the start of
// its line on what is drawn, not on what s holds. With show, the first of those
// cells is an arrow, so that tabs and spaces can be told apart. A stop under 1
// counts as 8, what terminals do.
func Expand(s string, stop int, show bool) string {
	e := edit{src: s}
	for pos, column := 0, 0; pos < len(s); {
		if k := plain(s[pos:]); k > 0 {
			pos += k
			column += k
			continue
		}
		switch s[pos] {
		case '\n':
			pos++
			column = 0
			continue
		case '\t':
			tab := tabText(column, stop, show)
			e.put(pos, pos+1, tab)
			pos++
			column += Width(tab)
			continue
		}
		u := unitAt(s, pos, Natural)
		e.add(u)
		column += u.width(s, Width)
		pos = u.end
	}
	return e.text()
}

// tabText gives what a tab at the column is drawn as.
func tabText(column, stop int, show bool) string {
	if stop < 1 {
		stop = 8
	}
	n := stop - column%stop
	const arrow = "→"
	if w := widest(arrow); show && w <= n {
		return arrow + spaces(n-w)
	}
	return spaces(n)
}
