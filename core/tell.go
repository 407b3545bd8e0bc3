package core

import (
	"context"
	"fmt"
	"strings"

	"tillerman/core/provider"
	"tillerman/core/wording"
	"tillerman/db"
	"tillerman/observer"
)

// hear adds what operators said since to the next request. A step whose request is stored already asks that one again;
// what was said later waits for the step after it.
func (d *driver) hear(step int) error {
	if step == d.partial {
		return nil
	}
	waiting, err := d.tellsWaiting()
	if err != nil {
		return err
	}
	for _, c := range waiting {
		d.hist.Add(d.said(c))
	}
	d.heard = waiting
	return nil
}

// tellsWaiting are the operators' words that no request has held yet, in the order they were said.
func (d *driver) tellsWaiting() ([]db.Control, error) {
	controls, err := d.e.store.PendingControls(context.Background(), d.lease.RunID)
	if err != nil {
		return nil, err
	}
	var tells []db.Control
	for _, c := range controls {
		if c.Kind == "tell" {
			tells = append(tells, c)
		}
	}
	return tells, nil
}

// said is an operator's words as the model reads them.
func (d *driver) said(c db.Control) provider.Message {
	text, _ := d.e.redactor.String(strings.ToValidUTF8(c.Body, "\ufffd"))
	return provider.Say(provider.RoleUser, wording.Tag(wording.Operator, text))
}

// storeHeard marks the words that the request of this commit holds as read.
func (d *driver) storeHeard(tx *db.Tx, step int) error {
	for _, c := range d.heard {
		if err := tx.ObserveControl(c.ID, fmt.Sprintf("request of step %d", step)); err != nil {
			return err
		}
		text, _ := d.e.redactor.String(c.Body)
		if err := tx.AddContextFact(step, "told", text); err != nil {
			return err
		}
		if err := tx.Event(step, 0, observer.Told{By: c.By.User, Text: text}); err != nil {
			return err
		}
	}
	return nil
}
