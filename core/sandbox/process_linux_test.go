package sandbox

import (
	"os"
	"testing"
	"unicode"
)

func TestParseStat(t *testing.T) {
	const rest = " 12 34 56 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 2000"
	for _, tc := range []struct {
		stat string
		want process
		ok   bool
	}{
		{"7 (sleep) S" + rest, process{identity: identity{7, 987654}, parent: 12, group: 34, session: 56, name: "sleep"}, true},
		{"7 (a) Z 1 (b) Z" + rest, process{identity: identity{7, 987654}, parent: 12, group: 34, session: 56, name: "a) Z 1 (b", dead: true}, true},
		{"7 (\x1b[2J\xff) R" + rest, process{identity: identity{7, 987654}, parent: 12, group: 34, session: 56, name: "?[2J?"}, true},
		{"7 (sleep) S 1 2", process{}, false},
		{"x (sleep) S" + rest, process{}, false},
		{"7 sleep S" + rest, process{}, false},
		{"", process{}, false},
	} {
		if got, err := parseStat(tc.stat); got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%q: %+v, %v", tc.stat, got, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (sleep) S 12 34 56 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 2000")
	f.Add("7 ()) S")
	f.Fuzz(func(t *testing.T, stat string) {
		p, err := parseStat(stat)
		if err != nil && p != (process{}) {
			t.Fatalf("%q: %+v with an error", stat, p)
		}
		for _, r := range p.name {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q: name %q", stat, p.name)
			}
		}
	})
}

func TestInspect(t *testing.T) {
	p, ok := inspect(os.Getpid())
	if !ok || p.PID != os.Getpid() || p.parent != os.Getppid() || p.Start == 0 || p.dead {
		t.Errorf("%+v, %v", p, ok)
	}
	if p, ok := inspect(1 << 30); ok {
		t.Errorf("%+v", p)
	}
	if bootID() == "" {
		t.Error("no boot id")
	}
}
