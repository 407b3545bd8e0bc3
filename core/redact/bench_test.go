package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"tillerman/core/redact"
)

// BenchmarkMiB is the time for 1 MiB with 20 secrets: source code, JSON full of escapes, a wrapped base64 file.
func BenchmarkMiB(b *testing.B) {
	var secrets []redact.Secret
	for i := range 20 {
		secrets = append(secrets, redact.Secret{Name: fmt.Sprintf("KEY_%d", i), Value: fmt.Sprintf("sk-live-%d-%x-abcdefghijklmnop", i, i*7919)})
	}
	r := redact.New(secrets)
	for name, part := range map[string]string{
		"source": "\tif err := run(ctx, \"%s\\n\", path); err != nil {\n\t\treturn fmt.Errorf(\"run %q: %w\", path, err) // https://go.dev\n\t}\n",
		"json":   `{"content":"line one\nline \"two\"\n\tlib/npm_modules/gh\/x","id":12345,"url":"https://example.com/a%20b"},`,
		"base64": strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODk", 2)[:76] + "\n",
	} {
		text := strings.Repeat(part, 1<<20/len(part))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.String(text)
			}
		})
	}
}
