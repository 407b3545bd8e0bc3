package observer

// Started opens a drive: the run began, or a resume took it up.
type Started struct {
	Goal     string `json:"goal"`
	Provider string `json:"provider"` // its name, as the operator calls it
}

// Step is a step that was sealed and counts from now on.
type Step struct {
	// Decision joins the outcomes of the step's calls.
	Decision string `json:"decision"`
	// ToolCall joins the step's calls, each as name:{json}, by " | ". It is for showing and is never parsed.
	ToolCall string `json:"tool_call"`
	// Tokens is what the step spent, 0 when the provider did not say.
	Tokens int64 `json:"tokens"`
	// Changed says that the step altered something in the workspace.
	Changed bool `json:"changed"`
	// Measured tells a step that spent 0 tokens from one whose tokens are not known.
	Measured bool `json:"measured"`
}

// Replan is the one time that an agent without progress is told to try something else.
type Replan struct {
	Window int `json:"window"` // steps without progress that led to it
}

// Stalled is an agent that made no progress after a Replan. The run ends.
type Stalled struct{}

// Compacted is older conversation replaced by stubs so that the next request fits.
type Compacted struct {
	BeforeTokens int64 `json:"before_tokens"` // estimated
	AfterTokens  int64 `json:"after_tokens"`  // estimated
	Stubs        int   `json:"stubs"`         // results that became one line
}

// MemoryWrote is a note that the agent kept for later runs.
type MemoryWrote struct {
	Key string `json:"key"`
}

// Finished closes a drive and is its last event. A run that pauses closes the drive with its paused word.
type Finished struct {
	Outcome Outcome `json:"outcome"`
	Steps   int     `json:"steps"`  // sealed in the whole run
	Tokens  int64   `json:"tokens"` // of those steps
}

// Tag returns "started".
func (Started) Tag() string { return "started" }

// Tag returns "step".
func (Step) Tag() string { return "step" }

// Tag returns "replan".
func (Replan) Tag() string { return "replan" }

// Tag returns "stalled".
func (Stalled) Tag() string { return "stalled" }

// Tag returns "compacted".
func (Compacted) Tag() string { return "compacted" }

// Tag returns "memory_wrote".
func (MemoryWrote) Tag() string { return "memory_wrote" }

// Tag returns "finished".
func (Finished) Tag() string { return "finished" }

func (Started) kind()     {}
func (Step) kind()        {}
func (Replan) kind()      {}
func (Stalled) kind()     {}
func (Compacted) kind()   {}
func (MemoryWrote) kind() {}
func (Finished) kind()    {}
