package text

import (
	"fmt"
	"io"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

const (
	screenWidth, screenHeight = 60, 20
	boxLeft, boxTop           = 15, 4
	boxWidth, boxHeight       = 30, 10 // inside the border
)

// frame draws a screen full of text with a box that holds the rows. Nothing is
// placed: a row that is too wide or too narrow moves all that follows it.
func frame(rows []string) []string {
	line := func(y int, middle string) string {
		return fmt.Sprintf("left %02d aaaaaa ", y) + middle + fmt.Sprintf(" right %02d ccc", y)
	}
	edge := strings.Repeat("─", boxWidth)
	var out []string
	for y := range screenHeight {
		switch i := y - boxTop; {
		case i == -1:
			out = append(out, line(y, "╭"+edge+"╮"))
		case i == boxHeight:
			out = append(out, line(y, "╰"+edge+"╯"))
		case i < 0 || i > boxHeight:
			out = append(out, line(y, strings.Repeat("b", boxWidth+2)))
		case i < len(rows):
			out = append(out, line(y, "│"+rows[i]+"│"))
		default:
			out = append(out, line(y, "│"+spaces(boxWidth)+"│"))
		}
	}
	return out
}

// boxRows gives the rows that text makes, for each way to draw it inside a frame.
func boxRows(s string) [][]string {
	var fitted []string
	for range boxHeight {
		fitted = append(fitted, Fit(s, boxWidth))
	}
	all := [][]string{fitted}
	for _, wrapped := range [][]string{
		Wrap(Safe(s), boxWidth),
		WrapWords(Payload(s), boxWidth),
		Excerpt(Safe(Expand(s, 4, true)), 5, 4, boxWidth),
	} {
		var rows []string
		for _, row := range wrapped[:min(len(wrapped), boxHeight)] {
			rows = append(rows, Pad(row, boxWidth))
		}
		all = append(all, rows)
	}
	var paged []string
	w := Wrapper{Text: s, Width: boxWidth, Form: Even, Words: true, Tab: 4, ShowTab: true}
	for _, row := range w.Rows(len(s)/2, boxHeight) {
		paged = append(paged, Pad(row.Text, boxWidth))
	}
	return append(all, paged)
}

func inBox(x, y int) bool {
	return x >= boxLeft+1 && x <= boxLeft+boxWidth && y >= boxTop && y < boxTop+boxHeight
}

// cells are the cells of a screen.
type cells [screenHeight][screenWidth]uv.Cell

func cellsOf(s uv.Screen) *cells {
	var all cells
	for y := range screenHeight {
		for x := range screenWidth {
			if c := s.CellAt(x, y); c != nil {
				all[y][x] = *c
			}
		}
	}
	return &all
}

// compareOutside fails if two screens differ anywhere but inside the box.
func compareOutside(t rapid.TB, what string, got, want *cells) {
	t.Helper()
	for y := range screenHeight {
		for x := range screenWidth {
			if !inBox(x, y) && !got[y][x].Equal(&want[y][x]) {
				t.Fatalf("%s: cell %d,%d is %+v, want %+v", what, x, y, got[y][x], want[y][x])
			}
		}
	}
}

// terminal is an emulator that notes everything that is done to it but printing.
type terminal struct {
	*vt.Emulator
	events  []string
	replies chan int64
}

// Printf takes what the emulator logs: sequences that it does not know.
func (s *terminal) Printf(format string, v ...any) { s.note(format, v...) }

func (s *terminal) note(format string, v ...any) {
	s.events = append(s.events, fmt.Sprintf(format, v...))
}

func newTerminal() *terminal {
	s := &terminal{Emulator: vt.NewEmulator(screenWidth, screenHeight), replies: make(chan int64)}
	s.SetLogger(s)
	s.SetCallbacks(vt.Callbacks{
		Bell:             func() { s.note("bell") },
		Title:            func(v string) { s.note("title %q", v) },
		IconName:         func(v string) { s.note("icon name %q", v) },
		AltScreen:        func(bool) { s.note("alternate screen") },
		CursorVisibility: func(bool) { s.note("cursor visibility") },
		CursorStyle:      func(vt.CursorStyle, bool) { s.note("cursor style") },
		WorkingDirectory: func(v string) { s.note("working directory %q", v) },
		EnableMode:       func(m ansi.Mode) { s.note("mode %v on", m) },
		DisableMode:      func(m ansi.Mode) { s.note("mode %v off", m) },
	})
	for _, command := range []int{4, 8, 9, 52, 133, 777, 7501} {
		s.RegisterOscHandler(command, func(b []byte) bool { s.note("OSC %q", b); return true })
	}
	go func() {
		n, _ := io.Copy(io.Discard, s)
		s.replies <- n
	}()
	return s
}

// close fails the test if the terminal answered anything.
func (s *terminal) close(t testing.TB) {
	t.Helper()
	if c, ok := s.InputPipe().(io.Closer); ok {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := <-s.replies; n > 0 {
		t.Errorf("the terminal answered %d bytes", n)
	}
}

// print fails the test if the terminal does anything but print.
func (s *terminal) print(t rapid.TB, what, text string) {
	t.Helper()
	s.events = nil
	if _, err := s.WriteString("\x1b[H" + text); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(s.events) > 0 {
		t.Fatalf("%s: the terminal was told: %q", what, s.events)
	}
}

func (s *terminal) draw(t rapid.TB, what string, rows []string) (*cells, uv.Position) {
	t.Helper()
	s.print(t, what, strings.Join(frame(rows), "\r\n"))
	return cellsOf(s), s.CursorPosition()
}

// buffered draws rows with the cell buffer that the console is drawn with.
func buffered(method ansi.Method, rows []string) *cells {
	b := uv.NewScreenBuffer(screenWidth, screenHeight)
	b.Method = method
	uv.NewStyledString(strings.Join(frame(rows), "\n")).Draw(b, b.Bounds())
	return cellsOf(b)
}

// screen is a terminal and what its screen looks like with harmless text.
type screen struct {
	*terminal
	harmless *cells
	cursor   uv.Position
	buffers  [2]*cells // by ansi.WcWidth and ansi.GraphemeWidth
}

func newScreen(t rapid.TB) *screen {
	rows := []string{Fit("harmless", boxWidth)}
	s := &screen{terminal: newTerminal()}
	s.harmless, s.cursor = s.draw(t, "harmless", rows)
	for _, method := range []ansi.Method{ansi.WcWidth, ansi.GraphemeWidth} {
		s.buffers[method] = buffered(method, rows)
	}
	return s
}

func (s *screen) check(t rapid.TB, text string) {
	t.Helper()
	for way, rows := range boxRows(text) {
		what := fmt.Sprintf("way %d of %+q", way, text)
		got, cursor := s.draw(t, what, rows)
		compareOutside(t, what, got, s.harmless)
		if cursor != s.cursor {
			t.Fatalf("%s: cursor at %v, want %v", what, cursor, s.cursor)
		}
		for method, want := range s.buffers {
			method := ansi.Method(method)
			compareOutside(t, fmt.Sprintf("method %d, %s", method, what), buffered(method, rows), want)
		}
	}
	s.print(t, fmt.Sprintf("Clean of %+q", text), strings.ReplaceAll(Clean(text), "\n", "\r\n")+"end")
}

func TestScreenOfHostileText(t *testing.T) {
	s := newScreen(t)
	defer s.close(t)
	for _, text := range hostile {
		s.check(t, text)
	}
}

func TestScreenOfAnyText(t *testing.T) {
	s := newScreen(t)
	defer s.close(t)
	rapid.Check(t, func(t *rapid.T) { s.check(t, anyText().Draw(t, "text")) })
}
