package record

import (
	"encoding/json"
	"strings"
)

// repeatedKey finds a key that stands twice in one object anywhere in raw, which must be valid JSON, and where the second
// stands. With fold, keys that differ only in case count as one: the decoder takes either for the same field.
func repeatedKey(raw []byte, fold bool) (key string, offset int, found bool) {
	var open []map[string]bool // what is open: an object's keys so far, nil for a list
	wantKey := false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			open, wantKey = append(open, map[string]bool{}), true
		case '[':
			open, wantKey = append(open, nil), false
		case '}', ']':
			open, wantKey = open[:len(open)-1], false
		case ',':
			wantKey = open[len(open)-1] != nil
		case '"':
			start := i
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if !wantKey {
				continue
			}
			wantKey = false
			key := unquote(raw[start:i+1], fold)
			keys := open[len(open)-1]
			if keys[key] {
				return key, start, true
			}
			keys[key] = true
		}
	}
	return "", 0, false
}

func unquote(quoted []byte, fold bool) string {
	key := string(quoted[1 : len(quoted)-1])
	if strings.Contains(key, `\`) {
		var unescaped string
		if json.Unmarshal(quoted, &unescaped) == nil {
			key = unescaped
		}
	}
	if fold {
		// Through the upper case and back, so that letters with two lower forms are one.
		key = strings.ToLower(strings.ToUpper(key))
	}
	return key
}
