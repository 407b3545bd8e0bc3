// Package config reads the settings files: the user's own, which may set everything, and a workspace's, which may only
// narrow. Both are strict: what is not understood is an error that names file, line and column.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Config is the user's settings. Empty fields are not set.
type Config struct {
	Provider string           `toml:"provider"`
	Model    string           `toml:"model"`
	BaseURL  string           `toml:"base_url"`
	Fallback []string         `toml:"fallback"` // PROVIDER[:MODEL][@BASEURL], asked in order
	Policy   string           `toml:"policy"`   // a starter policy's name or a file
	Approve  string           `toml:"approve"`  // ask, all, none, defer
	Limits   Limits           `toml:"limits"`
	Prices   map[string]Price `toml:"prices"`
	Audit    Audit            `toml:"audit"`
	Theme    string           `toml:"theme"`
	// Sandbox is auto, which is also the default, or floor: commands are not confined beyond what ends their processes.
	Sandbox string `toml:"sandbox"`
	// Keys binds actions to other keys.
	Keys map[string][]string `toml:"keys"`
}

// Limits are ceilings for every run.
type Limits struct {
	Steps  int    `toml:"steps"`
	Time   string `toml:"time"` // as in 90m
	Tokens int64  `toml:"tokens"`
	// Money is in the currency's unit, as in 1.50, estimated.
	Money float64 `toml:"money"`
}

// MoneyMicros is Limits.Money in micro-units, 0 when not set.
func (l Limits) MoneyMicros() (int64, error) {
	micros := math.Round(l.Money * 1e6)
	if !(micros >= 0 && micros <= math.MaxInt64/2) {
		return 0, fmt.Errorf("limits.money: %v is no amount; write it like 1.50", l.Money)
	}
	return int64(micros), nil
}

// Price is what a model costs, in millionths of the currency's unit per token.
type Price struct {
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
}

// Audit sets up the audit trail. Paths are absolute: which key and which anchors must not depend on where the program is
// started.
type Audit struct {
	KeyFile       string   `toml:"key_file"`       // its content keys the chain
	Anchor        string   `toml:"anchor"`         // a file that gets each anchor as a line
	AnchorCommand []string `toml:"anchor_command"` // program and arguments; it gets each anchor on its standard input
}

func (a Audit) check() error {
	for name, path := range map[string]string{"key_file": a.KeyFile, "anchor": a.Anchor} {
		if path != "" && !filepath.IsAbs(path) {
			return fmt.Errorf("audit.%s: %q is not absolute; write the whole path", name, path)
		}
	}
	if len(a.AnchorCommand) > 0 && strings.TrimSpace(a.AnchorCommand[0]) == "" {
		return errors.New("audit.anchor_command: its first word names no program")
	}
	return nil
}

// Duration is Limits.Time, 0 when not set.
func (l Limits) Duration() (time.Duration, error) {
	if l.Time == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(l.Time)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("limits.time: %q is no duration; write it like 90m or 2h", l.Time)
	}
	return d, nil
}

// Load reads the user's settings. A file that does not exist is an empty one, unless must is set.
func Load(path string, must bool) (Config, error) {
	var c Config
	body, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && !must {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("configuration %s: %w", path, plainError(err))
	}
	if err := decode(path, body, &c); err != nil {
		return c, err
	}
	if _, err := c.Limits.Duration(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := c.Limits.MoneyMicros(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.Audit.check(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if c.Sandbox != "" && c.Sandbox != "auto" && c.Sandbox != "floor" {
		return c, fmt.Errorf("%s: sandbox: %q is neither auto nor floor", path, c.Sandbox)
	}
	if c.Limits.Steps < 0 || c.Limits.Tokens < 0 {
		return c, fmt.Errorf("%s: limits: a limit is negative; leave it out or raise it", path)
	}
	return c, nil
}

// decode reads TOML strictly.
func decode(path string, body []byte, into any) error {
	dec := toml.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		first := strict.Errors[0]
		row, col := first.Position()
		return fmt.Errorf("%s:%d:%d: unknown setting %q; remove it or correct its name", path, row, col, strings.Join(first.Key(), "."))
	case errors.As(err, &bad):
		row, col := bad.Position()
		return fmt.Errorf("%s:%d:%d: %s", path, row, col, strings.TrimPrefix(bad.Error(), "toml: "))
	}
	return fmt.Errorf("%s: %w", path, err)
}

// plainError drops the path that os errors repeat.
func plainError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// UserFile is where the user's settings are: $XDG_CONFIG_HOME/tillerman/config.toml, or below $HOME/.config.
func UserFile(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification: a relative path is ignored
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "tillerman", "config.toml")
}

// StateDir is where tillerman keeps what it remembers: $XDG_STATE_HOME/tillerman, or below $HOME/.local/state.
func StateDir(getenv func(string) string) (string, error) {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New("neither XDG_STATE_HOME nor HOME is set; name a store with --db FILE")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "tillerman"), nil
}
