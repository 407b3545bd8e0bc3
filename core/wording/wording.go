// Package wording holds the tags by which a conversation tells a model what became of its calls and who is speaking.
// The engine writes them at the start of a text; a scripted model reads them. A tag in a tool result speaks about the
// call with that id; a tag in a user message names the speaker. Tool output that merely looks like a tag stays inside
// its result, so it can never pass for the operator.
package wording

import "strings"

// Tags that open a tool result which is not simply the tool's own output.
const (
	// Refused opens the result of a call that the policy denied; nothing was done and nobody was asked.
	Refused = "[refused by policy]"
	// Denied opens the result of a call that somebody declined when asked; the rest of the text is their reason.
	Denied = "[denied by the operator]"
	// Cancelled opens the result of a call that was waiting for an answer when the run was cancelled.
	Cancelled = "[cancelled]"
	// Interrupted opens the result of a call that was cut off because the driving process went away.
	Interrupted = "[interrupted]"
	// Killed opens the result of a call whose processes were ended by a kill of the run.
	Killed = "[killed]"
	// FileChanged opens the result of a write that was not made: the file was no longer what the write was based on.
	FileChanged = "[file changed]"
	// ChangedByOperator opens the result of a call that was done, but not as asked: the operator approved it changed.
	ChangedByOperator = "[changed by the operator]"
	// NotRun opens the result of, or a note about, calls that were never looked at: the step was broken off before
	// them, or the answer that held them was cut.
	NotRun = "[not run]"
	// OutcomeUnknown opens the result of a call that had begun when its process died and that must not be repeated.
	OutcomeUnknown = "[outcome unknown]"
)

// Tags that open a user message which is not the goal.
const (
	// CheckFailed opens what a failed check printed.
	CheckFailed = "[check failed]"
	// Operator opens what a person said to a running agent.
	Operator = "[operator]"
	// NoProgress opens the note that asks an agent which changes nothing to try something else.
	NoProgress = "[no progress]"
)

// Tag puts a tag before a text, with one space between them; an empty text leaves the tag alone.
func Tag(tag, text string) string {
	if text == "" {
		return tag
	}
	return tag + " " + text
}

// Cut takes a tag off the start of a text. ok is false, and rest the whole text, when it does not start with the tag.
func Cut(text, tag string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, tag)
	if !ok || rest != "" && !strings.ContainsRune(" \n", rune(rest[0])) {
		return text, false
	}
	return strings.TrimLeft(rest, " \n"), true
}
