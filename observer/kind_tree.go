package observer

// SpendDraw is a step's tokens taken from what a tree of agents shares.
type SpendDraw struct {
	Tokens    int64  `json:"tokens"`
	Remaining *int64 `json:"remaining"` // left for the tree afterwards, nil without a ceiling
}

// Spawned is a child that was started. The event belongs to the parent's run.
type Spawned struct {
	ChildRunID int64  `json:"child_run_id"`
	Goal       string `json:"goal"` // the child's
}

// SpawnRefused is a child that a limit of the tree kept from starting.
type SpawnRefused struct {
	Cap string `json:"cap"` // the limit: "agents", "depth", "concurrency" or "budget"
}

// Tag returns "spend_draw".
func (SpendDraw) Tag() string { return "spend_draw" }

// Tag returns "spawned".
func (Spawned) Tag() string { return "spawned" }

// Tag returns "spawn_refused".
func (SpawnRefused) Tag() string { return "spawn_refused" }

func (SpendDraw) kind()    {}
func (Spawned) kind()      {}
func (SpawnRefused) kind() {}
