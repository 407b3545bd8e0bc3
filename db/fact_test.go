package db

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fill sets every field of a struct to something of its own, so that one which is not stored is noticed. Fields in skip
// keep what they have.
func filled[T any](v T, skip ...string) T {
	n := 0
	var set func(f reflect.Value)
	set = func(f reflect.Value) {
		n++
		switch f.Kind() {
		case reflect.String:
			f.SetString(fmt.Sprint("word", n))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(n))
		case reflect.Uint32:
			f.SetUint(uint64(n))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			set(f.Elem())
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 2, 2))
			set(f.Index(0))
			set(f.Index(1))
		}
	}
	s := reflect.ValueOf(&v).Elem()
	for i := range s.NumField() {
		if !slices.Contains(skip, s.Type().Field(i).Name) {
			set(s.Field(i))
		}
	}
	return v
}

func same[T any](t *testing.T, got []T, err error, want ...T) {
	t.Helper()
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%T:\n%+v\nwant\n%+v", want, got, want)
	}
}

// Every field of every fact is read as it was written, set or not, and rows come in their order.
func TestFactsAreReadAsWritten(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	lease := begun(t, s)
	id, ctx, at := lease.RunID, t.Context(), c.at.UnixMilli()
	in := func(fn func(*Tx) error) { t.Helper(); commit(t, s, lease, fn) }

	failed := filled(Attempt{Attempt: 1, Step: 1, Drive: 1, State: AttemptFailed, StartedAt: at}, "Attempt", "Step", "Drive", "State", "StartedAt")
	bare := Attempt{Attempt: 2, Step: 2, Drive: 1, Hold: 9, State: AttemptOpen, Append: []string{}, StartedAt: at}
	in(func(tx *Tx) error {
		for _, a := range []Attempt{failed, bare} {
			n, err := tx.AddAttempt(a)
			if err != nil || n != a.Attempt {
				t.Errorf("attempt %d: %v", n, err)
			}
		}
		return tx.EndAttempt(failed)
	})
	got, err := s.Attempts(ctx, id)
	same(t, got, err, failed, bare)
	got, err = s.StepAttempts(ctx, id, 2)
	same(t, got, err, bare)
	got, err = s.AttemptsAfter(ctx, id, 1)
	same(t, got, err, bare)
	in(func(tx *Tx) error { return tx.LoseAttempts() })
	bare.State, bare.Hold = AttemptLost, 0
	got, err = s.Attempts(ctx, id)
	same(t, got, err, failed, bare)

	call := filled(Call{Step: 1, Position: 1, State: CallEnded}, "Step", "Position", "State")
	second := Call{Step: 1, Position: 2, CallID: "c2", Name: "x", Arguments: "{}", State: CallGiven}
	later := Call{Step: 2, Position: 1, CallID: "c3", Name: "x", Arguments: "{}", State: CallGiven}
	in(func(tx *Tx) error { return errors.Join(tx.AddCalls([]Call{later, second, call}), tx.SetCall(call)) })
	calls, err := s.Calls(ctx, id)
	same(t, calls, err, call, second, later)
	calls, err = s.StepCalls(ctx, id, 2)
	same(t, calls, err, later)

	one := filled(Step{Step: 1, SealedAt: at}, "Step", "SealedAt")
	two := Step{Step: 2, SealedAt: at}
	in(func(tx *Tx) error { return errors.Join(tx.Seal(one), tx.Seal(two)) })
	steps, err := s.Steps(ctx, id, 0, 0)
	same(t, steps, err, one, two)
	steps, err = s.Steps(ctx, id, 0, 1)
	same(t, steps, err, one)
	steps, err = s.Steps(ctx, id, 1, 5)
	same(t, steps, err, two)

	file := filled(File{Step: 1, Position: 1, Path: "b.go", Source: "write", Change: "modified"}, "Step", "Position", "Path", "Source", "Change")
	made := File{Step: 1, Position: 2, Path: "a.go", Source: "write", Change: "added"}
	in(func(tx *Tx) error {
		return errors.Join(tx.AddFile(made), tx.AddFile(File{Step: 1, Position: 1, Path: "b.go", Source: "command", Change: "removed"}), tx.AddFile(file))
	})
	list, err := s.Files(ctx, id)
	same(t, list, err, file, made)
	in(func(tx *Tx) error { return tx.FileDone(1, 2, "none") })
	made.Done, made.Change = true, "none"
	list, err = s.StepFiles(ctx, id, 1)
	same(t, list, err, file, made)

	gate := filled(Gate{Ordinal: 1, Step: 1, Position: 1, State: "failed"}, "Ordinal", "Step", "Position", "State")
	begun := Gate{Ordinal: 2, Step: 2, Position: 1, Phase: "command:1", Target: "make", State: "begun"}
	in(func(tx *Tx) error {
		for _, g := range []Gate{gate, begun} {
			if n, err := tx.BeginGate(g); err != nil || n != g.Ordinal {
				t.Errorf("gate %d: %v", n, err)
			}
		}
		return tx.EndGate(gate)
	})
	gates, err := s.Gates(ctx, id)
	same(t, gates, err, gate, begun)

	verdicts := []Verdict{filled(Verdict{Ordinal: 1, Effect: "deny"}, "Ordinal", "Effect"), {Ordinal: 2, Act: "net", Target: "h", Effect: "allow"}}
	facts := []ContextFact{filled(ContextFact{Ordinal: 1}, "Ordinal"), {Ordinal: 2, Kind: "told"}}
	boxes := []SandboxFact{filled(SandboxFact{Ordinal: 1}, "Ordinal"), {Ordinal: 2, Kind: "exec"}}
	in(func(tx *Tx) error {
		var err error
		for i := range 2 {
			err = errors.Join(err, tx.AddVerdict(verdicts[i]), tx.AddContextFact(facts[i].Step, facts[i].Kind, facts[i].Detail), tx.AddSandboxFact(boxes[i]))
		}
		return err
	})
	v, err := s.Verdicts(ctx, id)
	same(t, v, err, verdicts...)
	v, err = s.Refusals(ctx, id, 20)
	same(t, v, err, verdicts[0])
	f, err := s.ContextFacts(ctx, id)
	same(t, f, err, facts...)
	b, err := s.SandboxFacts(ctx, id)
	same(t, b, err, boxes...)

	spans := []Span{{Span: 1, Kind: "run", Name: "g", Drive: 1, StartedAt: at}, {Span: 2, Parent: ptr(int64(1)), Kind: "call", Name: "x", Step: 3, Position: ptr(2), Drive: 1, StartedAt: at, DurationMS: ptr(int64(400)), Outcome: "done"}}
	in(func(tx *Tx) error {
		_, err := tx.OpenSpan(0, "run", "g", 0, nil)
		_, err2 := tx.OpenSpan(1, "call", "x", 3, ptr(2))
		return errors.Join(err, err2)
	})
	c.move(400)
	in(func(tx *Tx) error {
		for i, want := range []*int64{ptr(int64(400)), nil} { // a second end is none
			if took, err := tx.CloseSpan(2, "done"); err != nil || !reflect.DeepEqual(took, want) {
				t.Errorf("end %d of a span: %v %v", i, took, err)
			}
		}
		if took, err := tx.CloseSpan(0, "done"); took != nil || err != nil {
			t.Errorf("the end of no span: %v %v", took, err)
		}
		return nil
	})
	sp, err := s.Spans(ctx, id)
	same(t, sp, err, spans...)
	sp, err = s.RecentSpans(ctx, id, 1)
	same(t, sp, err, spans[1])
	if slow, err := s.SlowestSpan(ctx, id); err != nil || !reflect.DeepEqual(*slow, spans[1]) {
		t.Errorf("slowest %+v %v", slow, err)
	}

	at = c.at.UnixMilli()
	question := filled(Request{ID: 1, RunID: id, Step: 1, Agent: "0", State: "open", AskedAt: at, Goal: aRun().Goal},
		"ID", "RunID", "Step", "Agent", "State", "Decision", "Reason", "Stop", "ChangedArgs", "Deferred", "DecidedBy", "AskedAt", "DecidedAt", "Goal")
	in(func(tx *Tx) error {
		_, err := tx.Ask(question)
		return err
	})
	reqs, err := s.Requests(ctx, id)
	same(t, reqs, err, question)
	question.State, question.Decision, question.Reason, question.Stop, question.ChangedArgs, question.DecidedBy, question.DecidedAt = "decided", "deny", "r", true, "{}", &tester, at
	decided, err := s.Decide(ctx, 1, Decision{Answer: "deny", Reason: "r", Stop: true, ChangedArgs: "{}"}, tester)
	same(t, []Request{decided}, err, question)

	w, err := s.Window(ctx, id, 1, 1)
	same(t, []Window{w}, err, Window{Steps: []Step{one}, Attempts: []Attempt{failed}, Calls: []Call{call, second}, Gates: []Gate{gate}, Requests: []Request{question}})
}

func TestRunIsReadAsWritten(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	parent := begun(t, s)
	want := filled(Run{ID: 2, ParentID: parent.RunID, RootID: parent.RunID, Status: Running, Drive: 1, CreatedAt: c.at.UnixMilli()},
		"ID", "ParentID", "RootID", "Status", "Outcome", "StopReason", "Said", "Drive", "Seq", "Sealed", "CreatedAt", "FinishedAt", "TraceRemovedAt")
	lease, _, err := s.Start(t.Context(), want, tester, "floor", nothing)
	must(t, err)
	got, err := s.Run(t.Context(), lease.RunID)
	same(t, []Run{got}, err, want)
	if lease.Agent != want.Agent || lease.Depth != want.Depth {
		t.Errorf("%+v", lease)
	}
	commit(t, s, lease, func(tx *Tx) error {
		return errors.Join(tx.SetPolicy("{1}", "p1"), tx.SetContract("{2}"), tx.Audit(AuditRow{Action: "policy", Actor: tester}))
	})
	want.Policy, want.PolicyDigest, want.Contract = "{1}", "p1", "{2}"
	got, err = s.Run(t.Context(), lease.RunID)
	same(t, []Run{got}, err, want)
	links, err := s.AuditLog(t.Context(), lease.RunID, 0, 0)
	must(t, err)
	if e := entryOf(t, links[0]); e.PolicyDigest != "p1" || e.Version != want.Version || e.Agent != want.Agent {
		t.Errorf("the audit row is of another policy: %+v", e)
	}
	root, err := s.Run(t.Context(), parent.RunID)
	must(t, err)
	if root.RootID != root.ID || root.ParentID != 0 {
		t.Errorf("a root: %+v", root)
	}
	if last, err := s.LastRun(t.Context()); err != nil || last.ID != root.ID {
		t.Errorf("the newest root is %d: %v", last.ID, err)
	}
	ds, err := s.Drives(t.Context(), lease.RunID)
	same(t, ds, err, Drive{Drive: 1, StartedAt: c.at.UnixMilli(), Actor: encode(tester), Sandbox: "floor"})
	if _, err := s.Run(t.Context(), 99); !errors.Is(err, ErrNotFound) || err.Error() != "run 99: not found" {
		t.Errorf("no run: %v", err)
	}
	if _, err := opened(t, Options{}).LastRun(t.Context()); !errors.Is(err, ErrNotFound) {
		t.Errorf("no newest run: %v", err)
	}
}

func TestEffectsHappenOnce(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	in := func(fn func(*Tx) error) { t.Helper(); commit(t, s, lease, fn) }
	in(func(tx *Tx) error {
		return errors.Join(tx.AddCalls([]Call{{Step: 1, Position: 1, CallID: "c", Name: "deploy", Arguments: "{}"}, {Step: 1, Position: 2, CallID: "d", Name: "mail", Arguments: "{}"}}),
			tx.OpenEffect("k2", 1, 2), tx.OpenEffect("k1", 1, 1), tx.EndEffect("k2", "sent"))
	})
	state := func() string {
		t.Helper()
		all, err := s.Effects(t.Context(), lease.RunID)
		must(t, err)
		var b strings.Builder
		for _, e := range all {
			fmt.Fprintf(&b, "%s %s %s %s|", e.Key, e.State, e.Result, e.Resolution)
		}
		return b.String()
	}
	if got := state(); got != "k1 open  |k2 ended sent |" {
		t.Error(got)
	}
	in(func(tx *Tx) error { return tx.OpenEffect("k2", 1, 2) }) // does not make it undone
	if got := state(); got != "k1 open  |k2 ended sent |" {
		t.Error(got)
	}
	for name, r := range map[string]Resolution{"answer": {Answer: "maybe", Reason: "r"}, "reason": {Answer: "done", Reason: " "}} {
		if _, err := s.Resolve(t.Context(), lease.RunID, r, tester); err == nil {
			t.Errorf("a resolution without %s was stored", name)
		}
	}
	open, err := s.Effects(t.Context(), lease.RunID)
	must(t, err)
	for _, r := range []Resolution{{Key: "k0", Begun: open[0].At}, {Key: "k1", Begun: open[0].At - 1}} { // what was found about another one
		r.Answer, r.Reason = "done", "r"
		if _, err := s.Resolve(t.Context(), lease.RunID, r, tester); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	e, err := s.Resolve(t.Context(), lease.RunID, Resolution{Answer: "retry", Key: "k1", Begun: open[0].At, Reason: "nothing was deployed"}, tester)
	must(t, err)
	if e.Key != "k1" || e.State != "resolved" || e.Resolution != "retry" || e.ResolvedBy != encode(tester) {
		t.Errorf("%+v", e)
	}
	all, err := s.Effects(t.Context(), lease.RunID)
	same(t, all[:1], err, e)
	if _, err := s.Resolve(t.Context(), lease.RunID, Resolution{Answer: "done", Reason: "r"}, tester); !errors.Is(err, ErrNotFound) {
		t.Errorf("nothing is left to resolve: %v", err)
	}
	links, err := s.AuditLog(t.Context(), lease.RunID, 0, 0)
	must(t, err)
	if len(links) != 1 {
		t.Fatalf("%d audit rows", len(links))
	}
	if row := entryOf(t, links[0]); row.Action != "recovery" || row.User != "ann" || row.Decision != "retry" || row.Reason != "nothing was deployed" || row.Position != 1 {
		t.Errorf("%+v", row)
	}
	in(func(tx *Tx) error { return tx.OpenEffect("k1", 1, 1) }) // as it was told to
	if got := state(); got != "k1 open  retry|k2 ended sent |" {
		t.Error(got)
	}
}

func TestContent(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	bodies := map[string][]byte{}
	var digests []string
	commit(t, s, lease, func(tx *Tx) error {
		for i := range 1203 {
			body := fmt.Appendf(nil, "\x00content %d", i)
			digest, err := tx.Keep(body)
			again, err2 := tx.Keep(body)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			if again != digest || digest != Digest(body) {
				t.Errorf("digests %s %s", digest, again)
			}
			bodies[digest] = body
			digests = append(digests, digest)
		}
		return nil
	})
	got, err := s.Contents(t.Context(), append(digests, "none", digests[0]))
	must(t, err)
	if !reflect.DeepEqual(got, bodies) {
		t.Errorf("%d contents, want %d", len(got), len(bodies))
	}
	if body, err := s.Content(t.Context(), digests[7]); err != nil || string(body) != "\x00content 7" {
		t.Errorf("%q %v", body, err)
	}
	if _, err := s.Content(t.Context(), "none"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "content none") {
		t.Errorf("no content: %v", err)
	}
	if got, err := s.Contents(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}
