package budget

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"tillerman/db"
)

var errNone = errors.New("is no ceiling")

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// plainNumber takes out what people put between thousands.
func plainNumber(s string) string {
	return strings.NewReplacer(",", "", "_", "", " ", "").Replace(strings.TrimSpace(s))
}

func steps(s string, b *db.Budget) error {
	n, err := strconv.Atoi(plainNumber(s))
	if err != nil || n < 1 { // a run needs a step
		return errNone
	}
	b.MaxSteps = &n
	return nil
}

// duration reads a span with its unit; a number alone says nothing.
func duration(s string, b *db.Budget) error {
	d, err := time.ParseDuration(plainNumber(s))
	if err != nil || d < 0 || d > 0 && d < time.Second {
		return errNone
	}
	ms := d.Milliseconds()
	b.TimeMS = &ms
	return nil
}

// tokens reads a count; k and M stand for thousands and millions.
func tokens(s string, b *db.Budget) error {
	s = plainNumber(s)
	factor := int64(1)
	switch {
	case strings.HasSuffix(s, "k"):
		s, factor = strings.TrimSuffix(s, "k"), 1000
	case strings.HasSuffix(s, "M"):
		s, factor = strings.TrimSuffix(s, "M"), 1_000_000
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return errNone
	}
	n *= factor
	b.Tokens = &n
	return nil
}

// money reads an amount with at most six digits behind the point.
func money(s string, b *db.Budget) error {
	whole, part, dotted := strings.Cut(plainNumber(s), ".")
	if len(part) > 6 || dotted && part == "" || whole == "" && part == "" {
		return errNone
	}
	if whole == "" {
		whole = "0"
	}
	for _, r := range whole + part {
		if r < '0' || r > '9' {
			return errNone
		}
	}
	n, err := strconv.ParseInt(whole+part+strings.Repeat("0", 6-len(part)), 10, 64)
	if err != nil {
		return errNone
	}
	b.MoneyMicros = &n
	return nil
}
