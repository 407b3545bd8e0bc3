package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"tillerman/core/provider"
	"tillerman/core/provider/stream"
	"tillerman/core/retry"
)

// Mark says what an event was to its decoder.
type Mark int

// The marks.
const (
	Idle    Mark = iota // nothing of the answer: a ping, an empty chunk
	Content             // something of the answer: the stream is alive
	Last                // the event that closes the answer
)

// Decoder makes an answer of events. It serves one call.
type Decoder interface {
	// Event takes the next event. An error ends the call; it is a *provider.Error.
	Event(ev stream.Event) (Mark, error)
	// Whole says whether the answer is complete if the body ends here without the closing event.
	Whole() bool
	// Answer is the finished answer, or the *provider.Error that it amounts to. Asked only after Last or Whole.
	Answer() (provider.Answer, error)
	// Reported is the model that answered and the usage, as far as the endpoint said so.
	Reported() (model string, usage *provider.Usage)
}

const (
	// maxBody is the most bytes of one answer on the wire. The longest answers that models give are a fifth of it.
	maxBody = 256 << 20
	// maxErrorBody is how much of an error response is read.
	maxErrorBody = 64 << 10
)

// EndedEarly is the message of a stream that ended before the event that closes an answer.
const EndedEarly = "stream ended early"

// Ask posts body to the path below the base URL and hands the events of the answer to dec. Failures are as
// provider.Provider states them; they carry the endpoint's name, what dec had been told of model and usage, and never
// the key.
func (e *Endpoint) Ask(
	ctx context.Context, path string, header http.Header, body []byte, dec Decoder,
) (provider.Answer, error) {
	answer, err := e.ask(ctx, path, header, body, dec)
	e.served.Store(err == nil)
	switch {
	case err == nil:
		answer.Served = e.name
		return answer, nil
	case ctx.Err() != nil:
		return provider.Answer{}, fmt.Errorf("%s: call abandoned: %w", e.name, context.Cause(ctx))
	}
	failed, ok := provider.As(err)
	if !ok {
		return provider.Answer{}, err
	}
	failed.Provider = e.name
	failed.Message = clean(e.secret, failed.Message)
	failed.Model, failed.Usage = dec.Reported()
	return provider.Answer{}, failed
}

func (e *Endpoint) ask(
	ctx context.Context, path string, header http.Header, body []byte, dec Decoder,
) (provider.Answer, error) {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := stream.Watch(e.clock, e.limits, cancel)
	defer dog.Stop()
	times, err := e.exchange(within, dog, path, header, body, dec)
	if stalled := dog.Err(); err != nil && stalled != nil {
		return provider.Answer{}, stalled
	}
	if err != nil {
		return provider.Answer{}, err
	}
	answer, err := dec.Answer()
	answer.FirstMillis, answer.TotalMillis = times.first.Milliseconds(), times.last.Milliseconds()
	return answer, err
}

// times are how long after the request the first and the last content came.
type times struct {
	first, last time.Duration
	any         bool
}

func (t *times) mark(since time.Duration) {
	t.last = since
	if !t.any {
		t.first, t.any = since, true
	}
}

// exchange sends the request and reads the stream.
func (e *Endpoint) exchange(
	ctx context.Context, dog *stream.Watchdog, path string, header http.Header, body []byte, dec Decoder,
) (t times, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return t, &provider.Error{Kind: provider.BadRequest, Message: "the request cannot be made", Err: err}
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "tillerman")

	start := e.clock.Now()
	res, err := e.client.Do(req)
	if err != nil {
		return t, broken(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return t, e.refused(res)
	}
	in, err := eventBody(&capped{src: res.Body, left: maxBody})
	if err != nil {
		return t, err
	}
	events := stream.NewReader(in, e.max)
	for {
		mark, err := next(events, dec)
		if err != nil {
			return t, err
		}
		if mark != Idle {
			dog.Content()
			t.mark(e.clock.Now().Sub(start))
		}
		if mark == Last {
			return t, nil
		}
	}
}

// next reads one event and has it decoded.
func next(events *stream.Reader, dec Decoder) (Mark, error) {
	ev, err := events.Next()
	if err == nil {
		return dec.Event(ev)
	}
	early := &provider.Error{Kind: provider.Transport, Message: EndedEarly, Err: err}
	var cut *stream.CutError
	var large *stream.TooLargeError
	switch {
	case errors.As(err, &cut):
		// Some servers leave out the blank line after the closing event. Nothing of the answer is missing then.
		if mark, err := dec.Event(cut.Pending); err == nil && mark == Last {
			return Last, nil
		}
		return Idle, early
	case errors.Is(err, io.EOF):
		if dec.Whole() {
			return Last, nil
		}
		return Idle, early
	case errors.As(err, &large):
		return Idle, &provider.Error{Kind: provider.Malformed, Message: large.Error(), Err: err}
	}
	early.Message += ": " + err.Error()
	return Idle, early
}

// refused makes an error of a response that is no answer.
func (e *Endpoint) refused(res *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what could be read is enough
	failed := failure(res.StatusCode, raw)
	if res.StatusCode/100 == 3 {
		// Where a redirect leads is not told: it may hold what the request held.
		failed.Message = "the endpoint redirects elsewhere; redirects are not followed"
	}
	if failed.Message == "" {
		failed.Message = http.StatusText(res.StatusCode)
	}
	if failed.Kind.Retryable() {
		failed.Hint = retry.Hint(res.Header, e.clock.Now())
	}
	return failed
}

// eventBody gives the body back when it can be an event stream. It catches one that is JSON or a web page: a server that
// does not stream, or an error sent with status 200.
func eventBody(body io.Reader) (io.Reader, error) {
	var head [1]byte
	if _, err := io.ReadFull(body, head[:]); err != nil {
		return failing{err}, nil
	}
	body = io.MultiReader(bytes.NewReader(head[:]), body)
	if head[0] != '{' && head[0] != '<' {
		return body, nil
	}
	raw, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what could be read is enough
	if isErrorBody(raw) {
		return nil, ErrorEvent(raw)
	}
	return nil, &provider.Error{Kind: provider.Malformed, Message: "the answer is not an event stream"}
}

// failing is a body whose first read failed.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// broken makes an error of a failed connection. The URL that net/http puts around the cause adds nothing.
func broken(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &provider.Error{Kind: provider.Transport, Message: err.Error(), Err: err}
}

// capped fails when a body goes on for ever.
type capped struct {
	src  io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, &stream.TooLargeError{Limit: maxBody}
	}
	n, err := c.src.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
