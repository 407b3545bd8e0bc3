package core

import (
	"encoding/json"
	"strings"

	"tillerman/core/provider"
)

// hideSecrets takes known secrets out of what a contract tells the model, and refuses a contract that holds one anywhere
// else: the store would keep it, and without it the contract would mean something else.
func (e *Engine) hideSecrets(c *Contract) error {
	c.Goal, _ = e.redactor.String(c.Goal)
	c.Constraints = append([]string(nil), c.Constraints...)
	for i, text := range c.Constraints {
		c.Constraints[i], _ = e.redactor.String(text)
	}
	rest := *c
	rest.Workspace = ""
	body, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if !e.redactor.Holds(string(body)) {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for name, field := range fields {
		if e.redactor.Holds(string(field)) {
			return &ContractError{strings.ReplaceAll(name, "_", " "), "holds the value of a known secret, which would be stored; leave it out"}
		}
	}
	return &ContractError{"contract", "holds the value of a known secret, which would be stored; leave it out"}
}

// clean takes secrets out of an answer before anything sees it. Signed thinking that changes loses its signature, which
// would no longer fit, and sealed thinking that holds one is left out.
func (d *driver) clean(a provider.Answer) provider.Answer {
	parts := make([]provider.Part, 0, len(a.Parts))
	for _, p := range a.Parts {
		text, n := d.e.redactor.String(p.Text)
		if n > 0 {
			p.Text, p.Signature = text, ""
		}
		p.Text = strings.ToValidUTF8(p.Text, "\ufffd")
		p.Arguments, p.Name = d.redacted(p.Arguments), d.redacted(p.Name)
		switch {
		case d.e.redactor.Holds(p.Data):
			continue
		case d.e.redactor.Holds(p.Signature):
			p.Signature = ""
		case d.e.redactor.Holds(p.ID):
			p.ID = d.redacted(p.ID)
		}
		parts = append(parts, p)
	}
	a.Parts = parts
	a.Finish, a.Model, a.Served = d.redacted(a.Finish), d.redacted(a.Model), d.redacted(a.Served)
	return a
}

// redacted is a text without secrets.
func (d *driver) redacted(text string) string {
	clean, _ := d.e.redactor.String(text)
	return clean
}
