package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MinKey is the fewest bytes a key may have: half of what is recommended, so that no empty or guessed file keys a chain.
const MinKey = 16

// KeyID names a key without telling anything of it: the first eight bytes of a SHA-256 over the key and a word of ours.
// It is "" for no key.
func KeyID(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	sum := sha256.Sum256(appendField(appendField(nil, []byte("tillerman audit key")), key))
	return hex.EncodeToString(sum[:8])
}

// keySeparator stands between a key's name and the hash made with it.
const keySeparator = ":"

// Seal is what a row carries as its hash: Hash, and before it the name of the key it was made with, so that every row
// says itself whether it is keyed, and by what.
func Seal(key []byte, prev string, body []byte) string {
	h := Hash(key, prev, body)
	if id := KeyID(key); id != "" {
		return id + keySeparator + h
	}
	return h
}

// SealedBy is the name of the key that a row's hash was made with, "" for none.
func SealedBy(hash string) string {
	id, _, keyed := strings.Cut(hash, keySeparator)
	if !keyed {
		return ""
	}
	return id
}

// Keys are the keys a log may have been written with, by their names. The newest stands in the settings; earlier ones
// are kept to verify what was written with them.
type Keys map[string][]byte

// KeysOf makes a set of keys. Empty ones are left out.
func KeysOf(keys ...[]byte) Keys {
	set := Keys{}
	for _, k := range keys {
		if len(k) > 0 {
			set[KeyID(k)] = k
		}
	}
	return set
}
