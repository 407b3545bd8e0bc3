package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tillerman/core/gate"
	"tillerman/core/retry"
)

// Contract is what a run was asked to do and within which limits. It is stored with the run and never changes by itself:
// every derived number is fixed when the run starts.
type Contract struct {
	Goal        string   `json:"goal"`
	Workspace   string   `json:"workspace"` // absolute, links resolved
	Constraints []string `json:"constraints,omitempty"`
	// Gates decide whether the task is done; without any a final message is success, marked unverified.
	Gates []gate.Gate `json:"gates,omitempty"`
	// VerifyWhen is "done" (default: when the model says it is done) or "changed" (after each step that changed a file).
	VerifyWhen string `json:"verify_when"`

	MaxSteps   int           `json:"max_steps"`
	Time       time.Duration `json:"time,omitempty"`         // driven time without waiting for people; 0 is none
	Tokens     int64         `json:"tokens,omitempty"`       // every call counted; 0 is none
	Money      int64         `json:"money_micros,omitempty"` // estimated, micro-units; 0 is none
	MaxRetries int           `json:"max_retries"`
	Retry      retry.Policy  `json:"retry"`
	Stall      Stall         `json:"stall"`
	// ContextTokens is what a request may hold before it is compacted; MaxOutput what an answer may.
	ContextTokens int `json:"context_tokens"`
	MaxOutput     int `json:"max_output"`

	// Provider says how the model is reached, for a resume; never a key.
	Provider Source `json:"provider"`
	Model    string `json:"model"`
	// Fallback are asked in this order when the provider cannot answer now, each for its own model. The engine asks the
	// provider that it was given: whoever makes that one from the contract makes a chain of these.
	Fallback []Source `json:"fallback,omitempty"`
	// File, when set, is the one file that may be written.
	File string `json:"file,omitempty"`
	// Repeatable lists commands, as words, that may run again after a crash.
	Repeatable [][]string `json:"repeatable,omitempty"`
	// Record is the file that the run's recording is written to, after every drive; "" for none.
	Record string `json:"record,omitempty"`
	// Key makes the start idempotent: the same key and content is the same run.
	Key string `json:"key,omitempty"`
	// RetrySeed seeds the jitter of waits, so that a run's waits can be recomputed.
	RetrySeed int64 `json:"retry_seed"`
}

// Source names a provider so that another process can make it again.
type Source struct {
	Kind    string `json:"kind"` // anthropic, openai, openrouter, compatible, script, replay
	BaseURL string `json:"base_url,omitempty"`
	// Ref is the recording's file for a replay and the script's name for a script.
	Ref string `json:"ref,omitempty"`
	// Name is what it is called in the record, "" for its kind: with another of its kind in the chain it needs one.
	Name string `json:"name,omitempty"`
	// Model is what a fallback is asked for; the first provider's is the contract's.
	Model string `json:"model,omitempty"`
}

// Stall says when a run that changes nothing is told so, and when it is ended.
type Stall struct {
	Window     int `json:"window"` // steps without a change; 0 never stalls
	MaxReplans int `json:"max_replans"`
}

// The defaults of a contract. Steps are generous because a person watches; output and window are what current models
// take without asking for more.
const (
	DefaultMaxSteps      = 40
	DefaultMaxRetries    = 2
	DefaultMaxOutput     = 8192
	DefaultContextTokens = 100_000
)

// ContractError says what is wrong with a contract, where, and what to do.
type ContractError struct {
	Field string
	Msg   string
}

func (e *ContractError) Error() string { return e.Field + ": " + e.Msg }

// complete fills defaults and checks everything that can be wrong before a run exists.
func (c *Contract) complete() error {
	if strings.TrimSpace(c.Goal) == "" {
		return &ContractError{"goal", "is empty; say what to do"}
	}
	info, err := os.Stat(c.Workspace)
	switch {
	case c.Workspace == "":
		return &ContractError{"workspace", "is empty; name a folder"}
	case errors.Is(err, os.ErrNotExist):
		return &ContractError{"workspace", fmt.Sprintf("%q does not exist; create it or name another", c.Workspace)}
	case err != nil:
		return &ContractError{"workspace", err.Error()}
	case !info.IsDir():
		return &ContractError{"workspace", fmt.Sprintf("%q is no folder", c.Workspace)}
	}
	if c.Workspace, err = filepath.EvalSymlinks(c.Workspace); err == nil {
		c.Workspace, err = filepath.Abs(c.Workspace)
	}
	if err != nil {
		return &ContractError{"workspace", err.Error()}
	}
	if c.Model == "" {
		return &ContractError{"model", "is not set; name one with --model, in the configuration, or in the provider's *_MODEL variable"}
	}
	if err := c.checkFallback(); err != nil {
		return err
	}
	if c.VerifyWhen == "" {
		c.VerifyWhen = "done"
	}
	if c.VerifyWhen != "done" && c.VerifyWhen != "changed" {
		return &ContractError{"verify-when", fmt.Sprintf("%q is neither done nor changed", c.VerifyWhen)}
	}
	for _, n := range []struct {
		field string
		value int64
	}{
		{"max-steps", int64(c.MaxSteps)},
		{"time", int64(c.Time)},
		{"tokens", c.Tokens},
		{"money", c.Money},
		{"max-output", int64(c.MaxOutput)},
		{"context", int64(c.ContextTokens)},
		{"stall window", int64(c.Stall.Window)},
	} {
		if n.value < 0 {
			return &ContractError{n.field, "is negative"}
		}
	}
	for i, g := range c.Gates {
		if err := g.Check(c.Workspace); err != nil {
			return &ContractError{g.Phase(i + 1), err.Error()}
		}
	}
	return nil
}

// Defaults is a contract with every default set; the caller adds goal, workspace, model and source.
func Defaults() Contract {
	return Contract{
		VerifyWhen: "done", MaxSteps: DefaultMaxSteps, MaxRetries: DefaultMaxRetries,
		Retry: retry.Policy{Base: retry.DefaultBase, Max: retry.DefaultMax}, Stall: Stall{Window: 3, MaxReplans: 1},
		ContextTokens: DefaultContextTokens, MaxOutput: DefaultMaxOutput,
	}
}

func (c Contract) encode() (body, digest string, err error) {
	b, err := json.Marshal(c)
	if err != nil {
		return "", "", err
	}
	// The seed is drawn anew at every start and is no part of what was asked.
	c.RetrySeed = 0
	same, err := json.Marshal(c)
	sum := sha256.Sum256(same)
	return string(b), hex.EncodeToString(sum[:]), err
}
