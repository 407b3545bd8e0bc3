package tuitest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// What keys send, as xterm does with its usual settings (ctlseqs, "PC-Style
// Function Keys"). letter keys become CSI 1;m letter with a modifier m, number
// keys CSI number;m ~.
var (
	plainKeys  = map[string]string{"enter": "\r", "tab": "\t", "esc": "\x1b", "space": " ", "backspace": "\x7f"}
	letterKeys = map[string]byte{"up": 'A', "down": 'B', "right": 'C', "left": 'D', "end": 'F', "home": 'H', "f1": 'P', "f2": 'Q', "f3": 'R', "f4": 'S'}
	numberKeys = map[string]int{
		"insert": 2, "delete": 3, "pgup": 5, "pgdown": 6,
		"f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24,
	}
)

type modifiers struct{ ctrl, alt, shift bool }

// number is the modifier's number in a key's code.
func (m modifiers) number() int {
	n := 1
	for _, bit := range []struct {
		on     bool
		weight int
	}{{m.shift, 1}, {m.alt, 2}, {m.ctrl, 4}} {
		if bit.on {
			n += bit.weight
		}
	}
	return n
}

// encode gives the bytes of a key. A combination for which the old codes have
// none, such as shift+enter, is sent as CSI code;m u.
func encode(name string) ([]byte, error) {
	key, mod := name, modifiers{}
	for cut := true; cut; {
		cut = false
		for prefix, flag := range map[string]*bool{"ctrl+": &mod.ctrl, "alt+": &mod.alt, "shift+": &mod.shift} {
			if rest, ok := strings.CutPrefix(key, prefix); ok && rest != "" {
				key, *flag, cut = rest, true, true
			}
		}
	}
	switch m := mod.number(); {
	case key == "tab" && mod == modifiers{shift: true}:
		return []byte("\x1b[Z"), nil
	case letterKeys[key] != 0:
		letter := letterKeys[key]
		if m > 1 {
			return fmt.Appendf(nil, "\x1b[1;%d%c", m, letter), nil
		}
		if letter >= 'P' {
			return []byte{0x1b, 'O', letter}, nil
		}
		return []byte{0x1b, '[', letter}, nil
	case numberKeys[key] != 0:
		if m > 1 {
			return fmt.Appendf(nil, "\x1b[%d;%d~", numberKeys[key], m), nil
		}
		return fmt.Appendf(nil, "\x1b[%d~", numberKeys[key]), nil
	}
	text, named := plainKeys[key]
	if !named {
		text = key
		if cluster, _ := ansi.FirstGraphemeCluster(key, ansi.GraphemeWidth); key == "" || cluster != key {
			return nil, fmt.Errorf("no key is named %q", name)
		}
	}
	return encodeText(text, named, mod), nil
}

// encodeText gives the bytes of a key that writes text, or that the old codes
// treat like one.
func encodeText(text string, named bool, mod modifiers) []byte {
	modified := []byte("\x1b[" + strconv.Itoa(int([]rune(text)[0])) + ";" + strconv.Itoa(mod.number()) + "u")
	switch {
	case mod.shift && (named || mod.ctrl):
		return modified
	case mod.shift:
		text = strings.ToUpper(text)
	}
	if mod.ctrl {
		c := text[0]
		switch {
		case text == " " || text == "@":
			text = "\x00"
		case len(text) == 1 && c >= 'a' && c <= 'z':
			text = string(rune(c & 0x1f))
		case len(text) == 1 && strings.ContainsRune(`[\]^_`, rune(c)):
			text = string(rune(c & 0x1f))
		case text == "\x7f":
			text = "\x08"
		default:
			return modified
		}
	}
	if mod.alt {
		text = "\x1b" + text
	}
	return []byte(text)
}
