package config

import (
	"fmt"

	"tillerman/core/policy"
)

// Workspace is a workspace's own settings.
type Workspace struct {
	Limits Limits
	Policy *policy.Policy
}

// ParseWorkspace reads a workspace's settings. They are a policy file with a table limits; an allow rule, a looser
// default or any other setting is an error that names it.
func ParseWorkspace(name string, body []byte) (Workspace, error) {
	var ws Workspace
	var top struct {
		Limits   Limits         `toml:"limits"`
		Defaults map[string]any `toml:"defaults"`
		Layer    []any          `toml:"layer"`
	}
	if err := decode(name, body, &top); err != nil {
		return ws, fmt.Errorf("%w (a workspace may set limits, defaults and layers with deny and ask rules)", err)
	}
	ws.Limits = top.Limits
	if ws.Limits.Steps < 0 || ws.Limits.Tokens < 0 {
		return ws, fmt.Errorf("%s: limits: a limit is negative; leave it out or raise it", name)
	}
	p, err := policy.Parse(body, name, "limits")
	if err != nil {
		return ws, err
	}
	if err := policy.NonNarrowing(p); err != nil {
		return ws, fmt.Errorf("%s: %w; a workspace may only narrow", name, err)
	}
	ws.Policy = p
	return ws, nil
}
