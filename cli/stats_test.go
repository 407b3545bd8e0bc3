package cli

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSpread(t *testing.T) {
	if s := spreadOf(nil); s.Count != 0 || s.P50 != nil || s.P95 != nil || s.Max != nil {
		t.Errorf("of nothing: %+v", s)
	}
	for _, c := range []struct {
		ms            []int64
		p50, p95, max int64
	}{
		{[]int64{7}, 7, 7, 7},
		{[]int64{2, 1}, 1, 2, 2},
		{[]int64{3, 1, 2}, 2, 3, 3},
		{[]int64{0, 0, 0, 9}, 0, 9, 9},
	} {
		s := spreadOf(c.ms)
		if *s.P50 != c.p50 || *s.P95 != c.p95 || *s.Max != c.max || s.Count != len(c.ms) {
			t.Errorf("%v: %d, %d, %d", c.ms, *s.P50, *s.P95, *s.Max)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 300).Draw(t, "ms")
		before := slices.Clone(ms)
		s := spreadOf(ms)
		if !slices.Equal(ms, before) {
			t.Fatal("the durations were put in order")
		}
		for percent, p := range map[int]int64{50: *s.P50, 95: *s.P95, 100: *s.Max} {
			upTo := 0
			for _, v := range ms {
				if v <= p {
					upTo++
				}
			}
			if !slices.Contains(ms, p) || upTo*100 < percent*len(ms) {
				t.Fatalf("p%d of %v is %d", percent, ms, p)
			}
		}
	})
}
