package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// stored is the form in which a policy lies beside its run.
type stored struct {
	Defaults Defaults `json:"defaults"`
	Layers   []Layer  `json:"layers"`
	Bare     bool     `json:"bare,omitempty"`
}

// MarshalJSON writes the canonical form: the same policy always gives the same bytes. A policy that is not valid is an
// error, so nothing is stored that could not be enforced after reading it back.
func (p Policy) MarshalJSON() ([]byte, error) {
	n := p.normal()
	if err := n.check(); err != nil {
		return nil, err
	}
	return json.Marshal(stored{Defaults: n.Defaults, Layers: n.Layers, Bare: n.Bare})
}

// UnmarshalJSON reads what MarshalJSON wrote, strictly: an unknown field or a rule that is not valid is an error. An
// absent default is the usual one, so a document that knows nothing of an act does not open it.
func (p *Policy) UnmarshalJSON(data []byte) error {
	var s stored
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("policy: something follows the policy")
	}
	n := (&Policy{Defaults: s.Defaults, Layers: s.Layers, Bare: s.Bare}).normal()
	if err := n.check(); err != nil {
		return err
	}
	*p = *n
	return nil
}

// Digest is the SHA-256 of the canonical form, in hexadecimal: two policies with the same digest decide the same. It is
// "" for a policy that is not valid.
func (p *Policy) Digest() string {
	data, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
