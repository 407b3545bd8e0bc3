package core_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tillerman/core"
	"tillerman/core/provider"
	"tillerman/core/provider/anthropic"
	"tillerman/core/provider/chat"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/fallback"
	"tillerman/core/retry"
	"tillerman/db"
	"tillerman/observer"
)

// api is a provider that speaks to an address, by the name of what it speaks.
func api(t *testing.T, name string, c endpoint.Config) provider.Provider {
	t.Helper()
	c.Name = name
	var (
		p   provider.Provider
		err error
	)
	if name == "anthropic" {
		p, err = anthropic.New(c)
	} else {
		p, err = chat.New(chat.Config{Config: c})
	}
	must(t, err)
	t.Cleanup(func() {
		if closer, ok := p.(interface{ Close() }); ok {
			closer.Close()
		}
	})
	return p
}

// whole is an answer of a final message on the wire of an API, half its beginning.
var whole = map[string]string{
	"anthropic": `data: {"type":"message_start","message":{"model":"m","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"done"}}` + "\n\n" +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}` + "\n\n" +
		`data: {"type":"message_stop"}` + "\n\n",
	"compatible": `data: {"model":"m","choices":[{"index":0,"delta":{"content":"done"},"finish_reason":null}]}` + "\n\n" +
		`data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" + `data: [DONE]` + "\n\n",
}

func half(name string) string {
	i := strings.Index(whole[name], "done")
	return whole[name][:i+strings.Index(whole[name][i:], "\n\n")+2]
}

// busy is a server that always answers with a status and these headers.
func busy(t *testing.T, status int, header map[string]string) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// TestWaitsAsTheServerAsks has a real server ask for a wait in every form. The wait that is stored and shown is the one
// that is asked for, or a drawn one above zero where nothing that can be kept to is asked for; one that is too long is not
// begun. No wait is slept: the run is cancelled as it begins.
func TestWaitsAsTheServerAsks(t *testing.T) {
	const hyphens = "Mon, 02-Jan-06 15:04:05 GMT"
	drawn := [2]time.Duration{retry.DefaultBase / 10, retry.DefaultBase}
	exactly := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d} }
	soon := [2]time.Duration{time.Second, 2 * time.Minute} // a date has whole seconds, and this machine may be slow
	in := func(d time.Duration, form string) map[string]string {
		return map[string]string{"Retry-After": time.Now().Add(d).UTC().Format(form)}
	}
	after := func(s string) map[string]string { return map[string]string{"Retry-After": s} }
	for _, c := range []struct {
		name    string
		header  map[string]string
		wait    [2]time.Duration
		tooLong string // part of the message of a run that ends in place of waiting
	}{
		{"seconds", after("3"), exactly(3 * time.Second), ""},
		{"a decimal", after("0.5"), exactly(500 * time.Millisecond), ""},
		{"negative", after("-5"), drawn, ""},
		{"zero", after("0"), drawn, ""},
		{"a date ahead", in(2*time.Minute, http.TimeFormat), soon, ""},
		{"a date ahead with hyphens", in(2*time.Minute, hyphens), soon, ""},
		{"a date past", in(-time.Hour, http.TimeFormat), drawn, ""},
		{"a date past with hyphens", after("Wed, 21-Oct-20 07:28:00 GMT"), drawn, ""},
		{"words", after("soon"), drawn, ""},
		{"nothing", after(""), drawn, ""},
		{"no header", nil, drawn, ""},
		{"milliseconds", map[string]string{"Retry-After-Ms": "1500"}, exactly(1500 * time.Millisecond), ""},
		{"milliseconds and seconds", map[string]string{"Retry-After-Ms": "1500", "Retry-After": "7"}, exactly(1500 * time.Millisecond), ""},
		{"another family", map[string]string{"X-Ratelimit-Reset": "1e9"}, drawn, ""},
		{"the longest", after("600"), exactly(10 * time.Minute), ""},
		{"longer", after("601"), exactly(0), "wait 10m1s, longer than 10m0s"},
		{"days", after("277403"), exactly(0), "wait 3 d 5 h, longer than 10m0s"},
		{"years", after("1e9"), exactly(0), "wait 11574 d 1 h, longer than 10m0s"},
		{"a date far ahead", after("Fri, 01 Jan 2100 00:00:00 GMT"), exactly(0), "longer than 10m0s"},
	} {
		for i, status := range []int{429, 503, 529} {
			name := []string{"anthropic", "compatible"}[i%2]
			t.Run(fmt.Sprintf("%s/%d", c.name, status), func(t *testing.T) {
				t.Parallel()
				url, asked := busy(t, status, c.header)
				r := newRig(t)
				obs := cancelWhen(t, r.elsewhere(), tagged("retry"))
				res, err := r.engine(api(t, name, endpoint.Config{BaseURL: url}), core.WithObserver(obs)).Run(context.Background(), r.contract())
				must(t, err)
				all := attempts(t, r.store, res.RunID)
				if asked.Load() != 1 || len(all) != 1 || all[0].Status != status {
					t.Fatalf("asked %d times\n%s", asked.Load(), brief(all))
				}
				if c.tooLong != "" {
					if res.Outcome != observer.OutcomeEscalatedRetryable || !strings.Contains(res.Message, c.tooLong) || all[0].DelayMS != nil {
						t.Errorf("%s: %s", res.Outcome, res.Message)
					}
					return
				}
				if res.Outcome != observer.OutcomeCancelled || all[0].DelayMS == nil {
					t.Fatalf("%s: %s", res.Outcome, res.Message)
				}
				if got := time.Duration(*all[0].DelayMS) * time.Millisecond; got < c.wait[0] || got > c.wait[1] {
					t.Errorf("waits %s, want between %s and %s", got, c.wait[0], c.wait[1])
				}
				checkWait(t, r.store, res.RunID)
			})
		}
	}
}

// checkWait wants what a countdown needs: a span for the wait that says when it began, and the cause.
func checkWait(t *testing.T, store *db.Store, run int64) {
	t.Helper()
	spans, err := store.Spans(context.Background(), run)
	must(t, err)
	for _, s := range spans {
		if s.Kind == "retry" {
			if s.StartedAt == 0 || !strings.Contains(s.Name, "HTTP") {
				t.Errorf("span %+v", s)
			}
			return
		}
	}
	t.Error("the wait has no span")
}

// A wait that does not fit into what is left of the time budget is not begun.
func TestAWaitBeyondTheTimeBudget(t *testing.T) {
	url, asked := busy(t, 429, map[string]string{"Retry-After": "120"})
	r := newRig(t)
	c := r.contract()
	c.Time = time.Minute
	res, err := r.engine(api(t, "compatible", endpoint.Config{BaseURL: url})).Run(context.Background(), c)
	must(t, err)
	if res.Outcome != observer.OutcomeEscalatedRetryable || !strings.Contains(res.Message, "wait 2m0s, longer than") || asked.Load() != 1 {
		t.Errorf("%s (%s) after %d requests", res.Outcome, res.Message, asked.Load())
	}
}

// With another provider a long wait is nobody's: the other answers at once, and the one that asked for it is left alone.
func TestALongWaitFallsOver(t *testing.T) {
	for _, header := range []string{"277403", "1e9", "601"} {
		url, asked := busy(t, 429, map[string]string{"Retry-After": header})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, whole["compatible"]) }))
		t.Cleanup(s.Close)
		p, err := fallback.New(nil,
			fallback.Member{Provider: api(t, "anthropic", endpoint.Config{BaseURL: url})},
			fallback.Member{Provider: api(t, "compatible", endpoint.Config{BaseURL: s.URL})})
		must(t, err)
		r := newRig(t)
		c := r.contract()
		c.Time = time.Minute
		for range 2 {
			res, err := r.engine(p).Run(context.Background(), c)
			must(t, err)
			if res.Outcome != observer.OutcomeSuccess {
				t.Errorf("%s: %s", res.Outcome, res.Message)
			}
		}
		if asked.Load() != 1 {
			t.Errorf("retry-after %s: asked %d times", header, asked.Load())
		}
	}
}

// An open breaker makes a lone provider's run wait for the probe, with the state in the store.
func TestTheBreakersStateIsStored(t *testing.T) {
	url, asked := busy(t, 500, nil)
	p, err := fallback.New(nil, fallback.Member{Provider: api(t, "compatible", endpoint.Config{BaseURL: url})})
	must(t, err)
	r := newRig(t)
	c := quick(r.contract())
	c.MaxRetries = 20
	other, waits := r.elsewhere(), 0
	obs := cancelWhen(t, other, func(ev *observer.Event) bool {
		k, ok := ev.Kind.(observer.Retry)
		if ok {
			waits++
		}
		return ok && k.DelayMillis > 1000
	})
	res, err := r.engine(p, core.WithObserver(obs)).Run(context.Background(), c)
	must(t, err)
	all := attempts(t, r.store, res.RunID)
	last := all[len(all)-1]
	if res.Outcome != observer.OutcomeCancelled || asked.Load() != retry.BreakerFailures || waits != retry.BreakerFailures || len(all) != retry.BreakerFailures {
		t.Fatalf("%s after %d requests and %d waits\n%s", res.Outcome, asked.Load(), waits, brief(all))
	}
	if !strings.Contains(last.Message, "circuit open after 5 failures, next probe in 30s") || *last.DelayMS != 30_000 {
		t.Errorf("the last attempt is %+v", last)
	}
}

// hung is an endpoint that comes to a halt somewhere; there is called when it has.
func hung(t *testing.T, name, where string, there func()) (endpoint.Config, *atomic.Int64) {
	t.Helper()
	asked := new(atomic.Int64)
	switch where {
	case "connect":
		return endpoint.Config{BaseURL: "http://127.0.0.1:1", Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			asked.Add(1)
			there()
			<-ctx.Done()
			return nil, ctx.Err()
		}}}, asked
	case "handshake":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			var hello [1]byte
			_, _ = conn.Read(hello[:])
			asked.Add(1)
			there()
			_, _ = io.Copy(io.Discard, conn) // until the client leaves
		}()
		t.Cleanup(func() { _ = l.Close(); <-done })
		return endpoint.Config{BaseURL: "https://" + l.Addr().String()}, asked
	}
	start := ""
	if where == "between parts" {
		start = half(name)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		if start != "" {
			_, _ = io.WriteString(w, start)
			_ = http.NewResponseController(w).Flush()
		}
		there()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return endpoint.Config{BaseURL: s.URL}, asked
}

// TestTheEndOfTheProcessAborts ends the process while a call hangs anywhere: it returns at once, asks nobody, neither again
// nor elsewhere, and leaves a run whose call is lost.
func TestTheEndOfTheProcessAborts(t *testing.T) {
	for _, name := range []string{"anthropic", "compatible"} {
		for _, where := range []string{"connect", "handshake", "first byte", "between parts"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(context.Background())
				var at time.Time
				conf, asked := hung(t, name, where, func() { at = time.Now(); stop(errors.New("gone")) })
				second := answers(say("done"))
				p, err := fallback.New(nil, fallback.Member{Provider: api(t, name, conf)}, fallback.Member{Provider: second})
				must(t, err)
				r := newRig(t)
				res, err := r.engine(p).Run(ctx, r.contract())
				must(t, err)
				if took := time.Since(at); took > 5*time.Second { // a second on a machine that is not busy
					t.Errorf("it took %s", took)
				}
				run, err := r.store.Run(context.Background(), res.RunID)
				must(t, err)
				all := attempts(t, r.store, res.RunID)
				if run.Status != db.Running || len(all) != 1 || all[0].State != db.AttemptLost || asked.Load() != 1 || second.calls != 0 {
					t.Errorf("%s, %d requests, the second asked %d times\n%s", run.Status, asked.Load(), second.calls, brief(all))
				}
			})
		}
	}
}

// TestCancelDuringARealWait cancels a run whose server wants minutes: it ends without waiting and asks nothing more.
func TestCancelDuringARealWait(t *testing.T) {
	url, asked := busy(t, 429, map[string]string{"Retry-After": "599"})
	r := newRig(t)
	began := time.Now()
	obs := cancelWhen(t, r.elsewhere(), tagged("retry"))
	res, err := r.engine(api(t, "anthropic", endpoint.Config{BaseURL: url}), core.WithObserver(obs)).Run(context.Background(), r.contract())
	must(t, err)
	if took := time.Since(began); res.Outcome != observer.OutcomeCancelled || asked.Load() != 1 || took > 30*time.Second {
		t.Errorf("%s after %s and %d requests", res.Outcome, took, asked.Load())
	}
	checkCancelled(t, r, res, observer.OutcomeCancelled)
}
