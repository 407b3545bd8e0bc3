package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tillerman/core/policy"
)

type editTool struct{}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

func (a *editArgs) params() []param {
	return []param{
		{name: "path", into: &a.Path, need: true, about: pathAbout},
		{name: "old", into: &a.Old, need: true, about: "The text to replace, exactly as in the file, with enough around it to occur once."},
		{name: "new", into: &a.New, need: true, about: "The text to put there; may be empty."},
	}
}

func (editTool) builtin() {}

func (editTool) Spec() Spec {
	return Spec{
		Name: "edit",
		Description: "Replace one piece of a file's text. old must occur in the file exactly once, byte for byte; if it occurs never or " +
			"more than once nothing is changed and you are told how often it occurs.",
		Schema: schema((&editArgs{}).params()),
		Safety: Idempotent,
		Reach:  ReachNone,
	}
}

func (editTool) Plan(_ context.Context, env Env, raw json.RawMessage) (Plan, error) {
	var args editArgs
	if err := decode("edit", raw, args.params()); err != nil {
		return Plan{}, err
	}
	plan, err := planChange(env, args.Path, policy.Read, func(w Write) ([]byte, error) {
		if !w.Exists {
			return nil, errors.New("it does not exist; write_file creates files")
		}
		return replace(w.Before, []byte(args.Old), []byte(args.New))
	})
	if err != nil {
		return Plan{}, fmt.Errorf("edit: %w", err)
	}
	args.Path = plan.Target
	plan.Args = encode(args)
	return plan, nil
}

func (editTool) Run(_ context.Context, _ Env, plan Plan) (Result, error) { return runChange(plan) }

// replace puts one text in place of another that occurs exactly once. Occurrences may overlap: "aa" occurs twice in
// "aaa", and which one is meant would be a guess.
func replace(body, old, with []byte) ([]byte, error) {
	switch {
	case len(old) == 0:
		return nil, errors.New("old is empty")
	case bytes.Equal(old, with):
		return nil, errors.New("old and new are the same")
	case bytes.IndexByte(body[:min(len(body), sampleSize)], 0) >= 0:
		return nil, errors.New("it is a binary file")
	}
	at := bytes.Index(body, old)
	if at < 0 {
		return nil, fmt.Errorf("old occurs 0 times in it%s", nearMiss(body, old))
	}
	if n := occurrences(body, old); n > 1 {
		return nil, fmt.Errorf("old occurs %d times in it; give more of the text around the one you mean", n)
	}
	out := make([]byte, 0, len(body)-len(old)+len(with))
	out = append(out, body[:at]...)
	out = append(out, with...)
	return append(out, body[at+len(old):]...), nil
}

func occurrences(body, old []byte) int {
	n := 0
	for {
		at := bytes.Index(body, old)
		if at < 0 {
			return n
		}
		n++
		body = body[at+1:]
	}
}

// nearMiss names the reason for a miss that a model cannot see in what it read.
func nearMiss(body, old []byte) string {
	crlf := bytes.ReplaceAll(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	if !bytes.Equal(crlf, old) && bytes.Contains(body, crlf) {
		return `; its lines end with \r\n, and those of old with \n`
	}
	return ""
}
