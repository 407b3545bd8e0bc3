package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tillerman/cli/config"
	"tillerman/core/provider/endpoint"
	"tillerman/themes"
	"tillerman/tui/keys"
)

// loadConfig reads the user's settings and says from where. No file is no failure, unless one was named. A value that could
// not be used is an error for every command, as a name that does not exist is: who only looks today runs an agent tomorrow.
func (a *app) loadConfig() (path string, err error) {
	path, must := a.configPath, true
	if path == "" {
		path, must = config.UserFile(a.Getenv), false
	}
	if path == "" {
		return "", nil
	}
	if a.conf, err = config.Load(path, must); err != nil {
		return path, &usageError{err.Error()}
	}
	if err := errors.Join(a.checkSettings(), a.checkAnchor(path)); err != nil {
		return path, &usageError{path + ": " + err.Error()}
	}
	return path, nil
}

// checkAnchor refuses a file of anchors that is something else already: each anchor is added to it, which would spoil a
// key, and the store is for SQLite alone.
func (a *app) checkAnchor(settings string) error {
	if a.conf.Audit.Anchor == "" {
		return nil
	}
	taken := map[string]string{settings: "the settings", a.conf.Audit.KeyFile: "the key"}
	if store, err := a.storePath(); err == nil {
		for _, end := range []string{"", "-wal", "-shm", "-journal"} {
			taken[store+end] = "the store"
		}
	}
	for path, what := range taken {
		if path != "" && sameFile(path, a.conf.Audit.Anchor) {
			return fmt.Errorf("audit.anchor: %s is %s; name a file that holds nothing but anchors", a.conf.Audit.Anchor, what)
		}
	}
	return nil
}

// sameFile says whether two paths lead to one file, also when it is not there yet.
func sameFile(one, other string) bool {
	a, errA := os.Stat(one)
	b, errB := os.Stat(other)
	if errA == nil && errB == nil {
		return os.SameFile(a, b)
	}
	one, errA = filepath.Abs(one)
	other, errB = filepath.Abs(other)
	return errA == nil && errB == nil && one == other
}

// checkSettings tries what the settings say, except for the policy: its file may come and go, and only runs need it.
func (a *app) checkSettings() error {
	c := a.conf
	if _, err := keys.Default().Rebind(c.Keys); err != nil {
		return err
	}
	if c.Theme != "" {
		if _, err := themes.Load(c.Theme); err != nil {
			return err
		}
	}
	if c.Approve != "" && !slices.Contains(approveWords, c.Approve) {
		return fmt.Errorf("approve: %q is none of %s", c.Approve, strings.Join(approveWords, ", "))
	}
	if _, ok := vendors[c.Provider]; !ok && c.Provider != "" {
		return fmt.Errorf("provider: there is no %q; use one of %s", c.Provider, providerNames)
	}
	if c.BaseURL != "" {
		if err := endpoint.CheckBase("compatible", c.BaseURL); err != nil {
			return fmt.Errorf("base_url: %w", err)
		}
	}
	if !slices.Equal(c.Fallback, []string{noFallback}) {
		for _, text := range c.Fallback {
			if _, err := parseFallback("fallback", text); err != nil {
				return err
			}
		}
	}
	if len(c.Prices) > 0 {
		if _, err := a.prices(); err != nil {
			return err
		}
	}
	return nil
}
