package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tillerman/cli/config"
	"tillerman/core"
	"tillerman/core/policy"
)

// workspaceFile is a workspace's own settings. Whoever wrote the workspace wrote them, so they may only narrow.
const workspaceFile = ".tillerman.toml"

// narrow applies the workspace's own settings: more deny and ask rules, lower limits.
func (a *app) narrow(c *core.Contract, p *policy.Policy) (*policy.Policy, error) {
	path := filepath.Join(c.Workspace, workspaceFile)
	body, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, &usageError{fmt.Sprintf("%s cannot be read; make it readable or remove it", path)}
	}
	ws, err := config.ParseWorkspace(path, body)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	if n := ws.Limits.Steps; n > 0 && (c.MaxSteps == 0 || n < c.MaxSteps) {
		c.MaxSteps = n
	}
	if n := ws.Limits.Tokens; n > 0 && (c.Tokens == 0 || n < c.Tokens) {
		c.Tokens = n
	}
	if d, err := ws.Limits.Duration(); err != nil {
		return nil, &usageError{fmt.Sprintf("%s: %v", path, err)}
	} else if d > 0 && (c.Time == 0 || d < c.Time) {
		c.Time = d
	}
	return policy.Narrow(p, ws.Policy), nil
}
