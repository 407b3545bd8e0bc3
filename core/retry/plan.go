package retry

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tillerman/core/provider"
)

// MaxHint is the longest wait that a server's hint is honoured for. Who asks for more is as good as away.
const MaxHint = 10 * time.Minute

// Unlimited is a time budget that never runs out.
const Unlimited time.Duration = math.MaxInt64

// TooLongError says that the wait before the next attempt is longer than the caller may wait.
type TooLongError struct {
	Asked time.Duration // the wait
	Limit time.Duration // the most that was possible
	Hint  bool          // the server asked for it; else it was drawn, or a breaker is open
}

func (e *TooLongError) Error() string {
	who := "the next attempt would wait"
	if e.Hint {
		who = "the server asks to wait"
	}
	return fmt.Sprintf("%s %s, longer than %s", who, exactly(e.Asked), e.Limit.Round(time.Millisecond))
}

// exactly is a wait to the millisecond, or in days where it is that long.
func exactly(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day {
		return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
	}
	return d.Round(time.Millisecond).String()
}

// Plan says how long to wait before asking again after err. The server's hint wins over the drawn wait; a hint above
// MaxHint, and any wait above left (what remains of a time budget, or Unlimited), is a *TooLongError. An error that
// asking again cannot help is returned as it is.
func (p Policy) Plan(err error, at Attempt, left time.Duration) (time.Duration, error) {
	failed, ok := provider.As(err)
	if !ok || !failed.Kind.Retryable() {
		return 0, err
	}
	left = max(left, 0)
	if failed.Hint == nil || *failed.Hint <= 0 {
		wait := p.Wait(at)
		if wait > left {
			return 0, &TooLongError{Asked: wait, Limit: left}
		}
		return wait, nil
	}
	if limit := min(MaxHint, left); *failed.Hint > limit {
		var open *Open // then the hint is our own
		return 0, &TooLongError{Asked: *failed.Hint, Limit: limit, Hint: !errors.As(err, &open)}
	}
	return *failed.Hint, nil
}
