package replay

import (
	"fmt"
	"strings"

	"tillerman/core/provider"
)

// miss is the error for a request without a recorded outcome. It is not retryable: the same request would be missing
// the next time too.
func (r *Replay) miss(req provider.Request, call provider.Call) *provider.Error {
	return &provider.Error{Kind: provider.BadRequest, Provider: r.Name(), Message: r.explain(req, call)}
}

func (r *Replay) explain(req provider.Request, call provider.Call) string {
	asked := fmt.Sprintf("agent %s, step %d", excerpt(call.Agent, 0), call.Step)
	near := r.nearest(req, call)
	if near == nil {
		return asked + ": the recording holds no exchange at all"
	}
	place := fmt.Sprintf("agent %s, step %d", excerpt(near.agent, 0), near.step)
	lines := differences(near.req, req)
	if len(lines) == 0 {
		return fmt.Sprintf("%s: the recording has this request (%s) but not what came of it", asked, place)
	}
	return fmt.Sprintf("%s: no such request in the recording; the nearest (%s) differs in\n%s",
		asked, place, strings.Join(lines, "\n"))
}

// nearest is the recorded request most like this one: of the same agent if it has any, with the most messages in common
// from the start, of the same step, the same but for fields beside the messages; the earliest of equals.
func (r *Replay) nearest(req provider.Request, call provider.Call) *recorded {
	var best *recorded
	var score [4]int
	for i := range r.recorded {
		at := &r.recorded[i]
		next := [4]int{
			truth(at.agent == call.Agent),
			provider.Common(at.req.Messages, req.Messages),
			truth(at.step == call.Step),
			truth(len(at.req.Messages) == len(req.Messages)),
		}
		if best == nil || greater(next, score) {
			best, score = at, next
		}
	}
	return best
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func greater(a, b [4]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] > b[i]
		}
	}
	return false
}
