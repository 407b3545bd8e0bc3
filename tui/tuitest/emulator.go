package tuitest

import (
	"bytes"
	"image/color"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// The terminal's own colours.
var (
	darkText, darkGround   = color.RGBA{0xd6, 0xdd, 0xe7, 0xff}, color.RGBA{0x0f, 0x14, 0x1b, 0xff}
	lightText, lightGround = color.RGBA{0x22, 0x27, 0x2e, 0xff}, color.RGBA{0xfb, 0xfa, 0xf7, 0xff}
)

// emulator makes the screen. Its callbacks run inside Write, under the lock.
func (t *Term) emulator(cols, rows int) *vt.Emulator {
	emu := vt.NewEmulator(cols, rows)
	emu.SetScrollbackSize(1) // nobody scrolls back
	text, ground := darkText, darkGround
	if t.opts.Light {
		text, ground = lightText, lightGround
	}
	emu.SetDefaultForegroundColor(text)
	emu.SetDefaultBackgroundColor(ground)
	emu.SetDefaultCursorColor(text)
	emu.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { t.mode(m, true) },
		DisableMode: func(m ansi.Mode) { t.mode(m, false) },
	})
	for _, command := range []int{0, 2} {
		emu.RegisterOscHandler(command, func(data []byte) bool {
			// The emulator's own handler drops titles that hold a semicolon.
			_, title, _ := bytes.Cut(data, []byte{';'})
			t.title = string(title)
			return true
		})
	}
	// A mode that was never named is unknown to the emulator; after this it
	// reports these two as known and off.
	_, _ = emu.WriteString(ansi.ResetModeSynchronizedOutput + ansi.ResetModeUnicodeCore)
	return emu
}

// mode follows the modes that the kit itself minds.
func (t *Term) mode(m ansi.Mode, on bool) {
	switch m {
	case ansi.ModeSynchronizedOutput:
		t.drawing = on
	case ansi.ModeBracketedPaste:
		t.bracketed = on
	}
}
