package endpoint

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Index is a whole number that some servers write as text. Null and absence leave it unset; anything else that is not
// a whole number from 0 on is an error.
type Index struct {
	N   int
	Set bool
}

// UnmarshalJSON accepts 3, "3" and null.
func (i *Index) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	if s == "null" {
		*i = Index{}
		return nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return errors.New("an index that is not a whole number")
	}
	*i = Index{N: int(n), Set: true}
	return nil
}

// Count is a number of tokens. What is not a number is taken as not reported: a wrong count is no reason to lose an
// answer. It is never negative and never above 2^53.
type Count struct {
	N   int64
	Set bool
}

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(f) {
		return nil
	}
	*c = Count{N: int64(min(max(f, 0), 1<<53)), Set: true}
	return nil
}

// Reported is the count, nil when there was none.
func (c Count) Reported() *int64 {
	if !c.Set {
		return nil
	}
	n := c.N
	return &n
}
