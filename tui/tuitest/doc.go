// Package tuitest drives a real program in a pseudo-terminal under a terminal
// emulator, as a person would see and use it. It is for tests only.
//
//	t := tuitest.Start(tb, tuitest.Options{Args: []string{"demo", "--fast"}, Answer: true})
//	t.WaitFor("Approve?", 0)
//	t.Press("a")
//	t.Match("live-approved")
//	t.Press("q")
//	if err := t.Exit().Err(); err != nil { … }
//
// The program runs as the foreground job of a shell with job control, as in
// life: it has a controlling terminal, can be suspended and continued, and the
// terminal it leaves behind (line settings, modes, input nobody read) is looked
// at before the shell goes. Its environment is built from nothing: a home of
// its own, no keys of the person who runs the tests.
//
// Nothing here waits by sleeping. [Term.WaitFor] and [Term.WaitUntil] look again
// whenever the program wrote something; [Term.WaitIdle] waits until it wrote
// nothing for [Quiet], has read every key, has no thread that wants to run and
// left nothing unread. Only [Options.Pace] and the gaps of [Term.RawSplit], which
// stand for a slow hand or a slow line, take time.
//
// A Term belongs to the goroutine of its test; every failure ends the test with
// the screen printed.
//
// # Goldens
//
// [Term.Match] compares the screen with testdata/golden/NAME.golden and rewrites
// the file when the test runs with -update. The file is made for reading and
// for diffs: a line with the size, the cursor and the title, the rows of text,
// then for every row that is not plain its styled columns:
//
//	size 40x12, cursor hidden, title "2 waiting"
//	────────────────────────────────────────
//	 Approve?  go test ./...
//	…
//	────────────────────────────────────────
//	0: 1-8 fg=#f2b866 bold, 11-23 bg=#151c25
//
// Columns count from 0 and in cells. A colour is #rrggbb, or its number in the
// terminal's palette. What cannot be seen, such as the text colour of a blank, is
// left out. Text that differs from run to run is covered by a [Mask].
//
// # Scenarios
//
// [Run] plays a file in a small language, one step a line. Empty lines and lines
// that begin with # are skipped. TEXT is the rest of the line, or a Go string in
// double quotes; WORDS are split at spaces, where a word may be such a string.
// Lines "-- name --" end the steps; each begins a file of that name in the
// directory where the program starts, up to the next such line.
//
// Before start:
//
//	size 120x40            the terminal's columns and rows (80x24)
//	profile 256            truecolor, 256, 16, NO_COLOR or ascii
//	light                  a light terminal (dark)
//	silent                 a terminal that answers no question
//	env KEY=VALUE          one more variable
//	terminal NAME          from here on lines speak of terminal NAME; all terminals
//	                       share one home, and begin with the settings given so far
//
// Running:
//
//	start WORDS            starts the program with these arguments
//	wait TEXT              until a row of the screen holds the text
//	gone TEXT              until the program is idle and no row holds it
//	idle                   until the program is idle
//	stopped                until it is suspended
//	continue               brings a suspended program back to the foreground
//	exit CODE              until it ended with this exit code (128+n when signal n
//	                       ended it), having given the terminal back
//	exit CODE dirty        the same, whatever became of the terminal
//
// Doing:
//
//	press a enter ctrl+c   keys, one after the other; names as in [Term.Press]
//	type TEXT              the keys of a text
//	paste TEXT             a paste, bracketed when the program asked for that
//	raw TEXT               bytes as they are
//	split 300ms WORDS      bytes in parts, so far apart
//	pace 80ms              time between keys from here on
//	timeout 30s            how long later waits may take (20s)
//	resize 80x24           another size
//	signal TERM            a signal: INT TERM HUP QUIT KILL USR1 USR2 STOP TSTP CONT
//	stall 2s               the terminal takes nothing for this long
//	sh COMMAND             a shell command beside it, with the same home; it must
//	                       succeed. $TILLERMAN is the program
//	! sh COMMAND           it must fail
//
// Looking, at the screen as it is now:
//
//	golden NAME            idle, then [Term.Match]
//	expect TEXT            a row holds the text
//	absent TEXT            no row does
//	title TEXT             the terminal's title is exactly this
//	out TEXT               the last command printed this
//	! out TEXT             it did not
//	mask NAMES             covers text in later goldens: durations, clocks, digests,
//	                       pids, paths, or /a regular expression/ (see [Mask])
package tuitest
