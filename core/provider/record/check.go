package record

import (
	"fmt"
	"slices"

	"tillerman/core/provider"
)

// checker follows a recording's exchanges in order and says what is wrong with one.
type checker struct {
	messages map[string]int // by agent, how many messages its last request had
}

func newChecker() *checker { return &checker{messages: map[string]int{}} }

// next checks one exchange by itself and against the ones before it. Whether its tools exist is not asked.
func (c *checker) next(ex *Exchange) error {
	before, known := c.messages[ex.Agent]
	switch {
	case ex.Step < 0:
		return fmt.Errorf("agent %q: step %d is negative", ex.Agent, ex.Step)
	case !known && ex.Request.System == nil:
		return fmt.Errorf("agent %q, step %d: the first request of an agent needs its system text", ex.Agent, ex.Step)
	case ex.Request.Keep < 0 || ex.Request.Keep > before:
		return fmt.Errorf("agent %q, step %d: keeps %d messages of a request that has %d",
			ex.Agent, ex.Step, ex.Request.Keep, before)
	}
	for _, a := range ex.Attempts {
		if !a.Kind.Valid() {
			return fmt.Errorf("agent %q, step %d: no kind of failure is called %q", ex.Agent, ex.Step, a.Kind)
		}
	}
	c.messages[ex.Agent] = ex.Request.Keep + len(ex.Request.Append)
	return nil
}

// check looks at all exchanges. The error names the first bad one by its place, counted from 0.
func (f *File) check() error {
	c := newChecker()
	for i := range f.Exchanges {
		err := c.next(&f.Exchanges[i])
		if err == nil {
			err = f.checkTools(&f.Exchanges[i])
		}
		if err != nil {
			return fmt.Errorf("exchange %d: %w", i, err)
		}
	}
	return nil
}

func (f *File) checkTools(ex *Exchange) error {
	if _, ok := f.Tools[ex.Request.Tools]; !ok {
		return fmt.Errorf("agent %q, step %d: no tools under the digest %q", ex.Agent, ex.Step, ex.Request.Tools)
	}
	return nil
}

// Expand rebuilds the whole request of every exchange, in order. The requests share their messages and tools: they are
// to be read only.
func (f *File) Expand() ([]provider.Request, error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	requests := make([]provider.Request, len(f.Exchanges))
	last := map[string]provider.Request{}
	for i := range f.Exchanges {
		ex := &f.Exchanges[i]
		req := last[ex.Agent]
		req.Model, req.MaxOutput, req.Tools = ex.Request.Model, ex.Request.MaxOutput, f.Tools[ex.Request.Tools]
		if ex.Request.System != nil {
			req.System = *ex.Request.System
		}
		if ex.Request.Keep < len(req.Messages) {
			// What follows must not be written over the messages of an earlier request.
			req.Messages = req.Messages[:ex.Request.Keep:ex.Request.Keep]
		}
		req.Messages = append(req.Messages, ex.Request.Append...)
		last[ex.Agent] = req
		req.Messages = slices.Clip(req.Messages)
		requests[i] = req
	}
	return requests, nil
}
