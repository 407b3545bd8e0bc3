package tool

import (
	"fmt"
	"strings"
)

// Bound cuts text to at most limit bytes. What is kept is its beginning and its end, half and half, at ends of lines
// where that costs no more than half of a part, else between characters. A line between them says how many of how many
// bytes were left out, exactly. A limit too small for that line gives the line alone. Text within the limit comes back
// as it is; the same text and limit always give the same.
func Bound(text string, limit int) (bounded string, cut bool) {
	if len(text) <= limit {
		return text, false
	}
	// The line's length depends on what it says; the longest it can get is reserved.
	room := limit - len(leftOut(len(text), len(text))) - len("\n\n")
	if room < 0 {
		room = 0
	}
	head := headOf(text, room/2)
	tail := tailOf(text[len(head):], room-room/2)
	gap := leftOut(len(text)-len(head)-len(tail), len(text))
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	if tail != "" {
		gap += "\n"
	}
	return head + gap + tail, true
}

func leftOut(gap, whole int) string {
	return fmt.Sprintf("[%d of %d bytes left out here]", gap, whole)
}

func headOf(text string, room int) string {
	if line := strings.LastIndexByte(text[:room], '\n') + 1; line > room/2 {
		return text[:line]
	}
	return text[:runeStart(text, room)]
}

func tailOf(text string, room int) string {
	start := len(text) - room
	if line := strings.IndexByte(text[start:], '\n') + 1; line > 0 && line <= room/2 {
		return text[start+line:]
	}
	// A character cut through is left out whole.
	for moved := 0; moved < 3 && start < len(text) && text[start]&0xc0 == 0x80; moved++ {
		start++
	}
	return text[start:]
}
