package tuitest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// hostile output leaves the kit whole: it reads on, and tells what was left on.
func TestHostileOutput(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"unfinished":       `printf '\033]0;never ended'`,
		"controls":         `printf '\033[999999999;999999999H\033[99999b\033[?1049h\033[0;0r\033[9999999L\033[9999999M\033[9999P\033[9999@\033[9999S\033[9999T'`,
		"C1":               `printf '\233\061m\220q\234\235\060;x\007\204\205\215\302\233\063m'`,
		"invalid":          `printf '\377\376\300\200\355\240\200\364\220\200\200'`,
		"strings":          `printf '\033Pq\033\\\033_x\033\\\033^y\033\\\033Xz\033\\\033]52;c;?\007'`,
		"every byte":       `i=0; while [ $i -lt 256 ]; do printf "\\$(printf %03o $i)"; i=$((i+1)); done`,
		"everything again": `i=0; while [ $i -lt 128 ]; do printf "\033[$i;2\\$(printf %03o $i)x"; i=$((i+1)); done`,
		"long cluster":     `printf 'e'; i=0; while [ $i -lt 6000 ]; do printf '\314\201'; i=$((i+1)); done`,
		"the end, forged":  `printf '\033_0123456789abcdef0123456789abcdef\033\\'`,
		"big":              `head -c 100000 /dev/urandom`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := Start(t, Options{Cmd: shell(script + "; printf '\\033\\\\\\030\\033c'; echo; echo still here"), Answer: true, Cols: 40, Rows: 10})
			e := term.Exit()
			if e.Code != 0 || len(e.Left) > 0 {
				t.Errorf("%+v", e)
			}
			if !term.Frame().Contains("still here") {
				t.Errorf("lost it\n%s", term.Frame())
			}
			checkPictures(t, term.Frame())
		})
	}
}

func FuzzPictures(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b[1;31m<&>\"'\x1b[m", "日本 é 👩‍🚀", "\x1b[7m█▌│─╭\x1b[m", "\x1b]0;<title>\x07", "\u202e\ufffe\x7f", "\x1b[4:2;9;58;5;3munder"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		term := &Term{tb: t, changed: make(chan struct{})}
		term.emu = term.emulator(20, 4)
		done := make(chan struct{})
		go func() { // what the emulator answers has to go somewhere
			defer close(done)
			_, _ = io.Copy(io.Discard, term.emu)
		}()
		term.show(data)
		_ = term.emu.InputPipe().(io.Closer).Close()
		<-done
		if term.broken != nil {
			t.Skip(term.broken) // the emulator's fault, which tests report as such
		}
		checkPictures(t, term.Frame())
	})
}

// checkPictures checks what holds for the pictures of any frame: they are the
// same each time, the SVG is well-formed, and no cell is lost or made markup.
func checkPictures(t *testing.T, f Frame) {
	t.Helper()
	svg, page := f.SVG(), f.HTML()
	if !bytes.Equal(svg, f.SVG()) || !bytes.Equal(page, f.HTML()) {
		t.Error("the same frame gives two pictures")
	}
	var elements []string
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements = append(elements, start.Name.Local)
		}
	}
	for _, e := range elements {
		if !strings.Contains(" svg title style rect g text ", " "+e+" ") {
			t.Errorf("<%s> in\n%s", e, svg)
		}
	}
	empty := Frame{Title: f.Title, Text: f.Text, Ground: f.Ground}
	if n := bytes.Count(page, []byte("\n")); n != bytes.Count(empty.HTML(), []byte("\n"))+f.Rows {
		t.Errorf("%d lines in\n%s", n, page)
	}
}
