package chat

import (
	"strings"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// calls puts tool calls together from fragments. Two calls are never joined: what cannot be told apart by index or id
// fails the answer.
type calls struct {
	list   []*call
	byID   map[string]*call
	byN    map[int]*call // the latest call under an index
	shared map[int]bool  // indexes under which more than one call came
}

type call struct {
	id, name string
	n        endpoint.Index
	args     strings.Builder
	end      valueEnd
}

func newCalls() *calls {
	return &calls{byID: map[string]*call{}, byN: map[int]*call{}, shared: map[int]bool{}}
}

// add takes a fragment and says whether it began a call.
func (cs *calls) add(f fragment) (*call, bool, error) {
	c, err := cs.find(f)
	if err != nil {
		return nil, false, err
	}
	begins := c == nil
	if begins {
		c = &call{}
		cs.list = append(cs.list, c)
	}
	if err := c.extend(f); err != nil {
		return nil, false, err
	}
	if c.id != "" {
		cs.byID[c.id] = c
	}
	if f.Index.Set {
		c.n = f.Index
		cs.byN[f.Index.N] = c
	}
	return c, begins, nil
}

// find is the call that a fragment belongs to, nil when it begins one.
func (cs *calls) find(f fragment) (*call, error) {
	named := cs.byID[f.ID]
	if !f.Index.Set {
		return cs.findByID(f, named)
	}
	at := cs.byN[f.Index.N]
	switch {
	case at == nil && named != nil && named.n.Set:
		return nil, endpoint.Malformed("one tool call id under two indexes")
	case at == nil && named != nil:
		return named, nil
	case at == nil && f.ID == "" && f.Function.Name == "":
		return nil, endpoint.Malformed("a piece of a tool call that never began")
	case at == nil:
		return nil, nil
	case f.ID == "" && cs.shared[f.Index.N]:
		return nil, endpoint.Malformed("a piece of a tool call that may belong to two calls")
	case f.ID == "" || f.ID == at.id || (at.id == "" && named == nil):
		return at, nil
	case named != nil && named.n == f.Index:
		return named, nil
	case named == nil && f.Function.Name != "" && at.end.reached:
		// Some servers number every call 0. Each comes whole and with an id of its own, so they can be told apart.
		cs.shared[f.Index.N] = true
		return nil, nil
	}
	return nil, endpoint.Malformed("two tool calls under one index")
}

// findByID serves servers that number no calls: Ollama and others send each call whole. A call without even an id must
// be whole, and so must those before it, or it could be the rest of one of them.
func (cs *calls) findByID(f fragment, named *call) (*call, error) {
	var whole valueEnd
	whole.feed(string(f.Function.Arguments))
	switch {
	case named != nil && f.Function.Name != "":
		return nil, endpoint.Malformed("two tool calls with the same id")
	case named != nil:
		return named, nil
	case f.Function.Name == "":
		return nil, endpoint.Malformed("a piece of a tool call without index or id")
	case f.ID == "" && (!whole.reached || cs.unfinished()):
		return nil, endpoint.Malformed("a tool call in pieces without index or id")
	}
	return nil, nil
}

// unfinished says whether a call without an index may still go on.
func (cs *calls) unfinished() bool {
	for _, c := range cs.list {
		if !c.n.Set && !c.end.reached {
			return true
		}
	}
	return false
}

// extend adds a fragment to its call. A name or an id that comes again must be the same.
func (c *call) extend(f fragment) error {
	if c.id == "" {
		c.id = f.ID
	}
	if c.name == "" {
		c.name = f.Function.Name
	} else if f.Function.Name != "" && f.Function.Name != c.name {
		return endpoint.Malformed("two tool names in one tool call")
	}
	args := string(f.Function.Arguments)
	if c.end.reached && strings.TrimSpace(args) != "" {
		return endpoint.Malformed("tool arguments go on after their end")
	}
	c.end.feed(args)
	c.args.WriteString(args)
	return nil
}

// part is the call with the exact bytes that came; broken arguments are for whoever reads them to refuse.
func (c *call) part() provider.Part {
	return provider.Part{Kind: provider.PartCall, ID: c.id, Name: c.name, Arguments: c.args.String()}
}

// valueEnd finds the end of a JSON object, array or string that comes in pieces, without reading it again for every
// piece.
type valueEnd struct {
	depth            int
	inString, escape bool
	reached          bool
}

func (v *valueEnd) feed(s string) {
	for i := 0; i < len(s) && !v.reached; i++ {
		switch b := s[i]; {
		case v.escape:
			v.escape = false
		case v.inString && b == '\\':
			v.escape = true
		case b == '"':
			v.inString = !v.inString
			v.reached = !v.inString && v.depth == 0
		case v.inString:
		case b == '{' || b == '[':
			v.depth++
		case b == '}' || b == ']':
			v.depth--
			v.reached = v.depth <= 0
		}
	}
}
