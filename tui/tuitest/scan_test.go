package tuitest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestScan(t *testing.T) {
	for raw, want := range map[string][]Sequence{
		"plain é日\r\n":                    nil,
		"\x1b[1;31mred\x1b[m":             {{CSI, "1;31m", 0, true}, {CSI, "m", 10, true}},
		"a\x1b]0;title\x07b":              {{OSC, "0;title", 1, true}},
		"\x1b]0;日 title\x1b\\b":           {{OSC, "0;日 title", 0, true}},
		"\x1b]8;;x\x9cb":                  {{OSC, "8;;x", 0, true}},
		"\x1bPq#\x07#\x1b\\":              {{DCS, "q#\x07#", 0, true}},
		"\x1b_apc\x1b\\\x1b^pm\x1b\\":     {{APC, "apc", 0, true}, {PM, "pm", 7, true}},
		"\x1bXsos\u009c":                  {{SOS, "sos", 0, true}},
		"\x9b31m \u009b32m":               {{CSI, "31m", 0, true}, {CSI, "32m", 5, true}},
		"\x9d0;t\x07\x90x\x1b\\":          {{OSC, "0;t", 0, true}, {DCS, "x", 5, true}},
		"\x1b(0\x1b=\x1b7\x1bM\x84":       {{Escape, "(0", 0, true}, {Escape, "=", 3, true}, {Escape, "7", 5, true}, {Escape, "M", 7, true}, {Escape, "D", 9, true}},
		"\x1b[1\x182J\x1b[3":              {{CSI, "1", 0, false}, {CSI, "3", 6, false}},
		"\x1b]0;a\x1b[2J":                 {{OSC, "0;a", 0, false}, {CSI, "2J", 5, true}},
		"\x1b[1\n2m":                      {{CSI, "12m", 0, true}},
		"\x1b":                            {{Escape, "", 0, false}},
		"\x1b\x1b[m":                      {{Escape, "", 0, false}, {CSI, "m", 1, true}},
		"\xe4\x9b\xbc is a character":     nil, // U+46FC, whose middle byte is 0x9b
		"\x1b]0;\xe2\x9c\x93 ok\x07 done": {{OSC, "0;✓ ok", 0, true}},
	} {
		if got := Scan([]byte(raw)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, not %+v", raw, got, want)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{"\x1b[1m", "\x1b]0;x\x07", "\x9b1", "\x1bP\x1b\\", "é\x1b(B", "\x1b]\xc2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		last := -1
		for _, s := range Scan(raw) {
			if s.Offset <= last || s.Offset >= len(raw) || s.Ended && s.Kind == CSI && s.Body == "" {
				t.Errorf("%q: %+v", raw, s)
			}
			last = s.Offset
		}
		switched(raw, func(int) bool { return false }).left()
	})
}

func TestLeft(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                "",
		"\x1b[?1049h\x1b[?25l\x1b[?2004h": AlternateScreen + "," + BracketedPaste + "," + HiddenCursor,
		"\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l": "",
		"\x1b[?1002;1006h\x1b[?1002l":              Mouse,
		"\x1b[?1002;1006h\x1b[?1006;1002l":         "",
		"\x1b[>1u\x1b[>3u\x1b[<1u":                 KittyKeyboard,
		"\x1b[>1u\x1b[>3u\x1b[<2u":                 "",
		"\x1b[>1u\x1b[<9u":                         "",
		// The alternate screen has a stack of its own, which a pop on the main
		// screen does not touch.
		"\x1b[?1049h\x1b[>1u\x1b[?1049l\x1b[<u": KittyKeyboard,
		"\x1b[=1u":                              KittyKeyboard,
		"\x1b[=1u\x1b[=0u":                      "",
		"\x1b[>4;2m":                            OtherKeys,
		"\x1b[>4;2m\x1b[>4m":                    "",
		"\x1b[1;31m":                            Pen,
		"\x1b[1;38:2::1:2:3m\x1b[22;39m":        "",
		"\x1b[4:3mx":                            Pen,
		"\x1b[2;5r":                             ScrollRegion,
		"\x1b[2;5r\x1b[1;24r":                   "",
		"\x1b[2;5r\x1b[r":                       "",
		"\x1b[?7l":                              NoWrap,
		"\x1b[5 q":                              CursorShape,
		"\x1b[5 q\x1b[0 q":                      "",
		"\x1b]11;#000000\x07":                   Colours,
		"\x1b]11;#000000\x07\x1b]111\x07":       "",
		"\x1b]11;?\x07":                         "",
		"\x1b]4;1;#fff\x07\x1b]104\x07":         "",
		"\x1b]2;busy\x07":                       Title,
		"\x1b]2;busy\x07\x1b]2;\x07":            "",
		"\x1b]8;;http://x\x07y":                 Hyperlink,
		"\x1b]8;;http://x\x07y\x1b]8;;\x07":     "",
		"\x1b]9;4;1;50\x07":                     Progress,
		"\x1b]9;4;1;50\x07\x1b]9;4;0\x07":       "",
		"\x1b(0\x1b=":                           ApplicationKeys + "," + LineDrawing,
		"\x1b(0\x1b=\x1b>\x1b(B":                "",
		"\x1b[?1049h\x1b[31m\x1bc":              "",
		"\x1b[?2026h":                           SynchronisedDraw,
		"\x1b[?1049":                            "",
	} {
		got := strings.Join(switched([]byte(raw), func(rows int) bool { return rows == 24 }).left(), ",")
		if got != want {
			t.Errorf("%q leaves %q, not %q", raw, got, want)
		}
	}
}

func TestEncode(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "A": "A", "é": "é", "👩‍🚀": "👩‍🚀", "+": "+", "enter": "\r", "esc": "\x1b", "space": " ", "tab": "\t", "backspace": "\x7f",
		"ctrl+c": "\x03", "ctrl+space": "\x00", "ctrl+[": "\x1b", "ctrl+_": "\x1f", "ctrl++": "\x1b[43;5u", "ctrl+backspace": "\x08",
		"alt+a": "\x1ba", "alt+enter": "\x1b\r", "ctrl+alt+a": "\x1b\x01", "alt+ctrl+a": "\x1b\x01", "shift+a": "A", "alt+shift+a": "\x1bA",
		"shift+tab": "\x1b[Z", "shift+enter": "\x1b[13;2u", "ctrl+enter": "\x1b[13;5u",
		"up": "\x1b[A", "ctrl+up": "\x1b[1;5A", "alt+shift+left": "\x1b[1;4D", "home": "\x1b[H",
		"pgdown": "\x1b[6~", "shift+pgdown": "\x1b[6;2~", "f1": "\x1bOP", "ctrl+f1": "\x1b[1;5P", "f5": "\x1b[15~", "f12": "\x1b[24~",
	} {
		got, err := encode(name)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, not %q", name, got, err, want)
		}
	}
	for _, name := range []string{"", "ab", "entre", "ctrl+ab", "F1", "meta+a"} {
		if got, err := encode(name); err == nil {
			t.Errorf("%q is a key: %q", name, got)
		}
	}
}

func TestSequencesOfAProgram(t *testing.T) {
	t.Parallel()
	term := Start(t, Options{Cmd: shell(`printf '\033]52;c;eA==\007\033_Ga\033\\\033[1mx\033[m'`)})
	if e := term.Exit(); e.Err() != nil {
		t.Error(e.Err())
	}
	var got []string
	for _, s := range term.Sequences(OSC, APC, DCS) {
		got = append(got, string(s.Kind)+" "+s.Body)
	}
	if !slices.Equal(got, []string{"OSC 52;c;eA==", "APC Ga"}) || len(term.Sequences()) != 4 {
		t.Errorf("%q of %v", got, term.Sequences())
	}
}
