package observer

// ModelCall is one request to a model that was answered or that failed. A pointer that is nil was not reported.
type ModelCall struct {
	Provider      string  `json:"provider"`
	AskedModel    string  `json:"asked_model"`
	AnsweredModel *string `json:"answered_model"`
	Finish        *string `json:"finish"` // the endpoint's own word for why it stopped
	// Input, Output, CacheRead, CacheWrite and Reasoning are tokens as the endpoint reported them.
	Input      *int64 `json:"input"`
	Output     *int64 `json:"output"`
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
	Reasoning  *int64 `json:"reasoning"`
	// Measured says that the endpoint reported usage at all.
	Measured bool `json:"measured"`
	// CostMicros is the estimated price in millionths of the currency unit, nil for a model without a known price.
	CostMicros *int64 `json:"cost_micros"`
	// FirstMillis is the time to the first byte of content, LatencyMillis the time to the end.
	FirstMillis   *int64 `json:"first_ms"`
	LatencyMillis int64  `json:"latency_ms"`
	// Failure says what kind of failure it was, nil for an answer.
	Failure *string `json:"failure"`
	// Attempt is the number that the call was asked under.
	Attempt int `json:"attempt"`
}

// ModelAsked is a request to a model that is about to be made.
type ModelAsked struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Attempt  int    `json:"attempt"` // dense per run, failed ones counted
}

// Retry is a failed request that will be made again after a wait.
type Retry struct {
	Kind        string `json:"kind"` // of the failure, with the HTTP status when there was one
	Attempt     int    `json:"attempt"`
	DelayMillis int64  `json:"delay_ms"`
}

// FellBackTo names the provider that answered a step in place of another that could not.
type FellBackTo struct {
	Provider string `json:"provider"`
}

// Endpoint is the policy's word on a host that a provider wants to reach, given before the first step.
type Endpoint struct {
	Host   string  `json:"host"`
	Effect string  `json:"effect"` // "allow", "ask" or "deny"
	Rule   *string `json:"rule"`   // nil when no rule but a default decided
	Layer  *string `json:"layer"`
}

// Tag returns "model_call".
func (ModelCall) Tag() string { return "model_call" }

// Tag returns "model_asked".
func (ModelAsked) Tag() string { return "model_asked" }

// Tag returns "retry".
func (Retry) Tag() string { return "retry" }

// Tag returns "fell_back_to".
func (FellBackTo) Tag() string { return "fell_back_to" }

// Tag returns "endpoint_checked".
func (Endpoint) Tag() string { return "endpoint_checked" }

func (ModelCall) kind()  {}
func (ModelAsked) kind() {}
func (Retry) kind()      {}
func (FellBackTo) kind() {}
func (Endpoint) kind()   {}
