// Package audit is the form of the audit trail: an entry's canonical bytes and the hash that chains it to the one
// before. A change to either breaks every log that exists, so golden vectors pin them.
package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// Entry is one row: when, who, through what, which run, what, under which rule, what was decided.
type Entry struct {
	Seq          int64  `json:"seq"`
	At           int64  `json:"at"` // ms since the epoch
	Action       string `json:"action"`
	User         string `json:"user"`
	Surface      string `json:"surface"`
	Terminal     string `json:"terminal"`
	Host         string `json:"host"`
	PID          int64  `json:"pid"`
	RunID        int64  `json:"run_id"`
	Agent        string `json:"agent"`
	Step         int64  `json:"step"`
	Position     int64  `json:"position"` // of the call in its step, from 1; 0 for none
	Act          string `json:"act"`
	Target       string `json:"target"`
	Rule         string `json:"rule"`
	Layer        string `json:"layer"`
	PolicyDigest string `json:"policy_digest"`
	Model        string `json:"model"`
	Digest       string `json:"digest"`
	Decision     string `json:"decision"`
	Reason       string `json:"reason"`
	RequestID    int64  `json:"request_id"`
	Note         string `json:"note"`
	Version      string `json:"version"`
}

// Link is an entry as it stands in the chain.
type Link struct {
	Seq  int64
	Body []byte // Canonical
	Prev string // hash of the entry before, "" for the first
	Hash string // see Seal
	// Copy is what else the store's table holds of the entry, nil where the link does not come from there.
	Copy *Copy
}

// Copy is the columns that rows are found by. They are no part of what is chained.
type Copy struct {
	RunID, Step, At int64
	Action          string
}

// of says whether the columns say what the entry does.
func (c Copy) of(e Entry) bool {
	return c == Copy{RunID: e.RunID, Step: e.Step, At: e.At, Action: e.Action}
}

// format leads every canonical body, so that a later form cannot be taken for this one.
const format = "tillerman audit 1"

// fields lists what is chained, in order. New fields come last, under a new format.
func (e *Entry) fields() []any {
	return []any{
		&e.Seq, &e.At, &e.Action, &e.User, &e.Surface, &e.Terminal, &e.Host, &e.PID, &e.RunID, &e.Agent, &e.Step, &e.Position,
		&e.Act, &e.Target, &e.Rule, &e.Layer, &e.PolicyDigest, &e.Model, &e.Digest, &e.Decision, &e.Reason, &e.RequestID, &e.Note, &e.Version,
	}
}

// Canonical is the entry as bytes: the format word and every field in order, each after its length in eight big-endian
// bytes; numbers as eight big-endian bytes. No two entries share it.
func (e Entry) Canonical() []byte {
	b := appendField(nil, []byte(format))
	for _, f := range e.fields() {
		switch v := f.(type) {
		case *string:
			b = appendField(b, []byte(*v))
		case *int64:
			b = appendField(b, binary.BigEndian.AppendUint64(nil, uint64(*v)))
		}
	}
	return b
}

func appendField(b, field []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(field)))
	return append(b, field...)
}

// ErrBody says that bytes are no canonical body.
var ErrBody = errors.New("not an audit entry")

// Parse reads a canonical body back.
func Parse(body []byte) (Entry, error) {
	var e Entry
	word, rest, err := cutField(body)
	if err != nil || string(word) != format {
		return e, fmt.Errorf("%w: unknown format", ErrBody)
	}
	for i, f := range e.fields() {
		if word, rest, err = cutField(rest); err != nil {
			return e, fmt.Errorf("%w: field %d: %w", ErrBody, i+1, err)
		}
		switch v := f.(type) {
		case *string:
			*v = string(word)
		case *int64:
			if len(word) != 8 {
				return e, fmt.Errorf("%w: field %d is no number", ErrBody, i+1)
			}
			*v = int64(binary.BigEndian.Uint64(word))
		}
	}
	if len(rest) != 0 {
		return e, fmt.Errorf("%w: %d bytes too many", ErrBody, len(rest))
	}
	return e, nil
}

func cutField(b []byte) (field, rest []byte, err error) {
	if len(b) < 8 {
		return nil, nil, errors.New("cut short")
	}
	n := binary.BigEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		return nil, nil, errors.New("cut short")
	}
	return b[8 : 8+n], b[8+n:], nil
}

// Hash is over the hash before it and its own body, both length-prefixed. With a key it is
// HMAC-SHA-256 (RFC 2104), without one SHA-256.
func Hash(key []byte, prev string, body []byte) string {
	text := appendField(appendField(nil, []byte(prev)), body)
	if len(key) == 0 {
		sum := sha256.Sum256(text)
		return hex.EncodeToString(sum[:])
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil))
}
