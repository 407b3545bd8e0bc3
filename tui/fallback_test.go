package tui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"tillerman/core"
	"tillerman/core/provider"
	"tillerman/core/provider/fallback"
	"tillerman/db"
)

// busy is a model that fails, with a message that would repaint a screen, or gives a final answer.
type busy struct {
	name  string
	fails bool
}

func (b busy) Complete(context.Context, provider.Request, provider.Call) (provider.Answer, error) {
	if b.fails {
		return provider.Answer{}, &provider.Error{Kind: provider.Overloaded, Provider: b.name, Status: 529, Message: "busy\x1b[2J now"}
	}
	return provider.Answer{
		Stop: provider.StopEnd, Finish: "stop", Model: "m2-answered", Served: b.name, Parts: []provider.Part{{Kind: provider.PartText, Text: "all done"}},
	}, nil
}

func (b busy) Name() string      { return b.name }
func (busy) Endpoints() []string { return nil }
func (busy) LastServed() string  { return "" }
func (busy) AcceptsImages() bool { return false }

// The row of a step says who could not answer and who did; its detail says of which kind the failure was and what was said.
func TestAFallbackIsShown(t *testing.T) {
	ctx := context.Background()
	store, err := db.Open(ctx, filepath.Join(t.TempDir(), "runs.db"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p, err := fallback.New(nil, fallback.Member{Provider: busy{"openai", true}}, fallback.Member{Provider: busy{"anthropic", false}, Model: "m2"})
	if err != nil {
		t.Fatal(err)
	}
	c := core.Defaults()
	c.Goal, c.Workspace, c.Model, c.Provider = "fall back", t.TempDir(), "m1", core.Source{Kind: "openai"}
	c.Fallback = []core.Source{{Kind: "anthropic", Model: "m2"}}
	res, err := core.New(store, p).Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(t, Options{Store: store, Watch: res.RunID}, 200, 40)
	a.wait("STEPS")
	a.wait("anthropic m2")
	for _, want := range []string{"openai overloaded, answered by anthropic", "openai m1: overloaded (HTTP 529): busy", "anthropic m2", "m2-answered"} {
		if !strings.Contains(a.screen(), want) {
			t.Errorf("the screen does not show %q:\n%s", want, a.screen())
		}
	}
	if strings.Contains(a.m.draw(), "\x1b[2J") {
		t.Error("the message reached the terminal as it was given")
	}
}
