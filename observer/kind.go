package observer

import (
	"reflect"
	"sync"
)

// Kind is what an Event carries. Only this package has kinds. A reader switches over the types it knows and lets the
// rest pass: kinds are added, and neither the name nor the type of a field that exists is ever changed.
type Kind interface {
	// Tag is the value of the wire's "event" key, one for each kind.
	Tag() string
	kind()
}

// Kinds returns one example of every kind but Unknown, with every optional field set. The examples are also the list
// that decoding works from: a kind that is missing here reads back as Unknown.
func Kinds() []Kind {
	return []Kind{
		Started{Goal: "make the tests pass", Provider: "anthropic"},
		Step{Decision: "wrote a.go", ToolCall: `write_file:{"path":"a.go"}`, Tokens: 412, Changed: true, Measured: true},
		ToolCall{Name: "read_file", Target: "a.go"},
		Refused{Act: "write", Target: ".env", Rule: new(".env"), Layer: new("secrets")},
		ApprovalRequested{Act: "exec", Target: "make"},
		ApprovalDecided{Act: "exec", Target: "make", Decision: "approve"},
		SpendDraw{Tokens: 300, Remaining: new(int64(700))},
		Retry{Kind: "server (HTTP 503)", Attempt: 1, DelayMillis: 500},
		FellBackTo{Provider: "local"},
		Replan{Window: 3},
		Stalled{},
		Spawned{ChildRunID: 9, Goal: "read the docs"},
		SpawnRefused{Cap: "depth"},
		MemoryWrote{Key: "build"},
		Sandbox{Kind: "create", Backend: new("namespaces")},
		MCP{Server: "files", Tool: new("mcp__files__ls"), OK: new(true), Millis: new(int64(12))},
		Finished{Outcome: OutcomeSuccess, Steps: 7, Tokens: 9120},
		ModelCall{
			Provider: "anthropic", AskedModel: "large", AnsweredModel: new("large-2"), Finish: new("end_turn"),
			Input: new(int64(900)), Output: new(int64(80)), CacheRead: new(int64(600)), CacheWrite: new(int64(200)),
			Reasoning: new(int64(30)), Measured: true, CostMicros: new(int64(5400)), FirstMillis: new(int64(350)),
			LatencyMillis: 2100, Failure: new("timeout"), Attempt: 3,
		},
		ModelAsked{Provider: "anthropic", Model: "large", Attempt: 3},
		ToolBegan{Name: "read_file", Target: "a.go", Position: 1, Again: true},
		ToolResult{Name: "read_file", Target: "a.go", Position: 1, OK: true, Changed: true, Millis: 4},
		Gate{Phase: "verify", Target: "go test ./...", State: GatePassed, Millis: new(int64(5200))},
		Endpoint{Host: "api.example.com:443", Effect: "allow", Rule: new("api.example.com"), Layer: new("provider")},
		CancelRequested{Kind: StopCancel, By: "ann", Through: "console"},
		Paused{By: "ann", Reason: "lunch"},
		Continued{By: "ann"},
		Told{By: "ann", Text: "leave the docs alone"},
		BudgetChanged{By: "ann", Budget: "tokens", Limit: new(int64(50000))},
		Compacted{BeforeTokens: 90000, AfterTokens: 54000, Stubs: 12},
		Recovery{Name: "exec", Target: "make deploy", Key: "4/0/3/1", Decision: "done"},
	}
}

// knownKinds is the type behind each tag. It is derived once and never written again.
var knownKinds = sync.OnceValue(func() map[string]reflect.Type {
	types := make(map[string]reflect.Type)
	for _, k := range Kinds() {
		types[k.Tag()] = reflect.TypeOf(k)
	}
	return types
})
