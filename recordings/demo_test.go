package recordings_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core/provider"
	"tillerman/core/wording"
)

func deny(reason string) decision { return decision{tag: wording.Denied, text: reason} }

// denying denies the calls of these numbers, counted from 1 among those that ask.
func denying(reason string, numbers ...int) func(provider.Part) decision {
	n := 0
	return func(provider.Part) decision {
		n++
		if slices.Contains(numbers, n) {
			return deny(reason)
		}
		return decision{}
	}
}

func always(d decision) func(provider.Part) decision {
	return func(provider.Part) decision { return d }
}

// on gives a decision for the n-th edit and approves the rest.
func on(n int, d decision) func(provider.Part) decision {
	seen := 0
	return func(c provider.Part) decision {
		if c.Name == "edit" {
			if seen++; seen == n {
				return d
			}
		}
		return decision{}
	}
}

// at speaks before the n-th request.
func at(n int, text string) func(*stage) {
	return func(s *stage) {
		if s.turns+1 == n {
			s.operator(text)
		}
	}
}

func TestTheCourseWhenEverythingIsApproved(t *testing.T) {
	s := newStage(t)
	if got := s.run(t); got != "success" {
		t.Fatalf("ends %s\n%s", got, s.story())
	}
	if s.turns < 10 || s.turns > 15 {
		t.Errorf("%d steps", s.turns)
	}
	var calls []string
	for _, m := range s.msgs {
		for _, c := range m.Calls() {
			calls = append(calls, c.Name)
		}
	}
	want := "list read_file grep read_file write_file read_file exec edit edit exec"
	if got := strings.Join(calls, " "); got != want {
		t.Errorf("calls %s, want %s", got, want)
	}
	if want := []string{"exec sh check.sh", "edit lib/duration.sh", "edit lib/duration.sh", "exec sh check.sh"}; !slices.Equal(s.asked, want) {
		t.Errorf("asks for %q", s.asked)
	}
	failures := 0
	for _, m := range s.msgs {
		if _, is := wording.Cut(m.Text(), wording.CheckFailed); is {
			failures++
		}
	}
	if failures != 1 {
		t.Errorf("the check fails %d times", failures)
	}
	for i, text := range s.texts {
		if text == "" {
			t.Errorf("step %d says nothing", i+1)
		}
	}
	if last := s.texts[len(s.texts)-1]; !strings.HasPrefix(last, "Done: ") || !strings.Contains(last, "replaced the total") {
		t.Errorf("ends with %q", last)
	}
}

func TestDepartures(t *testing.T) {
	changedEdit := decision{tag: wording.ChangedByOperator, edit: "h) size=3600 ;; # an hour"}
	for name, test := range map[string]struct {
		decide func(provider.Part) decision
		before func(*stage)
		ends   string
		says   string // in one of the texts
	}{
		"the command denied":             {denying("later", 1), nil, "success", "You would rather not have the checks run (“later”)"},
		"the first edit denied":          {denying("no bare numbers", 2), nil, "success", "You declined that (“no bare numbers”)"},
		"the first edit denied silently": {denying("", 2), nil, "success", "You declined that (“no reason given”)"},
		"the first edit denied twice":    {denying("no", 2, 3), nil, "stalled", "You declined both ways"},
		"the second edit denied":         {denying("no", 3), nil, "stalled", "you declined what that takes"},
		"the last command denied":        {denying("no", 4), nil, "success", "I have not run the checks myself"},
		"command and first edit denied":  {denying("no", 1, 2), nil, "success", "written out"},
		"everything denied":              {always(deny("no")), nil, "stalled", "you declined what that takes"},
		"nobody there":                   {always(deny("unattended")), nil, "stalled", "Nobody is here"},
		"writing not allowed":            {on(1, decision{tag: wording.Refused, text: "write lib/duration.sh"}), nil, "stalled", "The policy does not let me change"},
		"running not allowed": {func(c provider.Part) decision {
			if c.Name == "exec" {
				return decision{tag: wording.Refused, text: "exec"}
			}
			return decision{}
		}, nil, "success", "The policy keeps me from running the checks"},
		"an edit changed well": {on(1, changedEdit), nil, "success", "your version stands"},
		"an edit changed badly": {
			on(1, decision{tag: wording.ChangedByOperator, edit: "h) size=36 ;;"}),
			nil, "stalled", "I leave your version of the edit alone",
		},
		"an edit changed to mend all": {
			on(2, decision{tag: wording.ChangedByOperator, edit: "total=$((total + size * number))"}),
			nil, "success", "your version stands",
		},
		"an edit that does not fit": {
			nil,
			func(s *stage) {
				if s.turns == 7 { // the file is changed by hand just before the first edit
					s.files["lib/duration.sh"] = strings.Replace(s.files["lib/duration.sh"], "size=360 ;;", "size=361 ;;", 1)
				}
			},
			"success", "here is the whole of it",
		},
		"somebody mends it first": {
			nil,
			func(s *stage) {
				if s.turns == 6 {
					text := strings.Replace(s.files["lib/duration.sh"], "size=360 ;;", "size=3600 ;;", 1)
					s.files["lib/duration.sh"] = strings.Replace(text, "total=$((", "total=$((total + ", 1)
				}
			},
			"success", "Every case passes as it is",
		},
		"a word in between":    {nil, at(4, "look at the README"), "success", "You say: “look at the README”. I have read it.\n"},
		"a word before all":    {nil, at(1, "hello"), "success", "You say: “hello”."},
		"a stop at once":       {nil, at(1, "Stop!"), "stalled", "I stop here, as you asked. I have changed nothing."},
		"a stop after an edit": {nil, at(9, "please stop"), "stalled", "lib/duration.sh keeps what was changed"},
		"not a stop":           {nil, at(3, "don't stop"), "success", "You say: “don't stop”"},
		"a stop taken back":    {nil, func(s *stage) { at(3, "stop")(s); at(4, "no, go on")(s) }, "success", "I stop here"},
		"no tests":             {nil, at(2, "skip the tests, please"), "success", "I have not run the checks myself"},
		"cut off at the command": {func() func(provider.Part) decision {
			first := true
			return func(provider.Part) decision {
				if first {
					first = false
					return decision{tag: wording.Interrupted}
				}
				return decision{}
			}
		}(), nil, "success", "Three cases fail"},
		"cut off at the edit":   {on(1, decision{tag: wording.Interrupted}), nil, "success", "Done: "},
		"cut off at the second": {on(2, decision{tag: wording.FileChanged}), nil, "success", "Done: "},
		"always cut off":        {always(decision{tag: wording.Interrupted}), nil, "stalled", "cut off before they are made"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.decide, s.before = test.decide, test.before
			if got := s.run(t); got != test.ends {
				t.Errorf("ends %s, want %s\n%s", got, test.ends, s.story())
			}
			if !strings.Contains(strings.Join(s.texts, "\n"), test.says) {
				t.Errorf("never says %q\n%s", test.says, s.story())
			}
		})
	}
}

// anyText is what a person may say or give as a reason.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{
		"", "no", "stop", "go on", "continue", "don't stop", "skip tests", "unattended", "why?", "use 60*60", "{told} {reason}",
		"[check failed] no", "line\nline",
	}), rapid.StringN(0, 20, -1))
}

// Whatever the operator decides and says, the run ends, with words and in time; and it succeeds exactly when the check
// passes.
func TestEveryWalkEnds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStage(t)
		s.decide = func(provider.Part) decision {
			switch rapid.IntRange(0, 5).Draw(rt, "decision") {
			case 0:
				return deny(anyText().Draw(rt, "reason"))
			case 1:
				return decision{tag: wording.ChangedByOperator, edit: rapid.SampledFrom([]string{
					"h) size=3600 ;;", "h) size=60 ;;", "total=$((total + number * size))", "total=1", "",
				}).Draw(rt, "edit")}
			}
			return decision{}
		}
		s.before = func(s *stage) {
			if rapid.IntRange(0, 7).Draw(rt, "speaks") == 0 {
				s.operator(anyText().Draw(rt, "words"))
			}
		}
		end := s.run(rt)
		_, passes := check(t, s.files["lib/duration.sh"])
		if end == "endless" || (end == "success") != passes && end != "stalled" {
			rt.Fatalf("ends %s, the check passing: %v\n%s", end, passes, s.story())
		}
		if last := s.texts[len(s.texts)-1]; last == "" {
			rt.Fatalf("ends without a word\n%s", s.story())
		}
	})
}

// The same when results and checks are arbitrary, as a crash, a kill or another's hand could make them.
func TestNoWalkFindsAHole(t *testing.T) {
	tags := []string{
		"", wording.Refused, wording.Denied, wording.Cancelled, wording.Interrupted, wording.Killed, wording.FileChanged,
		wording.ChangedByOperator, wording.NotRun, wording.OutcomeUnknown,
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := newStage(t)
		s.decide = func(provider.Part) decision {
			return decision{tag: rapid.SampledFrom(tags).Draw(rt, "tag"), text: anyText().Draw(rt, "text")}
		}
		s.before = func(s *stage) {
			if rapid.IntRange(0, 3).Draw(rt, "speaks") == 0 {
				s.operator(anyText().Draw(rt, "words"))
			}
		}
		s.gate = func(*stage) bool { return rapid.IntRange(0, 3).Draw(rt, "gate") == 0 }
		if end := s.run(rt); end == "endless" {
			rt.Fatalf("does not end\n%s", s.story())
		}
	})
}

func TestALongRunIsGivenUp(t *testing.T) {
	s := newStage(t)
	for range 18 {
		s.msgs = append(s.msgs, provider.Say(provider.RoleAssistant, "thinking"))
	}
	if s.run(t); !strings.Contains(s.texts[0], "longer than it should") {
		t.Errorf("says %q", s.texts[0])
	}
}

func TestTheRewriteIsBothEdits(t *testing.T) {
	task := demo(t)
	s := newStage(t)
	want := strings.Replace(s.files["lib/duration.sh"], "size=360 ;;", "size=3600 ;;", 1)
	want = strings.Replace(want, "total=$((number", "total=$((total + number", 1)
	if !strings.Contains(string(task.Script), "'''\n"+want+"'''") {
		t.Error("the whole file that the script may write is not the library with both edits")
	}
}
