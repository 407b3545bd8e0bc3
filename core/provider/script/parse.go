package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// The document as TOML has it.
type (
	document struct {
		Name        string    `toml:"name"`
		Model       string    `toml:"model"`
		Pace        string    `toml:"pace"`
		Acknowledge string    `toml:"acknowledge"`
		Turn        []docTurn `toml:"turn"`
	}
	docTurn struct {
		Name  string    `toml:"name"`
		When  docWhen   `toml:"when"`
		Say   string    `toml:"say"`
		Calls []docCall `toml:"calls"`
		Pace  *string   `toml:"pace"`
	}
	docCall struct {
		Tool string         `toml:"tool"`
		Args map[string]any `toml:"args"`
	}
	docSpan struct {
		Min *int `toml:"min"`
		Max *int `toml:"max"`
	}
	docCount struct {
		Of  string `toml:"of"`
		Min *int   `toml:"min"`
		Max *int   `toml:"max"`
	}
	docWhen struct {
		Last        []string   `toml:"last"`
		Seen        []string   `toml:"seen"`
		Unseen      []string   `toml:"unseen"`
		Count       []docCount `toml:"count"`
		Turns       docSpan    `toml:"turns"`
		Checks      docSpan    `toml:"checks"`
		Gate        *string    `toml:"gate"`
		Stuck       *bool      `toml:"stuck"`
		Told        []string   `toml:"told"`
		Heard       []string   `toml:"heard"`
		UnlessLater []string   `toml:"unless_later"`
		Unheard     []string   `toml:"unheard"`
		Declined    []string   `toml:"declined"`
		Undeclined  []string   `toml:"undeclined"`
		Result      []string   `toml:"result"`
		Said        []string   `toml:"said"`
		Unsaid      []string   `toml:"unsaid"`
	}
)

// Parse reads a script. It is strict: an unknown key, a turn that says and does nothing, a condition that cannot be read
// are errors that name the line or the turn.
func Parse(data []byte) (*Script, error) {
	var doc document
	dec := toml.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("script: %w", located(err))
	}
	s, err := doc.compile()
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return s, nil
}

// located puts line and column before a TOML error.
func located(err error) error {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(missing.Errors) > 0 {
		first := &missing.Errors[0]
		line, column := first.Position()
		return fmt.Errorf("line %d, column %d: unknown key %q", line, column, strings.Join(first.Key(), "."))
	}
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := decode.Position()
		return fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return err
}

func (doc *document) compile() (*Script, error) {
	s := &Script{name: doc.Name, model: doc.Model, acknowledge: doc.Acknowledge}
	if s.name == "" {
		s.name = "script"
	}
	pace, err := duration(doc.Pace)
	if err != nil {
		return nil, err
	}
	if len(doc.Turn) == 0 {
		return nil, errors.New("no turn")
	}
	named := map[string][]made{}
	for i := range doc.Turn {
		t, err := doc.Turn[i].compile(pace)
		if err != nil {
			return nil, place(i, doc.Turn[i].Name, err)
		}
		t.place = i + 1
		s.turns = append(s.turns, t)
		if t.name != "" {
			named[t.name] = append(named[t.name], t.calls...)
		}
	}
	for i := range doc.Turn {
		if s.turns[i].when, err = doc.Turn[i].When.compile(named); err != nil {
			return nil, place(i, doc.Turn[i].Name, err)
		}
	}
	return s, nil
}

func place(i int, name string, err error) error {
	if name == "" {
		return fmt.Errorf("turn %d: %w", i+1, err)
	}
	return fmt.Errorf("turn %d, %q: %w", i+1, name, err)
}

func (d *docTurn) compile(pace time.Duration) (turn, error) {
	t := turn{name: d.Name, say: d.Say, pace: pace}
	if strings.TrimSpace(d.Say) == "" && len(d.Calls) == 0 {
		return t, errors.New("it neither says nor calls anything")
	}
	if d.Pace != nil {
		var err error
		if t.pace, err = duration(*d.Pace); err != nil {
			return t, err
		}
	}
	for _, c := range d.Calls {
		if c.Tool == "" {
			return t, errors.New("a call names no tool")
		}
		args, err := arguments(c.Args)
		if err != nil {
			return t, fmt.Errorf("arguments of %s: %w", c.Tool, err)
		}
		t.calls = append(t.calls, made{tool: c.Tool, arguments: args})
	}
	return t, nil
}

// arguments is a table as JSON, keys sorted.
func arguments(args map[string]any) (string, error) {
	if args == nil {
		return "{}", nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(args); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("pace: %w", err)
	case d < 0:
		return 0, fmt.Errorf("pace %s is negative", d)
	}
	return d, nil
}
