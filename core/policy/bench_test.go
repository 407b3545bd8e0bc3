package policy

import "testing"

// BenchmarkExplain is what a search pays for every file it meets, and a step for its command.
func BenchmarkExplain(b *testing.B) {
	bound := boundary(b, workspace(b), "allow write src/**\ndeny read secret/**\nallow exec go test *\ndeny exec rm -rf *")
	for _, line := range []string{"read src/deep/b.go", "exec go test ./...", "sh cd src && go test ./... | tee out"} {
		a := action(b, line)
		b.Run(line, func(b *testing.B) {
			for b.Loop() {
				bound.Explain(a)
			}
		})
	}
}
