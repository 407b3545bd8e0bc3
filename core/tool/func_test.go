package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tillerman/core/policy"
)

func echo(fn func(ctx context.Context, key string, args json.RawMessage) (string, error)) Tool {
	return Func(Spec{Name: "echo", Schema: json.RawMessage(`{"type":"object"}`), Safety: Once, Reach: ReachCooperative}, fn)
}

func TestFuncIsJudgedByItsName(t *testing.T) {
	tool := echo(func(_ context.Context, key string, args json.RawMessage) (string, error) {
		return key + string(args), nil
	})
	env := Env{Key: "k1"}
	p, err := tool.Plan(context.Background(), env, json.RawMessage(`{"a": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Action.Act != policy.Exec || strings.Join(p.Action.Argv, " ") != "echo" || !p.Action.Tool {
		t.Errorf("the action is %+v", p.Action)
	}
	r, err := tool.Run(context.Background(), env, p)
	if err != nil || r.Failed || r.Text != `k1{"a": 1}` {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestFuncFailures(t *testing.T) {
	for name, c := range map[string]struct {
		fn   func(context.Context, string, json.RawMessage) (string, error)
		want string
	}{
		"error": {func(context.Context, string, json.RawMessage) (string, error) { return "x", errors.New("no disk") }, "no disk"},
		"panic": {func(context.Context, string, json.RawMessage) (string, error) { panic("boom") }, "the tool panicked: boom"},
		"runtime panic": {func(_ context.Context, _ string, args json.RawMessage) (string, error) {
			return string(args[9:]), nil
		}, "the tool panicked: runtime error: slice bounds"},
		"bytes": {func(context.Context, string, json.RawMessage) (string, error) { return "", errors.New("bad\xff") }, `bad\xff`},
		"words": {func(context.Context, string, json.RawMessage) (string, error) { return "", context.Canceled }, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := echo(c.fn).Run(context.Background(), Env{}, Plan{Args: json.RawMessage(`{}`)})
			if err != nil || !r.Failed || !strings.HasPrefix(r.Text, c.want) {
				t.Errorf("got %+v, %v; want a failure with %q", r, err, c.want)
			}
		})
	}
}

func TestFuncInterrupted(t *testing.T) {
	cause := errors.New("the operator left")
	ctx, cancel := context.WithCancelCause(context.Background())
	tool := echo(func(ctx context.Context, _ string, _ json.RawMessage) (string, error) {
		cancel(cause)
		<-ctx.Done()
		return "", ctx.Err()
	})
	if _, err := tool.Run(ctx, Env{}, Plan{Args: json.RawMessage(`{}`)}); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestFuncTakesOneObject(t *testing.T) {
	tool := echo(nil)
	for _, raw := range []string{`[]`, `null`, `{`, `{} {}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`} {
		_, err := tool.Plan(context.Background(), Env{}, json.RawMessage(raw))
		var typed *ArgumentError
		if !errors.As(err, &typed) {
			t.Errorf("%s: got %v, want an ArgumentError", raw, err)
		}
	}
	if p, err := tool.Plan(context.Background(), Env{}, nil); err != nil || string(p.Args) != "{}" {
		t.Errorf("no arguments: got %s, %v", p.Args, err)
	}
}
