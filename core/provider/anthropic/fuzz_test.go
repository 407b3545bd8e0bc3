package anthropic_test

import (
	"strings"
	"testing"

	"tillerman/core/provider/internal/wiretest"
)

func FuzzDecoder(f *testing.F) {
	f.Add([]byte(events(begin, text(0, "hi"), endTurn, over)))
	f.Add([]byte(events(begin, call(0, "t1", "f", `{"a":1}`), call(1, "", "g", ""), toolUse, over)))
	f.Add([]byte(events(begin, block(0, `{"type":"thinking"}`), delta(0, `{"type":"signature_delta","signature":"c2ln"}`), strings.ReplaceAll(endTurn, "end_turn", "refusal"), over)))
	f.Add([]byte(events(`@error {"error":{"type":"overloaded_error"}}`)))
	f.Fuzz(func(t *testing.T, response []byte) { wiretest.CheckStream(t, dialect, response) })
}
