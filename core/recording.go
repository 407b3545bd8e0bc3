package core

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tillerman/core/provider"
	"tillerman/core/provider/record"
	"tillerman/db"
)

// Recording makes a recording of a run from the store: every exchange, failures included, and what the run started from.
// It is a snapshot: a run that goes on can be recorded again later. What the store holds was redacted on entry.
func Recording(ctx context.Context, store *db.Store, runID int64) (*record.File, error) {
	run, err := store.Run(ctx, runID)
	if err != nil {
		return nil, err
	}
	if err := run.Traced(); err != nil {
		return nil, err
	}
	c, _, in, err := decodeRun(run)
	if err != nil {
		return nil, err
	}
	attempts, err := store.Attempts(ctx, runID)
	if err != nil {
		return nil, err
	}
	b := record.NewBuilder(Version, nil)
	w := &recordWriter{ctx: ctx, store: store, builder: b, agent: run.Agent}
	abandoned := db.Abandoned(attempts)
	for i, a := range attempts {
		if err := w.add(a, abandoned[i], in, c); err != nil {
			return nil, fmt.Errorf("run %d: %w", runID, err)
		}
	}
	file := b.File()
	file.Inputs, err = json.Marshal(struct {
		Contract json.RawMessage `json:"contract"`
		Policy   json.RawMessage `json:"policy"`
		Inputs   json.RawMessage `json:"inputs"`
	}{json.RawMessage(run.Contract), json.RawMessage(run.Policy), json.RawMessage(run.Inputs)})
	return file, err
}

// recordWriter rebuilds each request from what was new in it.
type recordWriter struct {
	ctx      context.Context
	store    *db.Store
	builder  *record.Builder
	agent    string
	messages []provider.Message
	open     *record.Exchange // the exchange of the request that was asked last
	digest   string           // of that request
}

// add puts an attempt into its exchange. What failed inside a call that was abandoned is left out: the call was made again.
func (w *recordWriter) add(a db.Attempt, abandoned bool, in inputs, c Contract) error {
	appended, err := w.read(a.Append)
	if err != nil {
		return err
	}
	if a.Keep > len(w.messages) {
		return fmt.Errorf("the stored request of step %d does not fit the one before it", a.Step)
	}
	w.messages = append(w.messages[:a.Keep:a.Keep], appended...)
	if w.open == nil || w.digest != a.RequestDigest || w.open.Answer != nil {
		// The engine's own request: what a wrapper asked of others differs from it in the model alone.
		w.open = w.builder.Add(w.agent, a.Step, provider.Request{Model: c.Model, MaxOutput: a.MaxOutput, System: in.System, Messages: w.messages, Tools: in.Tools})
		w.digest = a.RequestDigest
	}
	asked := ""
	if a.Model != c.Model {
		asked = a.Model
	}
	switch a.State {
	case db.AttemptFailed:
		if abandoned {
			return nil
		}
		at := w.builder.Failed(failure(a), a.Inner)
		at.Asked = asked
		if a.DelayMS != nil {
			at.DelayMS = *a.DelayMS
		}
		w.open.Attempts = append(w.open.Attempts, at)
	case db.AttemptAnswered:
		body, err := w.store.Content(w.ctx, a.Answer)
		if err != nil {
			return err
		}
		var m provider.Message
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		w.open.Answer = w.builder.Answer(provider.Answer{
			Parts: m.Parts, Stop: provider.Stop(a.Stop), Finish: a.Finish, Model: a.AnsweredModel, Served: a.Served, Asked: asked, Usage: usage(a),
		})
	}
	return nil
}

func (w *recordWriter) read(digests []string) ([]provider.Message, error) {
	bodies, err := w.store.Contents(w.ctx, digests)
	if err != nil {
		return nil, err
	}
	out := make([]provider.Message, len(digests))
	for i, d := range digests {
		if err := json.Unmarshal(bodies[d], &out[i]); err != nil {
			return nil, fmt.Errorf("a stored message cannot be read: %w", err)
		}
	}
	return out, nil
}

// failure is a stored failure as the error it was.
func failure(a db.Attempt) *provider.Error {
	e := &provider.Error{Kind: provider.Kind(a.Kind), Provider: a.Provider, Status: a.Status, Message: a.Message, Finish: a.Finish, Model: a.AnsweredModel, Usage: usage(a)}
	if a.HintMS != nil {
		hint := time.Duration(*a.HintMS) * time.Millisecond
		e.Hint = &hint
	}
	return e
}

// usage is what a call consumed, nil when it was not reported.
func usage(a db.Attempt) *provider.Usage {
	if !a.Measured() {
		return nil
	}
	return &provider.Usage{Input: *a.Input, Output: *a.Output, CacheRead: a.CacheRead, CacheWrite: a.CacheWrite, Reasoning: a.Reasoning}
}
