package tui

import (
	"errors"
	"io"
	"os"

	tea "charm.land/bubbletea/v2"
)

// framesPerSecond is how often the renderer looks whether something changed. At 120, the highest it takes, a key waits
// half as long for its bytes as at the usual 60; see BenchmarkKeyUnderLoad.
const framesPerSecond = 120

// Terminal is where the console runs.
type Terminal struct {
	In, Out *os.File
	Environ []string
}

// Show runs the console until the person leaves. It returns whether they left a live run that was to be cancelled. The
// terminal is given back in every case: on leaving, on a panic, before the first frame.
func Show(opts Options, t Terminal, guard *Guard, quit <-chan struct{}) (err error) {
	defer guard.Restore()
	m, err := New(opts, guard)
	if err != nil {
		return err
	}
	p := tea.NewProgram(caught{m, guard}, tea.WithInput(t.In), tea.WithOutput(t.Out), tea.WithEnvironment(t.Environ),
		tea.WithoutSignalHandler(), tea.WithoutCatchPanics(), tea.WithFPS(framesPerSecond))
	if quit != nil {
		guard.Go(func() {
			<-quit
			p.Quit()
		})
	}
	_, err = p.Run()
	if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, io.EOF) {
		err = nil
	}
	m.written()
	if m.live != nil {
		m.live.Close()
	}
	if m.runs != nil {
		m.runs.Close()
	}
	return err
}

// caught runs the model's functions and commands so that a panic in them restores the terminal.
type caught struct {
	model *Model
	guard *Guard
}

// Init is the model's.
func (c caught) Init() tea.Cmd {
	defer c.guard.Catch()
	return c.cmd(c.model.Init())
}

// Update is the model's.
func (c caught) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer c.guard.Catch()
	_, cmd := c.model.Update(msg)
	return c, c.cmd(cmd)
}

// View is the model's.
func (c caught) View() tea.View {
	defer c.guard.Catch()
	return c.model.View()
}

// cmd guards a command, which runs in a goroutine of the library's, and those that it batches.
func (c caught) cmd(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer c.guard.Catch()
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, inner := range batch {
				batch[i] = c.cmd(inner)
			}
		}
		return msg
	}
}
