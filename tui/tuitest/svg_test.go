package tuitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPictures(t *testing.T) {
	f := painted(t, 36, 6, "\x1b]0;a <title> & more\x07\x1b[1;38;2;95;208;197mtillerman\x1b[m  <plain> & \"text\"\r\n"+
		"\x1b[48;2;29;39;51m \x1b[38;5;9mred\x1b[39m on panel       \x1b[m\r\n"+
		"\x1b[7m a \x1b[m \x1b[2mfaint\x1b[m \x1b[3mitalic\x1b[m \x1b[4munder \x1b[m \x1b[9mout\x1b[m\r\n"+
		"日本語 e\u0301 👩‍🚀 שלום\r\n"+
		"╭──┬─────╮ ▁▄█▌▏ ░ ━\r\n│  ├─────┤\x1b[8mhidden\x1b[m\x1b[1;3H")
	for name, got := range map[string][]byte{"small.svg": f.SVG(), "small.html": f.HTML()} {
		path := filepath.Join("testdata", "golden", name)
		if Updating() {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is\n%s\nnot\n%s", name, got, want)
		}
	}
	checkPictures(t, f)
	light := Frame{Cols: 1, Rows: 1, Cells: [][]Cell{{{Text: "x", Width: 1}}}, Text: lightText, Ground: lightGround, Cursor: Cursor{Hidden: true}}
	if svg := string(light.SVG()); !strings.Contains(svg, `fill="#22272e">x<`) || !strings.Contains(svg, `fill="#fbfaf7"/>`) {
		t.Errorf("a light terminal is drawn as\n%s", svg)
	}
}

func TestShapesStayInTheirCell(t *testing.T) {
	seen := 0
	for r := rune(0x2500); r < 0x25a0; r++ {
		s, ok := shapeOf(string(r))
		if !ok {
			continue
		}
		seen++
		for _, b := range s.boxes {
			if b[0] < 0 || b[1] < 0 || b[2] <= 0 || b[3] <= 0 || b[0]+b[2] > cellWidth || b[1]+b[3] > cellHeight {
				t.Errorf("%c has the box %v", r, b)
			}
		}
	}
	if seen < 35 {
		t.Errorf("only %d characters have shapes", seen)
	}
}
