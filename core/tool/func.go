package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"tillerman/core/policy"
)

// Func makes a tool of a Go function. The policy judges a call of it as exec of the tool's name.
//
// fn gets the call's key and the arguments as the model gave them; they are one JSON object, and whether it fits the
// schema is for fn to check. The text it returns is the result; an error, or a panic, is a failed result that the model
// reads. When the context is done, an error of fn means that the call was interrupted.
func Func(spec Spec, fn func(ctx context.Context, key string, args json.RawMessage) (string, error)) Tool {
	return &funcTool{spec: spec, fn: fn}
}

type funcTool struct {
	spec Spec
	fn   func(ctx context.Context, key string, args json.RawMessage) (string, error)
}

func (t *funcTool) Spec() Spec { return t.spec }

func (t *funcTool) Plan(_ context.Context, _ Env, args json.RawMessage) (Plan, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	problem := unsoundText(args)
	if problem == "" {
		var object map[string]json.RawMessage
		if json.Unmarshal(args, &object) != nil || object == nil {
			problem = "the arguments must be one JSON object"
		}
	}
	if problem != "" {
		return Plan{}, &ArgumentError{Tool: t.spec.Name, Problems: []string{problem}}
	}
	return Plan{
		Action:  policy.Action{Act: policy.Exec, Argv: []string{t.spec.Name}, Tool: true},
		Target:  t.spec.Name,
		Payload: string(args),
		Args:    bytes.Clone(args),
	}, nil
}

func (t *funcTool) Run(ctx context.Context, env Env, plan Plan) (Result, error) {
	text, err := t.call(ctx, env.Key, plan.Args)
	if err != nil && ctx.Err() != nil {
		return Result{}, interrupted(ctx, t.spec.Name)
	}
	if err != nil {
		text = err.Error()
	}
	text, _ = escapeInvalid([]byte(text))
	return Result{Text: text, Failed: err != nil}, nil
}

// call keeps a panic of an embedder's function from ending the engine.
func (t *funcTool) call(ctx context.Context, key string, args json.RawMessage) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("the tool panicked: %v", p)
		}
	}()
	return t.fn(ctx, key, bytes.Clone(args))
}

// interrupted is the error of a call that its context ended.
func interrupted(ctx context.Context, name string) error {
	return fmt.Errorf("%s: interrupted: %w", name, context.Cause(ctx))
}
