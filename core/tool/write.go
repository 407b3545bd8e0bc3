package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"tillerman/core/policy"
)

type writeTool struct{}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (a *writeArgs) params() []param {
	return []param{
		{name: "path", into: &a.Path, need: true, about: pathAbout},
		{name: "content", into: &a.Content, need: true, about: "The whole new text of the file."},
	}
}

func (writeTool) builtin() {}

func (writeTool) Spec() Spec {
	return Spec{
		Name: "write_file",
		Description: "Create a file, or replace the whole text of one. Missing directories are made. An existing file keeps its mode. " +
			"To change a part of a file, use edit.",
		Schema: schema((&writeArgs{}).params()),
		Safety: Idempotent,
		Reach:  ReachNone,
	}
}

func (writeTool) Plan(_ context.Context, env Env, raw json.RawMessage) (Plan, error) {
	var args writeArgs
	if err := decode("write_file", raw, args.params()); err != nil {
		return Plan{}, err
	}
	plan, err := planChange(env, args.Path, policy.Write, func(Write) ([]byte, error) { return []byte(args.Content), nil })
	if err != nil {
		return Plan{}, fmt.Errorf("write_file: %w", err)
	}
	args.Path = plan.Target
	plan.Args = encode(args)
	return plan, nil
}

func (writeTool) Run(_ context.Context, _ Env, plan Plan) (Result, error) { return runChange(plan) }
