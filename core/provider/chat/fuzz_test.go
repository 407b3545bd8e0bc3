package chat_test

import (
	"testing"

	"tillerman/core/provider/internal/wiretest"
)

func FuzzDecoder(f *testing.F) {
	f.Add([]byte(events(hi, ended("stop"), spent, done)))
	f.Add([]byte(events(piece("0", "A", "f", `{"a"`), piece("0", "-", "-", `:1}`), piece("-", "", "g", `{}`), ended("tool_calls"))))
	f.Add([]byte(events(said(`{"reasoning":"hm","refusal":"no"}`), ended("content_filter"), done)))
	f.Add([]byte(events(`{"error":{"code":502,"message":"m"}}`)))
	f.Fuzz(func(t *testing.T, response []byte) { wiretest.CheckStream(t, dialect(""), response) })
}
