package wiretest

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// Script is a transport that gives every request the same answer, without a socket. It is safe for concurrent use.
type Script struct {
	Status int // 0 means 200
	Header http.Header
	Steps  []Step

	mu       sync.Mutex
	requests []Request
}

// Request is what a client sent.
type Request struct {
	URL    string
	Header http.Header
	Body   []byte
}

// Step is one read of the answer's body. It runs in the goroutine that reads: whatever came before has been dealt with.
type Step func(ctx context.Context) ([]byte, error)

// Say gives bytes.
func Say(s string) Step {
	return func(context.Context) ([]byte, error) { return []byte(s), nil }
}

// Do runs f and gives nothing, save for the context's error if that has ended.
func Do(f func()) Step {
	return func(ctx context.Context) ([]byte, error) {
		f()
		return nil, ctx.Err()
	}
}

// Fail breaks the body.
func Fail(err error) Step {
	return func(context.Context) ([]byte, error) { return nil, err }
}

// Hang gives nothing until the request is abandoned.
func Hang() Step {
	return func(ctx context.Context) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// Bytes are steps that give one byte each.
func Bytes(s string) []Step {
	var steps []Step
	for i := range len(s) {
		steps = append(steps, Say(s[i:i+1]))
	}
	return steps
}

// Requests are the requests so far.
func (s *Script) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// RoundTrip answers.
func (s *Script) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{URL: req.URL.String(), Header: req.Header.Clone(), Body: sent})
	s.mu.Unlock()
	res := &http.Response{
		StatusCode: s.Status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  s.Header,
		Body:    &body{ctx: req.Context(), steps: s.Steps},
		Request: req,
	}
	if res.StatusCode == 0 {
		res.StatusCode = http.StatusOK
	}
	if res.Header == nil {
		res.Header = http.Header{}
	}
	return res, nil
}

type body struct {
	ctx   context.Context
	steps []Step
	rest  []byte
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if len(b.steps) == 0 {
			return 0, io.EOF
		}
		step := b.steps[0]
		b.steps = b.steps[1:]
		var err error
		if b.rest, err = step(b.ctx); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error { return nil }
