package tuitest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"go.uber.org/goleak"
)

// TestMain is also the program that the tests drive: run with TUITEST_PROGRAM
// set, the test binary is that program.
func TestMain(m *testing.M) {
	if os.Getenv("TUITEST_PROGRAM") != "" {
		os.Exit(runProgram())
	}
	goleak.VerifyTestMain(m)
}

// teaProgram is the command of the Bubble Tea program.
func teaProgram() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TUITEST_PROGRAM=tea"}
	return cmd
}

// shell is the command of a shell script. It may read lines with "read".
func shell(script string) *exec.Cmd { return exec.Command("/bin/sh", "-c", script) }

func runProgram() int {
	m, err := tea.NewProgram(&model{name: strings.Join(os.Args[1:], " ")}).Run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return m.(*model).code
}

// model shows its name, its size, the terminal's ground and the last keys.
type model struct {
	name          string
	width, height int
	keys          []string
	pasted        string
	ground        string
	mouse         bool
	code          int
}

func (m *model) Init() tea.Cmd { return tea.RequestBackgroundColor }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		m.ground = "light"
		if msg.IsDark() {
			m.ground = "dark"
		}
	case tea.PasteMsg:
		m.pasted = msg.Content
	case tea.KeyPressMsg:
		m.keys = append(m.keys, msg.String())
		switch msg.String() {
		case "q":
			return m, tea.Quit
		case "x":
			m.code = 7
			return m, tea.Quit
		case "m":
			m.mouse = true
		case "!":
			panic("on purpose")
		case "ctrl+z":
			return m, tea.Suspend
		case "ctrl+l":
			m.keys = nil
		}
	}
	return m, nil
}

func (m *model) View() tea.View {
	title := lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("#5fd0c5")).Render("tiny " + m.name)
	size := lipgloss.NewStyle().Background(lipgloss.Color("#1d2733")).Width(max(1, m.width)).Render(fmt.Sprintf(" %d×%d %s", m.width, m.height, m.ground))
	rows := []string{title, size, "keys: " + strings.Join(m.keys, " "), fmt.Sprintf("pasted: %q", m.pasted), "wide: 日本 e\u0301 👩‍🚀 end"}
	v := tea.NewView(strings.Join(rows, "\n"))
	v.AltScreen = true
	v.WindowTitle = "tiny"
	if m.mouse {
		v.MouseMode = tea.MouseModeAllMotion
	}
	return v
}
