package tuitest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// action is what a step does.
type action func(*player)

// when says where among the others a step may stand.
type when int

const (
	anywhere when = iota
	before        // no program runs in the terminal
	after         // it was started; it may have ended
)

// verb is a kind of step.
type verb struct {
	when  when
	parse func(args string) (action, error)
	not   func(args string) (action, error) // its opposite, written with "! "
}

// verbs are the kinds of steps by their names. The package's comment explains
// them.
var verbs = map[string]verb{
	"size":     {before, parseSize(func(p *player, cols, rows int) { p.now.opts.Cols, p.now.opts.Rows = told(cols), told(rows) }), nil},
	"profile":  {before, parseProfile, nil},
	"light":    {before, bare(func(p *player) { p.now.opts.Light = true }), nil},
	"silent":   {before, bare(func(p *player) { p.now.opts.Answer = false }), nil},
	"env":      {before, parseEnv, nil},
	"terminal": {anywhere, parseTerminal, nil},
	"start":    {before, withWords(func(p *player, args []string) { p.start(args) }), nil},

	"wait":     {after, withText(func(p *player, s string) { p.now.term.WaitFor(s, 0) }), nil},
	"gone":     {after, withText((*player).gone), nil},
	"idle":     {after, bare(func(p *player) { p.now.term.WaitIdle() }), nil},
	"stopped":  {after, bare(func(p *player) { p.now.term.WaitStopped() }), nil},
	"continue": {after, bare(func(p *player) { p.now.term.Continue() }), nil},
	"exit":     {after, parseExit, nil},

	"press":   {after, parsePress, nil},
	"type":    {after, withText(func(p *player, s string) { p.now.term.Type(s) }), nil},
	"paste":   {after, withText((*player).paste), nil},
	"raw":     {after, withText(func(p *player, s string) { p.now.term.Raw([]byte(s)) }), nil},
	"split":   {after, parseSplit, nil},
	"pace":    {anywhere, withSpan((*player).pace), nil},
	"timeout": {anywhere, withSpan((*player).timeout), nil},
	"resize":  {after, parseSize(func(p *player, cols, rows int) { p.now.term.Resize(cols, rows) }), nil},
	"signal":  {after, parseSignal, nil},
	"stall":   {after, withSpan(func(p *player, d time.Duration) { p.now.term.Stall(d) }), nil},
	"sh": {
		anywhere,
		withLine(func(p *player, s string) { p.shell(s, true) }),
		withLine(func(p *player, s string) { p.shell(s, false) }),
	},

	"golden": {after, parseGolden, nil},
	"expect": {after, withText((*player).expect), nil},
	"absent": {after, withText((*player).absent), nil},
	"title":  {after, withText((*player).title), nil},
	"out": {
		anywhere,
		withText(func(p *player, s string) { p.printed(s, true) }),
		withText(func(p *player, s string) { p.printed(s, false) }),
	},
	"mask": {anywhere, parseMask, nil},
}

func bare(do action) func(string) (action, error) {
	return func(args string) (action, error) {
		if args != "" {
			return nil, fmt.Errorf("takes nothing, not %q", args)
		}
		return do, nil
	}
}

func withText(do func(*player, string)) func(string) (action, error) {
	return func(args string) (action, error) {
		text, err := oneText(args)
		return func(p *player) { do(p, text) }, err
	}
}

// withLine takes the rest of the line as it is.
func withLine(do func(*player, string)) func(string) (action, error) {
	return func(args string) (action, error) {
		if args == "" {
			return nil, errors.New("a command is missing")
		}
		return func(p *player) { do(p, args) }, nil
	}
}

func withWords(do func(*player, []string)) func(string) (action, error) {
	return func(args string) (action, error) {
		all, err := words(args)
		return func(p *player) { do(p, all) }, err
	}
}

func withSpan(do func(*player, time.Duration)) func(string) (action, error) {
	return func(args string) (action, error) {
		d, err := span(args)
		return func(p *player) { do(p, d) }, err
	}
}

func span(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > time.Hour {
		return 0, fmt.Errorf("%q is no span of time, such as 300ms", text)
	}
	return d, nil
}

func parseSize(do func(p *player, cols, rows int)) func(string) (action, error) {
	return func(args string) (action, error) {
		c, r, ok := strings.Cut(args, "x")
		cols, err1 := strconv.ParseUint(c, 10, 15)
		rows, err2 := strconv.ParseUint(r, 10, 15)
		// A screen is held whole; no terminal comes near this.
		if !ok || err1 != nil || err2 != nil || cols*rows > 1_000_000 {
			return nil, fmt.Errorf("%q is no size, such as 80x24", args)
		}
		return func(p *player) { do(p, int(cols), int(rows)) }, nil
	}
}

// told turns a size of a scenario, where 0 is a terminal that does not tell,
// into one of Options.
func told(n int) int {
	if n == 0 {
		return Unsized
	}
	return n
}

func parseProfile(args string) (action, error) {
	switch profile := Profile(args); profile {
	case TrueColor, ANSI256, ANSI16, NoColor, ASCII:
		return func(p *player) { p.now.opts.Profile = profile }, nil
	default:
		return nil, fmt.Errorf("%q is not truecolor, 256, 16, NO_COLOR or ascii", args)
	}
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=[^\x00]*$`)

func parseEnv(args string) (action, error) {
	entry, err := oneText(args)
	if err == nil && !variable.MatchString(entry) {
		err = fmt.Errorf("%q is not KEY=VALUE", entry)
	}
	return func(p *player) {
		p.now.opts.Env = append(p.now.opts.Env[:len(p.now.opts.Env):len(p.now.opts.Env)], entry)
	}, err
}

var simpleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*)*$`)

func parseTerminal(args string) (action, error) {
	if !simpleName.MatchString(args) {
		return nil, fmt.Errorf("%q is no name", args)
	}
	return func(p *player) { p.sit(args) }, nil
}

func parseGolden(args string) (action, error) {
	if !simpleName.MatchString(args) {
		return nil, fmt.Errorf("%q is no name", args)
	}
	return func(p *player) { p.now.term.Match(args, p.masks...) }, nil
}

func parsePress(args string) (action, error) {
	keys, err := words(args)
	if err == nil && len(keys) == 0 {
		err = errors.New("a key is missing")
	}
	for _, key := range keys {
		if err == nil {
			_, err = encode(key)
		}
	}
	return func(p *player) { p.now.term.Press(keys...) }, err
}

func parseSplit(args string) (action, error) {
	all, err := words(args)
	if err != nil {
		return nil, err
	}
	if len(all) < 3 {
		return nil, errors.New("needs a span of time and two parts")
	}
	gap, err := span(all[0])
	var parts [][]byte
	for _, word := range all[1:] {
		parts = append(parts, []byte(word))
	}
	return func(p *player) { p.now.term.RawSplit(parts, gap) }, err
}

func parseExit(args string) (action, error) {
	number, dirty := strings.CutSuffix(args, " dirty")
	code, err := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
	if err != nil {
		return nil, fmt.Errorf("%q is no exit code", args)
	}
	return func(p *player) { p.exit(int(code), dirty) }, nil
}

func parseSignal(args string) (action, error) {
	sig, ok := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "STOP": syscall.SIGSTOP, "TSTP": syscall.SIGTSTP, "CONT": syscall.SIGCONT,
	}[args]
	if !ok {
		return nil, fmt.Errorf("%q is no signal, such as TERM", args)
	}
	return func(p *player) { p.now.term.Signal(sig) }, nil
}

func parseMask(args string) (action, error) {
	names, err := words(args)
	if err == nil && len(names) == 0 {
		err = errors.New("a mask is missing")
	}
	var masks []func(*Home) Mask
	fixed := func(m Mask) { masks = append(masks, func(*Home) Mask { return m }) }
	for _, name := range names {
		expr, opened := strings.CutPrefix(name, "/")
		expr, closed := strings.CutSuffix(expr, "/")
		switch {
		case opened && closed && expr != "":
			find, wrong := regexp.Compile(expr)
			if wrong != nil {
				return nil, wrong
			}
			fixed(Mask{find, '░'})
		case name == "durations":
			fixed(Durations())
		case name == "clocks":
			fixed(Clocks())
		case name == "digests":
			fixed(Digests())
		case name == "pids":
			fixed(PIDs())
		case name == "paths":
			masks = append(masks, (*Home).Paths)
		default:
			return nil, fmt.Errorf("no mask is named %q", name)
		}
	}
	return func(p *player) {
		for _, mask := range masks {
			p.masks = append(p.masks, mask(p.home))
		}
	}, err
}
