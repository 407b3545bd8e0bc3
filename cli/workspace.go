package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"tillerman/cli/config"
	"tillerman/core"
	"tillerman/core/policy"
)

// workspaceFile is a workspace's own settings. Whoever wrote the workspace wrote them, so they may only narrow.
const workspaceFile = ".tillerman.toml"

// settingsLimit bounds a workspace's settings.
const settingsLimit = 1 << 20

// readRegular reads a file without waiting for whoever may be on the other end of a pipe put in its place.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, settingsLimit))
}

// narrow applies the workspace's own settings: more deny and ask rules, lower limits.
func (a *app) narrow(c *core.Contract, p *policy.Policy) (*policy.Policy, error) {
	path := filepath.Join(c.Workspace, workspaceFile)
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, &usageError{fmt.Sprintf("%s is no regular file; remove it", path)}
	}
	var body []byte
	if err == nil {
		body, err = readRegular(path)
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
	if m, err := ws.Limits.MoneyMicros(); err != nil {
		return nil, &usageError{fmt.Sprintf("%s: %v", path, err)}
	} else if m > 0 && (c.Money == 0 || m < c.Money) {
		c.Money = m
	}
	if d, err := ws.Limits.Duration(); err != nil {
		return nil, &usageError{fmt.Sprintf("%s: %v", path, err)}
	} else if d > 0 && (c.Time == 0 || d < c.Time) {
		c.Time = d
	}
	return policy.Narrow(p, ws.Policy), nil
}
