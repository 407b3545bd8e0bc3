package text

import (
	"strings"
	"testing"
)

func BenchmarkClean(b *testing.B) {
	for name, piece := range map[string]string{
		"ASCII": "the quick brown fox\n", "CJK": "日本語", "Hindi": "नमस्ते ", "emoji": "👨\u200d👩\u200d👧 ", "hostile": "\x1b[2J\r", "bytes": "\xff\x80",
	} {
		s := strings.Repeat(piece, 1<<20/len(piece))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Clean(s)
			}
		})
	}
}

func BenchmarkFit(b *testing.B) {
	for name, s := range map[string]string{"ASCII": "go test ./... in 3.2 s", "Hindi": "नमस्ते दुनिया"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fit(s, 40)
			}
		})
	}
}

func BenchmarkPage(b *testing.B) {
	for name, piece := range map[string]string{"ASCII": "x", "CJK": "日本語"} {
		w := Wrapper{Text: strings.Repeat(piece, 10<<20/len(piece)), Width: 120, Form: Even}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w.Rows(w.Up(5<<20, 25), 50)
			}
		})
	}
}
