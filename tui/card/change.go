package card

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/aymanbagabas/go-udiff"

	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// change is a call's arguments while a person changes them: first the text, then the difference, which is what can be
// approved.
type change struct {
	pane
	guard  Guard
	cursor int    // the line it is in
	asked  string // as the call has them, laid out
	editor *Editor
	made   string // what is approved, while the difference is shown
	err    error  // why the text is no change
	clean  func(string) string
}

func newChange(arguments string, clean func(string) string, now time.Time) *change {
	asked := laidOut(arguments)
	return &change{guard: NewGuard(now), asked: asked, editor: NewEditor(asked, true), clean: clean}
}

// laidOut is JSON with a value a line. Its strings and numbers stay as they are written.
func laidOut(arguments string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(arguments), "", "  ") != nil {
		return arguments
	}
	return b.String()
}

// comparing says that the difference is shown.
func (c *change) comparing() bool { return c.made != "" }

// compare turns the text into what is approved, or says why it is nothing that could be.
func (c *change) compare(now time.Time) {
	value := c.editor.Value()
	if c.clean != nil { // what is shown is what is stored
		value = c.clean(value)
	}
	if c.err = object(value); c.err != nil {
		return
	}
	if laidOut(value) == c.asked {
		c.err = errors.New("nothing was changed yet")
		return
	}
	c.made = value
	c.guard, c.lines, c.seenEnd, c.offset = c.guard.renewed(now), nil, false, 0
}

// object says why a text is not one JSON object.
func object(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("the arguments are not valid UTF-8")
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal([]byte(s), &fields)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line := 1 + strings.Count(s[:min(len(s), int(syntax.Offset))], "\n")
		return fmt.Errorf("line %d is no JSON: %w", line, err)
	case err != nil, fields == nil:
		return errors.New("the arguments are not one JSON object")
	}
	return nil
}

// press handles a key. closed is that the question is to be shown again; settle that the guard has to be asked after
// Alone.
func (c *change) press(now time.Time, msg tea.KeyPressMsg, b keys.Binding) (closed, settle bool) {
	if !c.comparing() {
		c.lines = nil
		switch b.Action {
		case keys.Close:
			return true, false
		case keys.Compare:
			c.compare(now)
		default:
			c.err = nil
			c.editor.Press(msg)
		}
		return false, false
	}
	what := Noise
	switch b.Action {
	case keys.AsMade:
		what = Harmless
		if c.seenEnd {
			what = Decision
		}
	case keys.PageUp, keys.PageDown, keys.Rework, keys.Close:
		what = Harmless
	}
	settle = c.guard.Press(now, string(b.Action), what)
	switch b.Action {
	case keys.Close:
		return true, false
	case keys.Rework:
		c.made, c.lines, c.offset = "", nil, 0
	case keys.PageDown:
		c.page(1)
	case keys.PageUp:
		c.page(-1)
	}
	return false, settle
}

// edited takes what a person's own editor made of the text and shows the difference.
func (c *change) edited(now time.Time, value string, err error) {
	c.guard, c.lines = c.guard.renewed(now), nil
	if c.err = err; err != nil {
		return
	}
	c.editor = NewEditor(strings.TrimRight(value, "\n"), true)
	c.compare(now)
}

// arguments are what is approved by now, "" when nothing is.
func (c *change) arguments(now time.Time) string {
	if keys.Action(c.guard.Settle(now)) != keys.AsMade || !c.comparing() || !c.seenEnd {
		return ""
	}
	return c.made
}

func (c *change) resize(p *paint.Painter, width, height int) {
	relaid := width != c.width || c.lines == nil
	switch {
	case relaid && c.comparing():
		c.set(nil, difference(p, c.asked, laidOut(c.made), width))
	case relaid:
		var lines []string
		lines, c.cursor = c.editor.layout(p, width)
		c.set(lines)
	}
	c.fit(width, height)
	if !c.comparing() {
		c.reveal(c.cursor)
	}
}

// difference is what of a call's arguments was changed, all else beside it.
func difference(p *paint.Painter, asked, made string, width int) *roll {
	const asAsked, asMade = "as asked", "as changed"
	asked, made = strings.TrimSuffix(asked, "\n")+"\n", strings.TrimSuffix(made, "\n")+"\n"
	all := strings.Count(asked, "\n") + strings.Count(made, "\n")
	unified, err := udiff.ToUnified(asAsked, asMade, asked, udiff.Lines(asked, made), all)
	if err != nil || unified == "" {
		return newRoll(p, paint.Strong, made, width)
	}
	return newDiff(p, unified, width)
}

// note says what stands against the change, "" for nothing.
func (c *change) note() string {
	switch {
	case c.err != nil:
		return c.err.Error() + "; nothing is decided"
	case c.editor.full:
		return "that is more than fits in"
	case c.comparing() && text.Hidden(c.made):
		return "contains hidden or control characters, shown as escapes"
	}
	return ""
}
