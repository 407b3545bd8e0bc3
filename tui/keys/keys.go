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
	LeaveNow Action = "cancel_and_leave"
	Stay     Action = "stay"
	Audit    Action = "audit"
	OneRun   Action = "one_run"
	Verify   Action = "verify"
)

// Place is where a binding holds.
type Place string

// The places. Anywhere holds on every screen.
const (
	Anywhere  Place = "anywhere"
	OnCard    Place = "question"
	OnLive    Place = "run"
	OnRuns    Place = "runs"
	OnSummary Place = "summary"
	OnAudit   Place = "audit trail"
	InReason  Place = "reason of a denial"
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
	{Deny, OnCard, []string{"d"}, "deny with reason", "deny with a reason that the model reads; the run goes on", false},
	{DenyStop, OnCard, []string{"D"}, "deny and stop", "deny with a reason and end the run", true},
	{Defer, OnCard, []string{"f"}, "not now", "put the question off: the run pauses, the question stays in the inbox", false},
	{Copy, OnCard, []string{"y"}, "copy", "copy what would happen to the clipboard", false},
	{PageUp, OnCard, []string{"pgup"}, "", "scroll what would happen up", false},
	{PageDown, OnCard, []string{"pgdown"}, "", "scroll what would happen down", false},

	{Cancel, OnLive, []string{"c"}, "cancel", "ask the run to stop at the next safe point", true},
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

	{LeaveNow, Leaving, []string{"c"}, "cancel, then leave", "cancel the run at the next safe point, then leave", true},
	{Stay, Leaving, []string{"s", "esc"}, "stay", "stay", false},

	{Runs, Anywhere, []string{"r"}, "runs", "every run in this store; on that list letters are the search", false},
	{Help, Anywhere, []string{"?", "f1"}, "keys", "every key, and why some do nothing now", false},
	{Back, Anywhere, []string{"esc"}, "back", "close what is on top", false},
	{Quit, Anywhere, []string{"q", "ctrl+c"}, "quit", "leave; asks first while a run of this console is going (on the list of runs: ctrl+c)", false},
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
			if b.Place == OnCard && (k == "enter" || k == "space" || k == " " || k == "esc") {
				return nil, fmt.Errorf("keys: %s cannot be on %q, which never decides", b.Action, k)
			}
		}
	}
	return out, out.check()
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
	onRun := func(p Place) bool { return p == OnCard || p == OnLive }
	return a == b || a == Anywhere && !b.apart() || b == Anywhere && !a.apart() || onRun(a) && onRun(b)
}

// apart says that nothing else holds in this place: it lies on top of everything.
func (p Place) apart() bool { return p == InReason || p == Leaving }

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

// Markdown is the map as a table for the documentation.
func (m *Map) Markdown() string {
	var b strings.Builder
	for _, p := range []Place{OnCard, InReason, OnLive, OnRuns, OnSummary, OnAudit, Leaving, Anywhere} {
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
