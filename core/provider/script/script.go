// Package script is a model that follows a script: for demonstrations and tests that need no endpoint.
//
// A script is a list of turns. The first turn whose conditions hold over the conversation so far is the answer. The
// conversation is all a script knows: it keeps no place and counts no calls, so an answer is the same whenever the same
// question is asked, in another process too. It recognises what became of a call, and who is speaking, by the tags of
// package wording.
//
// A script is TOML:
//
//	name = "demo"                 # what the provider calls itself; "script" when absent
//	model = "scripted"            # the model named in answers; the one asked for when absent
//	pace = "800ms"                # how long an answer takes; 0 when absent
//	acknowledge = "Noted: {told}" # said first when the operator has spoken, unless the turn looks for their words
//
//	[[turn]]
//	name = "fix"                  # for conditions of other turns, and errors
//	say = "I'll fix it."          # may hold {told}, the operator's newest words, and {reason}, the newest denial's
//	pace = "2s"
//	calls = [{ tool = "edit", args = { path = "a", old = "x", new = "y" } }]
//	[turn.when]                   # all of these must hold; none given always holds
//	last = ["failed: exec sh check.sh"]
//	unseen = ["settled: @fix"]
//
// A turn without calls ends the model's work, as far as it is concerned.
//
// # Conditions
//
//	last           the newest call is one of these
//	seen           each of these has been called
//	unseen         none of these has been called
//	count          [{ of = "…", min = 1, max = 2 }]: that many calls were this, for each
//	turns          { min = 3, max = 9 }: that many answers were given before
//	checks         { min = 1 }: that many checks have failed
//	gate           "failed" or "quiet": whether a check failed since the last answer
//	stuck          true or false: whether the note about lacking progress came since the last answer
//	told           the operator said one of these since the last answer
//	heard          the operator ever said one of these …
//	unless_later   … and has not said one of these since
//	unheard        the operator never said one of these
//	declined       the operator denied some call with a reason like one of these
//	undeclined     and with none like these
//	result         the newest call's result has one of these
//	said           an earlier answer has one of these
//	unsaid         no earlier answer has one of these
//
// Calls are written as a tool and its target, either with * for anything: "exec sh *", "edit lib/*", "grep". The target
// is argv with spaces between, or the first of pattern, glob, path, url, question, name and key that is an argument.
// "@fix" is any call with exactly the tool and arguments of one that the turns of that name make. Before it may stand
// what must have become of the call: "ok", "failed", "changed" (done, but as the operator changed it), "refused" (by the
// policy), "denied" (by the operator), "cancelled", "interrupted", "killed", "file_changed", "not_run", "unknown",
// several joined by |, or "done" (ok, changed), "barred" (refused, denied), "settled" (done, barred, failed) or "broken"
// (the rest).
//
// Words of the operator, of results and of answers are looked for as whole words, whatever stands between them and
// whatever their case; "*" is anything at all. A phrase led by ! must be absent: ["stop", "!don't stop"].
package script

import (
	"fmt"
	"time"
)

// Script is a parsed script. It does not change and may be shared.
type Script struct {
	name        string
	model       string
	acknowledge string
	turns       []turn
}

// turn is one answer and when it is given.
type turn struct {
	name  string
	place int // in the script, from 1
	when  when
	say   string
	calls []made
	pace  time.Duration
}

// made is a call that a turn makes, its arguments as the JSON that it is sent with.
type made struct{ tool, arguments string }

// when is a turn's conditions. Those left out are nil or empty and hold.
type when struct {
	last                   []pattern
	seen, unseen           []pattern
	count                  []tally
	turns, checks          span
	gateFailed, stuck      *bool
	told, heard, takenBack phrases
	unheard                phrases
	declined, undeclined   phrases
	result, said, unsaid   phrases
}

// tally wants calls that fit a pattern in a number.
type tally struct {
	of     pattern
	number span
}

// span is a range of numbers; nil leaves a side open.
type span struct{ min, max *int }

func (s span) holds(n int) bool {
	return (s.min == nil || n >= *s.min) && (s.max == nil || n <= *s.max)
}

func (s span) check() error {
	if s.min != nil && s.max != nil && *s.min > *s.max {
		return fmt.Errorf("min %d is above max %d", *s.min, *s.max)
	}
	return nil
}

// choose is the first turn that fits, nil if none does.
func (s *Script) choose(sc *scene) *turn {
	for i := range s.turns {
		if s.turns[i].when.holds(sc) {
			return &s.turns[i]
		}
	}
	return nil
}
