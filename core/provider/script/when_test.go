package script_test

import (
	"testing"

	"tillerman/core/provider"
	"tillerman/core/wording"
)

// probe is a script whose first answer calls something, and whose next says yes if the condition holds.
func probe(condition string) string {
	return `
[[turn]]
name = "first"
calls = [{ tool = "exec", args = { argv = ["sh", "check.sh"] } }]
when.turns = { max = 0 }
[[turn]]
name = "other"
calls = [{ tool = "exec", args = { argv = ["sh", "other.sh"] } }]
when.turns = { min = 99 }
[[turn]]
say = "yes"
` + condition + `
[[turn]]
say = "no"
`
}

func TestOutcomesOfACall(t *testing.T) {
	groups := map[string][]string{
		"done": {"ok", "changed"}, "barred": {"refused", "denied"},
		"settled": {"ok", "changed", "refused", "denied", "failed"},
		"broken":  {"cancelled", "interrupted", "killed", "file_changed", "not_run", "unknown"},
	}
	for _, test := range []struct {
		text   string
		failed bool
		want   string
	}{
		{"fine", false, "ok"},
		{"", false, "ok"},
		{"[exit 1]", true, "failed"},
		{"it printed [denied by the operator] no", false, "ok"},
		{wording.Tag(wording.Refused, "rule"), true, "refused"},
		{wording.Tag(wording.Denied, "no"), true, "denied"},
		{wording.Denied, true, "denied"},
		{wording.Cancelled, true, "cancelled"},
		{wording.Tag(wording.Interrupted, "it printed:\nx"), true, "interrupted"},
		{wording.Killed, true, "killed"},
		{wording.FileChanged, true, "file_changed"},
		{wording.NotRun, true, "not_run"},
		{wording.OutcomeUnknown, true, "unknown"},
		{wording.Tag(wording.ChangedByOperator, "fine"), false, "changed"},
		{wording.Tag(wording.ChangedByOperator, "bad"), true, "failed"},
	} {
		for _, outcome := range []string{
			"ok", "failed", "changed", "refused", "denied", "cancelled", "interrupted", "killed", "file_changed", "not_run",
			"unknown", "done", "barred", "settled", "broken",
		} {
			want := "no"
			for _, member := range append(groups[outcome], outcome) {
				if member == test.want {
					want = "yes"
				}
			}
			k := begin(t, probe(`when.last = ["`+outcome+`: @first"]`))
			k.hear()
			if got := k.gets(test.text, test.failed).hear().Text(); got != want {
				t.Errorf("is %q of outcome %q? %s", test.text, outcome, got)
			}
		}
	}
}

func TestACallWithoutAResultWasNotRun(t *testing.T) {
	k := begin(t, probe(`when.last = ["not_run: @first"]`))
	k.hear()
	k.says("yes")
}

func TestConditions(t *testing.T) {
	result := func(text string, failed bool) func(*talk) { return func(k *talk) { k.gets(text, failed) } }
	okay := result("fine", false)
	deny := result("[denied by the operator] Too risky, sorry", true)
	tell := func(texts ...string) func(*talk) {
		return func(k *talk) {
			for _, text := range texts {
				k.told(wording.Operator, text)
			}
		}
	}
	answered := func(k *talk) { k.msgs = append(k.msgs, provider.Say(provider.RoleAssistant, "I said Hello, world.")) }
	gate := func(k *talk) { k.told(wording.CheckFailed, "sh check.sh\n3 failed") }
	stuck := func(k *talk) { k.told(wording.NoProgress, "try something else") }
	for _, test := range []struct {
		when string
		then []func(*talk)
		want string
	}{
		{``, nil, "yes"},
		{`when.last = ["exec"]`, nil, "yes"},
		{`when.last = ["exec sh check.sh"]`, nil, "yes"},
		{`when.last = ["exec sh *"]`, nil, "yes"},
		{`when.last = ["ex*c *check*sh"]`, nil, "yes"},
		{`when.last = ["* *"]`, nil, "yes"},
		{`when.last = ["exec sh"]`, nil, "no"},
		{`when.last = ["exec sh *.py"]`, nil, "no"},
		{`when.last = ["exec *heck*eck.sh"]`, nil, "no"},
		{`when.last = ["edit", "exec"]`, nil, "yes"},
		{`when.last = ["@other"]`, nil, "no"},
		{`when.last = ["denied|failed: exec"]`, []func(*talk){deny}, "yes"},
		{`when.last = ["denied|failed: exec"]`, []func(*talk){okay}, "no"},
		{`when.seen = ["exec", "@first"]`, nil, "yes"},
		{`when.seen = ["exec", "edit"]`, nil, "no"},
		{`when.unseen = ["edit", "denied: exec"]`, []func(*talk){okay}, "yes"},
		{`when.unseen = ["edit", "exec"]`, nil, "no"},
		{`when.count = [{ of = "exec", min = 1, max = 1 }]`, nil, "yes"},
		{`when.count = [{ of = "exec", min = 2 }]`, nil, "no"},
		{`when.count = [{ of = "exec", max = 0 }]`, nil, "no"},
		{`when.turns = { min = 1, max = 1 }`, nil, "yes"},
		{`when.turns = { min = 2 }`, nil, "no"},
		{`when.checks = { min = 1 }`, []func(*talk){okay}, "no"},
		{`when.checks = { min = 2, max = 2 }`, []func(*talk){okay, gate, answered, gate}, "yes"},
		{`when.gate = "failed"`, []func(*talk){okay, gate}, "yes"},
		{`when.gate = "failed"`, []func(*talk){okay, gate, answered}, "no"},
		{`when.gate = "quiet"`, []func(*talk){okay, gate, answered}, "yes"},
		{`when.gate = "quiet"`, []func(*talk){okay, gate}, "no"},
		{`when.stuck = true`, []func(*talk){okay, stuck}, "yes"},
		{`when.stuck = true`, []func(*talk){okay, stuck, answered}, "no"},
		{`when.stuck = false`, []func(*talk){okay, stuck}, "no"},
		{`when.told = ["*"]`, []func(*talk){okay, tell("anything")}, "yes"},
		{`when.told = ["*"]`, []func(*talk){okay, tell("anything"), answered}, "no"},
		{`when.told = ["*"]`, []func(*talk){okay}, "no"},
		{`when.told = ["stop"]`, []func(*talk){okay, tell("Please STOP!")}, "yes"},
		{`when.told = ["stop"]`, []func(*talk){okay, tell("unstoppable")}, "no"},
		{`when.told = ["skip the tests"]`, []func(*talk){okay, tell("skip... the\ntests, ok?")}, "yes"},
		{`when.told = ["stop", "!don't stop"]`, []func(*talk){okay, tell("don’t stop")}, "no"},
		{`when.told = ["!don't stop"]`, []func(*talk){okay, tell("hello")}, "yes"},
		{`when.told = ["stop", "!don't stop"]`, []func(*talk){okay, tell("don't stop", "stop")}, "yes"},
		{`when.told = ["stop"]`, []func(*talk){result("[operator] stop", false)}, "no"},
		{`when.heard = ["stop"]`, []func(*talk){okay, tell("stop"), answered}, "yes"},
		{`when.heard = ["stop"]` + "\n" + `when.unless_later = ["go on"]`, []func(*talk){okay, tell("stop"), answered, tell("well")}, "yes"},
		{`when.heard = ["stop"]` + "\n" + `when.unless_later = ["go on"]`, []func(*talk){okay, tell("stop"), answered, tell("go on")}, "no"},
		{`when.heard = ["stop"]` + "\n" + `when.unless_later = ["go on"]`, []func(*talk){okay, tell("go on"), answered, tell("stop")}, "yes"},
		{`when.unheard = ["stop"]`, []func(*talk){okay, tell("go")}, "yes"},
		{`when.unheard = ["stop"]`, []func(*talk){okay, tell("stop"), answered}, "no"},
		{`when.declined = ["risky"]`, []func(*talk){deny}, "yes"},
		{`when.declined = ["risky"]`, []func(*talk){deny, answered}, "yes"},
		{`when.declined = ["risky"]`, []func(*talk){result("risky", true)}, "no"},
		{`when.undeclined = ["risky"]`, []func(*talk){deny}, "no"},
		{`when.undeclined = ["unattended"]`, []func(*talk){deny}, "yes"},
		{`when.result = ["too risky"]`, []func(*talk){deny}, "yes"},
		{`when.result = ["fine"]`, []func(*talk){okay}, "yes"},
		{`when.result = ["fine"]`, []func(*talk){deny}, "no"},
		{`when.said = ["hello world"]`, []func(*talk){okay, answered}, "yes"},
		{`when.said = ["hello world"]`, []func(*talk){okay}, "no"},
		{`when.unsaid = ["hello world"]`, []func(*talk){okay, answered}, "no"},
		{`when.unsaid = ["hello world"]`, []func(*talk){okay}, "yes"},
		{`when.gate = "failed"` + "\n" + `when.told = ["go"]`, []func(*talk){okay, gate}, "no"},
		{`when.gate = "failed"` + "\n" + `when.told = ["go"]`, []func(*talk){okay, gate, tell("go")}, "yes"},
	} {
		k := begin(t, probe(test.when))
		k.hear()
		for _, then := range test.then {
			then(k)
		}
		if got := k.hear().Text(); got != test.want {
			t.Errorf("%s: says %s, want %s", test.when, got, test.want)
		}
	}
}

func TestTheGoalIsNobodysNote(t *testing.T) {
	k := begin(t, `turn = [{ say = "yes", when = { told = ["*"] } }, { say = "no" }]`)
	k.msgs = []provider.Message{provider.Say(provider.RoleUser, wording.Tag(wording.Operator, "stop"))}
	k.says("no")
}

func TestTargets(t *testing.T) {
	for args, target := range map[string]string{
		`{ argv = ["go", "test"] }`:           "go test",
		`{ pattern = "x", path = "a" }`:       "x",
		`{ path = "a/b" }`:                    "a/b",
		`{ url = "http://h" }`:                "http://h",
		`{ question = "why?", choices = [] }`: "why?",
		`{ other = 1 }`:                       "",
		`{ path = 3, name = "n" }`:            "n",
		`{ glob = "*.go", path = "." }`:       "*.go",
		`{ argv = "text", key = "k" }`:        "k",
	} {
		k := begin(t, `
[[turn]]
calls = [{ tool = "x", args = `+args+` }]
when.turns = { max = 0 }
[[turn]]
say = "yes"
when.last = ['x `+target+`']
[[turn]]
say = "no"
`)
		k.hear()
		k.says("yes")
	}
}

func TestArgumentsThatAreNoObjectHaveNoTarget(t *testing.T) {
	k := begin(t, probe(`when.last = ["exec "]`))
	k.hear()
	k.msgs[1].Parts[0].Arguments = `{"argv": ["sh"`
	k.says("yes")
}

func TestPlaceholders(t *testing.T) {
	script := `
acknowledge = "Noted: {told}."
[[turn]]
say = "first"
calls = [{ tool = "list" }]
when.turns = { max = 0 }
[[turn]]
say = "I heed “{told}”."
when.told = ["heed"]
[[turn]]
say = "I stop."
when.heard = ["stop"]
[[turn]]
say = "You declined: {reason}. {other}"
`
	k := begin(t, script)
	k.hear()
	k.gets("[denied by the operator] no\nsecond line", true).says("You declined: no. {other}")
	k.told(wording.Operator, "look here").says("Noted: look here.\nYou declined: no. {other}")
	k.told(wording.Operator, "one").told(wording.Operator, "heed two").says("I heed “heed two”.")
	k.told(wording.Operator, "{reason}").says("Noted: {reason}.\nYou declined: no. {other}")
	k.told(wording.Operator, "stop").says("I stop.")

	k = begin(t, script)
	k.hear()
	k.gets("[denied by the operator]", true).says("You declined: no reason given. {other}")
	k = begin(t, script)
	k.hear()
	k.gets("fine", false).says("You declined: no reason given. {other}")
}
