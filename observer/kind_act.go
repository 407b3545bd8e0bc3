package observer

// ToolCall is a tool about to act, before its result is known.
type ToolCall struct {
	Name   string `json:"name"`
	Target string `json:"target"` // path, host, server or command
}

// ToolBegan is a call that was allowed and acts now.
type ToolBegan struct {
	Name     string `json:"name"`
	Target   string `json:"target"`
	Position int    `json:"position"` // of the call in its step
	Again    bool   `json:"again"`    // it had begun before and its process died
}

// ToolResult is how a ToolCall ended.
type ToolResult struct {
	Name     string `json:"name"`
	Target   string `json:"target"`
	Position int    `json:"position"` // of the call in its step
	OK       bool   `json:"ok"`
	Changed  bool   `json:"changed"` // it altered something in the workspace
	Millis   int64  `json:"millis"`
}

// Recovery is what was decided about a call that must not run twice and that a crash interrupted.
type Recovery struct {
	Name     string `json:"name"`
	Target   string `json:"target"`
	Key      string `json:"key"` // of the call, the same on every try
	Decision string `json:"decision"`
}

// Sandbox is something that became of a sandbox.
type Sandbox struct {
	Kind    string  `json:"kind"`    // "create", "exec", "cap_hit", "destroy" or "gate_phase_failed"
	Backend *string `json:"backend"` // what isolates it, nil when not known
}

// MCP is a server of the Model Context Protocol that was reached or left, or a call of one of its tools.
type MCP struct {
	Server string  `json:"server"` // its configured name
	Tool   *string `json:"tool"`   // nil when it is about the server
	OK     *bool   `json:"ok"`
	Millis *int64  `json:"millis"`
}

// States of a Gate.
const (
	GateBegan       = "began"
	GatePassed      = "passed"
	GateFailed      = "failed"
	GateInterrupted = "interrupted"
)

// Gate is a check of whether the task is done.
type Gate struct {
	Phase  string `json:"phase"`
	Target string `json:"target"` // the command, or the file and the text it must hold
	State  string `json:"state"`
	Millis *int64 `json:"millis"` // nil while it runs
}

// Tag returns "tool_call".
func (ToolCall) Tag() string { return "tool_call" }

// Tag returns "tool_began".
func (ToolBegan) Tag() string { return "tool_began" }

// Tag returns "tool_result".
func (ToolResult) Tag() string { return "tool_result" }

// Tag returns "recovery".
func (Recovery) Tag() string { return "recovery" }

// Tag returns "sandbox".
func (Sandbox) Tag() string { return "sandbox" }

// Tag returns "mcp".
func (MCP) Tag() string { return "mcp" }

// Tag returns "gate".
func (Gate) Tag() string { return "gate" }

func (ToolCall) kind()   {}
func (ToolBegan) kind()  {}
func (ToolResult) kind() {}
func (Recovery) kind()   {}
func (Sandbox) kind()    {}
func (MCP) kind()        {}
func (Gate) kind()       {}
