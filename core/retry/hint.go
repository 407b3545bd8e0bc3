// Package retry decides how long to wait before a model is asked again: as long as the server asked, else a drawn
// time that grows. Whether to ask again at all is the provider.Kind's to say.
package retry

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Forms of an HTTP date with a two-digit or four-digit year and hyphens, which servers send although RFC 9110 §5.6.7
// does not know them. http.ParseTime reads the three forms that it does know.
var hyphenDates = [...]string{
	"Mon, 02-Jan-06 15:04:05 GMT",
	"Mon, 02-Jan-2006 15:04:05 GMT",
}

// Hint reads how long a server asks to wait: retry-after-ms (OpenAI, Azure), else Retry-After (RFC 9110 §10.2.3) as
// seconds, also with decimals, or as a date, taken against now. It is nil when there is nothing to wait for: no header,
// zero, a negative number, a past date, words. It does not cap: a caller judges a hint that is too long.
//
// The x-ratelimit-reset family is not read: vendors put durations, seconds and times into it under one name.
func Hint(h http.Header, now time.Time) *time.Duration {
	if wait, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok && wait > 0 {
		return &wait
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if wait, ok := number(value, time.Second); ok {
		return positive(wait)
	}
	if at, ok := date(value); ok {
		return positive(at.Sub(now))
	}
	return nil
}

func positive(d time.Duration) *time.Duration {
	if d <= 0 {
		return nil
	}
	return &d
}

// number reads a decimal count of units, as much as a Duration can hold.
func number(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	// ParseFloat also knows "inf", "nan" and hexadecimal, which no server means.
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(n, 0) {
		return 0, false
	}
	n *= float64(unit)
	switch {
	case n >= math.MaxInt64:
		return math.MaxInt64, true
	case n <= 0:
		return 0, true
	}
	return time.Duration(n), true
}

func date(s string) (time.Time, bool) {
	if t, err := http.ParseTime(s); err == nil {
		return t, true
	}
	for _, form := range hyphenDates {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
