package recordings_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tillerman/core/provider"
	"tillerman/core/provider/script"
	"tillerman/core/wording"
	"tillerman/recordings"
)

// decision is what becomes of a call that asks.
type decision struct {
	tag  string // of the result; "" is done as asked
	text string
	edit string // with wording.ChangedByOperator: what an edit puts in place instead
}

// stage plays the engine's part for the scripted model: it carries calls out on a workspace in memory, asks, runs the
// check when the model says that it is done, and notices a stall.
type stage struct {
	t     testing.TB
	model provider.Provider
	files map[string]string
	msgs  []provider.Message
	turns int
	texts []string
	asked []string // what asked, in order

	// decide says what becomes of a call that asks; nil approves.
	decide func(c provider.Part) decision
	// before is called before every request and may speak in the operator's name.
	before func(s *stage)
	// gate says whether a check passes; nil runs it.
	gate func(s *stage) bool

	unproductive int
	made         map[string]bool
	replans      int
}

func newStage(t testing.TB) *stage {
	t.Helper()
	task := demo(t)
	parsed, err := script.Parse(task.Script)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{
		t: t, model: script.New(parsed, script.Options{Fast: true}), files: map[string]string{},
		msgs: []provider.Message{provider.Say(provider.RoleUser, task.Goal)},
	}
	err = fs.WalkDir(task.Workspace, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(task.Workspace, name)
		s.files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) operator(text string) {
	s.msgs = append(s.msgs, provider.Say(provider.RoleUser, wording.Tag(wording.Operator, text)))
}

// fataler is what a test and a property have in common.
type fataler interface{ Fatalf(string, ...any) }

// run plays until the run ends and says how: "success", "stalled", or "endless" after 25 turns.
func (s *stage) run(t fataler) string {
	for s.turns < 25 {
		if s.before != nil {
			s.before(s)
		}
		a, err := s.model.Complete(context.Background(), provider.Request{Messages: s.msgs}, provider.Call{Step: s.turns + 1})
		if err != nil {
			t.Fatalf("turn %d: %v\n%s", s.turns+1, err, s.story())
		}
		s.turns++
		s.msgs = append(s.msgs, provider.Message{Role: provider.RoleAssistant, Parts: a.Parts})
		s.texts = append(s.texts, a.Text())
		calls := a.Calls()
		changed := false
		if len(calls) > 0 {
			results := provider.Message{Role: provider.RoleTool}
			for _, c := range calls {
				text, failed, did := s.call(c)
				changed = changed || did
				results.Parts = append(results.Parts, provider.Part{Kind: provider.PartResult, ID: c.ID, Name: c.Name, Text: text, Failed: failed})
			}
			s.msgs = append(s.msgs, results)
		} else if a.Text() == "" {
			t.Fatalf("turn %d says nothing\n%s", s.turns, s.story())
		}
		if s.stalls(calls, changed) {
			return "stalled"
		}
		if len(calls) == 0 && s.passes() {
			return "success"
		}
	}
	return "endless"
}

// stalls counts as the engine does: three steps without change and a repeated one lead to a note, then to the end.
func (s *stage) stalls(calls []provider.Part, changed bool) bool {
	for i := range calls {
		calls[i].ID = ""
	}
	signature, err := json.Marshal(calls)
	if err != nil {
		s.t.Fatal(err)
	}
	if changed {
		s.unproductive, s.made = 0, nil
		return false
	}
	repeated := s.made[string(signature)]
	if s.made == nil {
		s.made = map[string]bool{}
	}
	s.made[string(signature)] = true
	s.unproductive++
	if s.unproductive < 3 || !repeated {
		return false
	}
	s.unproductive, s.made = 0, nil
	s.replans++
	s.msgs = append(s.msgs, provider.Say(provider.RoleUser, wording.Tag(wording.NoProgress, "try something else")))
	return s.replans > 1
}

func (s *stage) passes() bool {
	passed, text := false, "3 failed"
	if s.gate != nil {
		passed = s.gate(s)
	} else {
		text, passed = check(s.t, s.files["lib/duration.sh"])
	}
	if !passed {
		s.msgs = append(s.msgs, provider.Say(provider.RoleUser, wording.Tag(wording.CheckFailed, "sh check.sh\n"+text)))
	}
	return passed
}

// call carries one call out.
func (s *stage) call(c provider.Part) (text string, failed, changed bool) {
	var args struct {
		Path, Content, Old, New, Pattern string
		Argv                             []string
	}
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		s.t.Fatalf("arguments %s: %v", c.Arguments, err)
	}
	switch {
	case c.Name == "list" || c.Name == "grep":
		return "something", false, false
	case c.Name == "read_file":
		text, ok := s.files[args.Path]
		if !ok {
			s.t.Fatalf("reads %s, which is not there", args.Path)
		}
		return text, false, false
	case args.Path == ".env":
		return wording.Tag(wording.Refused, "write .env"), true, false
	}
	target := args.Path
	if c.Name == "exec" {
		target = strings.Join(args.Argv, " ")
	}
	s.asked = append(s.asked, c.Name+" "+target)
	var d decision
	if s.decide != nil {
		d = s.decide(c)
	}
	if d.tag != "" && d.tag != wording.ChangedByOperator {
		return wording.Tag(d.tag, d.text), true, false
	}
	switch c.Name {
	case "exec":
		if target != "sh check.sh" {
			s.t.Fatalf("runs %q", target)
		}
		text, passed := check(s.t, s.files["lib/duration.sh"])
		return text, !passed, false
	case "edit":
		if d.tag != "" {
			args.New = d.edit
		}
		if strings.Count(s.files[args.Path], args.Old) != 1 {
			return "edit: old occurs 0 times in it", true, false
		}
		s.files[args.Path] = strings.Replace(s.files[args.Path], args.Old, args.New, 1)
	case "write_file":
		s.files[args.Path] = args.Content
	default:
		s.t.Fatalf("calls %s", c.Name)
	}
	if d.tag != "" {
		return wording.Tag(d.tag, "written"), false, true
	}
	return "written", false, true
}

// story is a conversation for a person to read.
func (s *stage) story() string {
	var b strings.Builder
	for _, m := range s.msgs {
		for _, p := range m.Parts {
			text, _, _ := strings.Cut(p.Text, "\n")
			b.WriteString(string(m.Role) + " " + string(p.Kind) + " " + p.Name + " " + text + " " + p.Arguments + "\n")
		}
	}
	return b.String()
}

// checks remembers what the check says of a library: there are few, and a shell is slow.
var checks sync.Map

type verdict struct {
	text   string
	passed bool
}

// check runs the workspace's real check on a library.
func check(t testing.TB, library string) (string, bool) {
	if known, ok := checks.Load(library); ok {
		return known.(verdict).text, known.(verdict).passed
	}
	dir, err := os.MkdirTemp("", "demo")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := recordings.CopyWorkspace(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib", "duration.sh"), []byte(library), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", "check.sh")
	command.Dir = dir
	out, err := command.CombinedOutput()
	checks.Store(library, verdict{string(out), err == nil})
	return string(out), err == nil
}
