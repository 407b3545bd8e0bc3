// Package keys is the key map as data: what each key does, in which place, and how it is called. Screens, the key line,
// the help overlay and the documentation are all made from it.
package keys

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Action is something a key does.
type Action string

// The actions.
const (
	Approve  Action = "approve"
	Deny     Action = "deny"
	DenyStop Action = "deny_stop"
	Defer    Action = "defer"
	Cancel   Action = "cancel"
	Kill     Action = "kill"
	KillNow  Action = "kill_now"
	Pause    Action = "pause"
	Tell     Action = "tell"
	Budget   Action = "budget"
	Happened Action = "it_happened"
	Again    Action = "do_it_again"
	Failed   Action = "it_failed"
	Quit     Action = "quit"
	Back     Action = "back"
	Runs     Action = "runs"
	Summary  Action = "summary"
	Help     Action = "help"
	Up       Action = "up"
	Down     Action = "down"
	PageUp   Action = "page_up"
	PageDown Action = "page_down"
	Top      Action = "top"
	Follow   Action = "follow"
	Detail   Action = "detail"
	Open     Action = "open"
	Find     Action = "find"
	Sort     Action = "sort"
	Copy     Action = "copy"
	Send     Action = "send_denial"
	Discard  Action = "discard_denial"
	SendTell Action = "send_message"
	SetLimit Action = "set_budget"
	Next     Action = "next_field"
	Previous Action = "previous_field"
	Record   Action = "record_finding"
	Close    Action = "close"
	LeaveNow Action = "cancel_and_leave"
	HandOver Action = "leave_it_running"
	Stay     Action = "stay"
	Audit    Action = "audit"
	OneRun   Action = "one_run"
	Verify   Action = "verify"
	Allow    Action = "allow_for_run"
	GiveRule Action = "give_rule"
	Pattern  Action = "edit_rule"
	Try      Action = "rule_typed"
	Change   Action = "change"
	Outside  Action = "open_editor"
	Compare  Action = "show_change"
	AsMade   Action = "approve_change"
	Rework   Action = "edit_change"
	Choose   Action = "choose"
	Write    Action = "write_answer"
	Answer   Action = "send_answer"
	Rules    Action = "rules"
	Revoke   Action = "revoke"
)

// Place is where a binding holds.
type Place string

// The places. Anywhere holds on every screen.
const (
	Anywhere  Place = "anywhere"
	OnCard    Place = "question"
	OnAsk     Place = "question of the agent"
	InAnswer  Place = "answer to the agent"
	OnRule    Place = "rule for this run"
	InRule    Place = "text of a rule"
	InChange  Place = "change of a call"
	OnChange  Place = "changed call"
	InRules   Place = "rules of a run"
	OnLive    Place = "run"
	OnRuns    Place = "runs"
	OnSummary Place = "summary"
	OnAudit   Place = "audit trail"
	InReason  Place = "reason of a denial"
	OnStuck   Place = "interrupted call"
	InFinding Place = "finding about an interrupted call"
	InTell    Place = "message to the agent"
	InBudget  Place = "budgets"
	Killing   Place = "killing a run"
	Leaving   Place = "leaving a live run"
)

// Binding is one action with its keys, in the spelling of the terminal library: "ctrl+c", "pgdown", "A".
type Binding struct {
	Action    Action
	Place     Place
	Keys      []string
	Name      string // a word or two for the key line
	Help      string // a sentence for the help overlay
	Dangerous bool   // it cannot be undone
}

// Map is a set of bindings without conflicts. It is immutable.
type Map struct{ bindings []Binding }

var defaults = []Binding{
	{Approve, OnCard, []string{"a"}, "approve once", "approve the question that is shown, once", true},
	{Allow, OnCard, []string{"A"}, "this run", "propose a rule for the rest of this run; shows what it would allow, asks before it holds", false},
	{Change, OnCard, []string{"e"}, "edit", "change the call before it runs; the policy judges what you made of it", false},
	{Deny, OnCard, []string{"d"}, "deny", "deny with a reason that the model reads; the run goes on", false},
	{DenyStop, OnCard, []string{"D"}, "deny, stop", "deny with a reason and end the run", true},
	{Defer, OnCard, []string{"f"}, "not now", "put the question off: the run pauses, the question stays in the inbox", false},
	{Copy, OnCard, []string{"y"}, "copy", "copy what would happen to the clipboard", false},
	{PageUp, OnCard, []string{"pgup"}, "", "scroll what would happen up", false},
	{PageDown, OnCard, []string{"pgdown"}, "", "scroll what would happen down", false},

	{GiveRule, OnRule, []string{"g"}, "give the rule", "approve what is asked and allow what the rule matches for the rest of this run", true},
	{Pattern, OnRule, []string{"e"}, "edit", "edit the rule; it is tried as you type", false},
	{PageUp, OnRule, []string{"pgup"}, "", "scroll the rule up", false},
	{PageDown, OnRule, []string{"pgdown"}, "", "scroll the rule down", false},
	{Close, OnRule, []string{"esc"}, "back", "back to the question, undecided", false},
	{Try, InRule, []string{"ctrl+d"}, "done", "done with the text; nothing is decided", false},
	{Close, InRule, []string{"esc"}, "back", "back to the question, undecided", false},
	{Compare, InChange, []string{"ctrl+d"}, "compare", "show what was asked beside what you made of it; nothing is decided", false},
	{Outside, InChange, []string{"ctrl+e"}, "editor", "edit in $VISUAL or $EDITOR", false},
	{Close, InChange, []string{"esc"}, "back", "back to the question, undecided", false},
	{AsMade, OnChange, []string{"g"}, "approve as changed", "approve the changed call; the policy judges it, and asks anew where it asks", true},
	{Rework, OnChange, []string{"e"}, "edit", "edit on", false},
	{PageUp, OnChange, []string{"pgup"}, "", "scroll the difference up", false},
	{PageDown, OnChange, []string{"pgdown"}, "", "scroll the difference down", false},
	{Close, OnChange, []string{"esc"}, "back", "back to the question, undecided", false},
	{Choose, OnAsk, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "choose", "answer with the choice of that number", true},
	{Write, OnAsk, []string{"w"}, "write an answer", "answer in your own words", false},
	{Deny, OnAsk, []string{"d"}, "decline", "decline to answer, with a reason that the model reads; the run goes on", false},
	{Defer, OnAsk, []string{"f"}, "not now", "put the question off: the run pauses, the question stays in the inbox", false},
	{Copy, OnAsk, []string{"y"}, "copy", "copy the question to the clipboard", false},
	{PageUp, OnAsk, []string{"pgup"}, "", "scroll the question up", false},
	{PageDown, OnAsk, []string{"pgdown"}, "", "scroll the question down", false},
	{Answer, InAnswer, []string{"ctrl+d"}, "send", "send the answer; it is information for the agent, never a permission", true},
	{Close, InAnswer, []string{"esc"}, "back", "back to the question, unanswered", false},
	{Up, InRules, []string{"up", "k"}, "", "the rule above", false},
	{Down, InRules, []string{"down", "j"}, "", "the rule below", false},
	{Revoke, InRules, []string{"x"}, "revoke", "take the selected rule back, for every call from then on", true},
	{Close, InRules, []string{"esc"}, "back", "leave the rules as they are", false},
	{Cancel, OnLive, []string{"c"}, "cancel", "ask the run to stop at the next safe point; ends a run that nobody drives", true},
	{Pause, OnLive, []string{"p"}, "pause", "pause the run at the next boundary, or let it go on", false},
	{Tell, OnLive, []string{"t"}, "tell", "write a message that the model reads at its next step", false},
	{Budget, OnLive, []string{"b"}, "budget", "set the ceilings of steps, time, tokens and money anew, up or down", false},
	{Rules, OnLive, []string{"l"}, "rules", "the rules that were given for the rest of this run, and taking one back", false},
	{Kill, OnLive, []string{"C"}, "kill", "end the model call and every process now; asks first", true},
	{Up, OnLive, []string{"up", "k"}, "", "the step before", false},
	{Down, OnLive, []string{"down", "j"}, "", "the step after", false},
	{Top, OnLive, []string{"g", "home"}, "", "the first step", false},
	{Follow, OnLive, []string{"G", "end"}, "follow", "follow the newest step", false},
	{PageUp, OnLive, []string{"pgup"}, "", "scroll the detail up", false},
	{PageDown, OnLive, []string{"pgdown"}, "", "scroll the detail down", false},
	{Detail, OnLive, []string{"tab"}, "detail", "switch between steps and detail where only one fits", false},
	{Summary, OnLive, []string{"s"}, "summary", "the summary of a run that has ended", false},

	{Up, OnRuns, []string{"up", "ctrl+p"}, "", "the run above", false},
	{Down, OnRuns, []string{"down", "ctrl+n"}, "", "the run below", false},
	{PageUp, OnRuns, []string{"pgup"}, "", "a page up", false},
	{PageDown, OnRuns, []string{"pgdown"}, "", "a page down", false},
	{Open, OnRuns, []string{"enter"}, "open", "open the selected run", false},
	{Sort, OnRuns, []string{"ctrl+o"}, "sort", "sort by newest, cost, tokens or time", false},
	{Audit, OnRuns, []string{"ctrl+t"}, "audit", "the audit trail of all runs", false},

	{Open, OnSummary, []string{"enter"}, "steps", "the steps of this run", false},
	{Up, OnSummary, []string{"up", "k"}, "", "scroll up", false},
	{Down, OnSummary, []string{"down", "j"}, "", "scroll down", false},
	{PageUp, OnSummary, []string{"pgup"}, "", "a page up", false},
	{PageDown, OnSummary, []string{"pgdown"}, "", "a page down", false},

	{Audit, OnSummary, []string{"a"}, "audit", "the audit trail of this run", false},

	{Up, OnAudit, []string{"up", "k"}, "", "the row above, which is newer", false},
	{Down, OnAudit, []string{"down", "j"}, "", "the row below, which is older", false},
	{PageUp, OnAudit, []string{"pgup"}, "", "a page up", false},
	{PageDown, OnAudit, []string{"pgdown"}, "", "a page down", false},
	{Top, OnAudit, []string{"g", "home"}, "", "the newest row", false},
	{Open, OnAudit, []string{"enter"}, "who let it", "who let the selected act happen: model, version, run, policy and rule, person", false},
	{OneRun, OnAudit, []string{"f"}, "this run only", "only the rows of the selected row's run, or of all runs again", false},
	{Verify, OnAudit, []string{"v"}, "verify again", "verify the trail again and read its newest rows", false},

	{Send, InReason, []string{"ctrl+d"}, "deny", "send the denial with its reason", true},
	{Discard, InReason, []string{"esc"}, "back", "back to the question, undecided", false},

	{Happened, OnStuck, []string{"h"}, "happened", "say that the call happened; asks what you found", true},
	{Again, OnStuck, []string{"a"}, "again", "say that it did not happen and is to be done; asks what you found", true},
	{Failed, OnStuck, []string{"f"}, "failed", "say that it did not happen and tell the model so; asks what you found", true},
	{Copy, OnStuck, []string{"y"}, "copy", "copy the call to the clipboard", false},
	{PageUp, OnStuck, []string{"pgup"}, "", "scroll the call up", false},
	{PageDown, OnStuck, []string{"pgdown"}, "", "scroll the call down", false},

	{Record, InFinding, []string{"ctrl+d"}, "record", "record what you found; it is required", true},
	{Close, InFinding, []string{"esc"}, "back", "back to the call, unresolved", false},

	{SendTell, InTell, []string{"enter"}, "send", "send the message; enter in the middle of a paste is text", false},
	{Close, InTell, []string{"esc"}, "back", "leave the message", false},

	{Next, InBudget, []string{"tab", "down"}, "next", "the next ceiling", false},
	{Previous, InBudget, []string{"shift+tab", "up"}, "", "the ceiling before", false},
	{SetLimit, InBudget, []string{"enter"}, "set", "set the ceilings that were changed", false},
	{Close, InBudget, []string{"esc"}, "back", "leave the ceilings as they are", false},

	{KillNow, Killing, []string{"K"}, "kill it now", "kill the run now", true},
	{Close, Killing, []string{"esc", "s"}, "leave it", "leave the run alone", false},

	{LeaveNow, Leaving, []string{"c"}, "cancel, then leave", "cancel the run at the next safe point, then leave", true},
	{HandOver, Leaving, []string{"l"}, "leave it running", "hand the run to a process of its own at the next safe point, then leave; questions wait in the inbox", false},
	{Stay, Leaving, []string{"s", "esc"}, "stay", "stay", false},

	{Runs, Anywhere, []string{"r"}, "runs", "every run in this store; on that list letters are the search", false},
	{Help, Anywhere, []string{"?", "f1"}, "keys", "every key, and why some do nothing now", false},
	{Back, Anywhere, []string{"esc"}, "back", "close what is on top", false},
	{Quit, Anywhere, []string{"q", "ctrl+c"}, "quit", "leave; asks first while a run of this console is going, detaches from a run of another process (on the list of runs: ctrl+c)", false},
}

// forbidden are keys that terminals, multiplexers and shells keep for themselves: a default on them would be eaten, or
// would freeze the screen.
var forbidden = []string{"ctrl+a", "ctrl+b", "ctrl+q", "ctrl+s", "ctrl+z"}

// Default is the map as shipped.
func Default() *Map { return &Map{bindings: slices.Clone(defaults)} }

// Rebind is the map with other keys for some actions, wherever they hold. An unknown action and two actions on one key
// in one place are errors that name them.
func (m *Map) Rebind(changes map[string][]string) (*Map, error) {
	out := &Map{bindings: slices.Clone(m.bindings)}
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		found := false
		for i, b := range out.bindings {
			if string(b.Action) == name {
				out.bindings[i].Keys, found = slices.Clone(changes[name]), true
			}
		}
		if !found {
			return nil, fmt.Errorf("keys: there is no action %q", name)
		}
	}
	for _, b := range out.bindings {
		for _, k := range b.Keys {
			if b.decides() && (k == "enter" || k == "space" || k == " " || k == "esc") {
				return nil, fmt.Errorf("keys: %s cannot be on %q, which never decides", b.Action, k)
			}
		}
	}
	return out, out.check()
}

// decides says that the binding answers a question, or stands on one where a key might.
func (b Binding) decides() bool {
	switch b.Place {
	case OnCard, OnAsk, OnStuck:
		return true
	}
	switch b.Action {
	case KillNow, GiveRule, AsMade, Answer, Revoke, Send:
		return true
	}
	return false
}

// check finds two actions that one key would mean.
func (m *Map) check() error {
	for i, a := range m.bindings {
		for _, b := range m.bindings[i+1:] {
			if !together(a.Place, b.Place) || a.Action == b.Action {
				continue
			}
			for _, k := range a.Keys {
				if slices.Contains(b.Keys, k) {
					return fmt.Errorf("keys: %q would be both %s and %s", k, a.Action, b.Action)
				}
			}
		}
	}
	return nil
}

// together says that bindings of both places can hold at one moment: a question stands on the screen of a run.
func together(a, b Place) bool {
	asks := func(p Place) bool { return p == OnCard || p == OnAsk || p == OnStuck }
	onRun := func(p Place) bool { return p == OnLive || asks(p) }
	if a != b && asks(a) && asks(b) {
		return false // never both
	}
	return a == b || a == Anywhere && !b.apart() || b == Anywhere && !a.apart() || onRun(a) && onRun(b)
}

// apart says that nothing else holds in this place: it lies on top of everything.
func (p Place) apart() bool {
	switch p {
	case InReason, OnRule, InRule, InChange, OnChange, InAnswer, InRules, InFinding, InTell, InBudget, Killing, Leaving:
		return true
	}
	return false
}

// Find is the action that a key means in the first of the places where it means one; Anywhere is always looked at last.
func (m *Map) Find(key string, places ...Place) (Binding, bool) {
	for _, p := range append(places, Anywhere) {
		for _, b := range m.bindings {
			if b.Place == p && slices.Contains(b.Keys, key) {
				return b, true
			}
		}
	}
	return Binding{}, false
}

// In lists the bindings of a place.
func (m *Map) In(p Place) []Binding {
	var out []Binding
	for _, b := range m.bindings {
		if b.Place == p {
			out = append(out, b)
		}
	}
	return out
}

// Get is an action's binding in a place.
func (m *Map) Get(a Action, p Place) (Binding, bool) {
	for _, b := range m.bindings {
		if b.Action == a && b.Place == p {
			return b, true
		}
	}
	return Binding{}, false
}

// Cap is how a key is written on its cap.
func Cap(key string) string {
	switch key {
	case "enter":
		return "enter"
	case "pgdown":
		return "pgdn"
	}
	return key
}

// Places are all places, in the order of the documentation.
func Places() []Place {
	return []Place{
		OnCard, InReason, OnRule, InRule, InChange, OnChange, OnAsk, InAnswer, OnStuck, InFinding, OnLive, InRules, InTell, InBudget, Killing, OnRuns, OnSummary, OnAudit, Leaving, Anywhere,
	}
}

// Markdown is the map as a table for the documentation.
func (m *Map) Markdown() string {
	var b strings.Builder
	for _, p := range Places() {
		fmt.Fprintf(&b, "\n### %s\n\n| keys | action | what it does |\n| --- | --- | --- |\n", p)
		for _, bind := range m.In(p) {
			caps := make([]string, len(bind.Keys))
			for i, k := range bind.Keys {
				caps[i] = "`" + Cap(k) + "`"
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", strings.Join(caps, " "), bind.Action, bind.Help)
		}
	}
	return b.String()
}
