package history

import (
	"encoding/json"
	"fmt"
	"path"

	"tillerman/core/provider"
)

// Stub is one result that a compaction cut down to a line.
type Stub struct {
	Tool   string
	Target string
	Bytes  int    // what was left out
	Why    string // superseded, stale, oldest
}

// stubFloor is the size below which a result is not worth a stub.
const stubFloor = 200

// Compact replaces results by one-line stubs until the messages are at most target bytes: first results that a later
// call of the same tool with the same arguments superseded, then reads made stale by a later write, then the oldest.
// The newest message with results is left whole. Calls and results stay paired. It returns what it cut, in order.
func (h *History) Compact(target int) []Stub {
	calls := h.calls()
	var stubs []Stub
	for _, why := range []string{"superseded", "stale", "oldest"} {
		for i := range calls {
			if h.bytes <= target {
				return stubs
			}
			if c := &calls[i]; !c.cut && c.reason(calls[i+1:], why) {
				if s, ok := h.stub(c, why); ok {
					stubs = append(stubs, s)
				}
			}
		}
	}
	return stubs
}

// made is a call whose result stands in the history.
type made struct {
	tool, arguments, path string
	message, part         int // where its result is
	cut, newest           bool
}

func (h *History) calls() []made {
	byID := map[string]provider.Part{}
	var all []made
	last := -1
	for i, m := range h.messages {
		for j, p := range m.Parts {
			switch p.Kind {
			case provider.PartCall:
				byID[p.ID] = p
			case provider.PartResult:
				call := byID[p.ID]
				all = append(all, made{tool: p.Name, arguments: call.Arguments, path: pathOf(call.Arguments), message: i, part: j})
				last = i
			}
		}
	}
	for i := range all {
		all[i].newest = all[i].message == last
	}
	return all
}

// pathOf is the path argument of a call, "" for none.
func pathOf(arguments string) string {
	var args struct {
		Path string `json:"path"`
	}
	if json.Unmarshal([]byte(arguments), &args) != nil || args.Path == "" {
		return ""
	}
	return path.Clean(args.Path)
}

// reason says whether c's result can go for this reason, given the calls after it.
func (c *made) reason(later []made, why string) bool {
	if c.newest {
		return false
	}
	switch why {
	case "superseded":
		for _, l := range later {
			if l.tool == c.tool && l.arguments == c.arguments {
				return true
			}
		}
		return false
	case "stale":
		if c.tool != "read_file" || c.path == "" {
			return false
		}
		for _, l := range later {
			if (l.tool == "write_file" || l.tool == "edit") && l.path == c.path {
				return true
			}
		}
		return false
	}
	return true
}

func (h *History) stub(c *made, why string) (Stub, bool) {
	m := &h.messages[c.message]
	p := m.Parts[c.part]
	if len(p.Text) < stubFloor {
		return Stub{}, false
	}
	s := Stub{Tool: c.tool, Target: c.path, Bytes: len(p.Text), Why: why}
	before := len(m.Canonical())
	parts := append([]provider.Part(nil), m.Parts...) // stored requests share the old slice
	parts[c.part].Text = fmt.Sprintf("[left out to save room: %s %s, %d bytes, %s; call it again if you need it]", c.tool, c.path, len(p.Text), why)
	m.Parts = parts
	h.bytes += len(m.Canonical()) - before
	h.kept = min(h.kept, c.message)
	c.cut = true
	return s, true
}
