package cli

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tillerman/core"
)

// limitFlags are the ceilings that a command sets; only those that were given count.
type limitFlags struct {
	cmd    *cobra.Command
	steps  int
	time   time.Duration
	tokens int64
	money  string
}

// add declares the flags. what is said of each: "most" for a run that starts, "new ceiling of" for one that exists.
func (l *limitFlags) add(cmd *cobra.Command, what string) {
	l.cmd = cmd
	fl := cmd.Flags()
	fl.IntVar(&l.steps, "max-steps", 0, what+" steps")
	fl.DurationVar(&l.time, "time", 0, what+" driven time, waiting for you left out")
	fl.Int64Var(&l.tokens, "tokens", 0, what+" tokens, every call counted")
	fl.StringVar(&l.money, "money", "", what+" money, estimated, as in 1.50")
}

// limits are the ceilings that were given.
func (l *limitFlags) limits() (core.Limits, error) {
	var set core.Limits
	changed := l.cmd.Flags().Changed
	for name, negative := range map[string]bool{"max-steps": l.steps < 0, "tokens": l.tokens < 0, "time": l.time < 0} {
		if negative {
			return set, &usageError{fmt.Sprintf("--%s: a limit is negative; leave it out or raise it", name)}
		}
	}
	if changed("max-steps") {
		if l.steps == 0 {
			return set, &usageError{"--max-steps 0: a run needs a step; name at least 1"}
		}
		set.MaxSteps = &l.steps
	}
	if changed("time") {
		set.Time = &l.time
	}
	if changed("tokens") {
		set.Tokens = &l.tokens
	}
	if changed("money") {
		micros, err := money(l.money)
		if err != nil {
			return set, &usageError{fmt.Sprintf("--money %q %v", l.money, err)}
		}
		set.Money = &micros
	}
	return set, nil
}

// money reads an amount such as 1.50 as micro-units.
func money(s string) (int64, error) {
	const form = "is no amount; write it like 1.50"
	if strings.Trim(s, "0123456789.") != "" { // no sign, no exponent, no fraction bar
		return 0, errors.New(form)
	}
	amount, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, errors.New(form)
	}
	amount.Mul(amount, big.NewRat(1_000_000, 1))
	switch {
	case !amount.IsInt():
		return 0, fmt.Errorf("is finer than a millionth")
	case !amount.Num().IsInt64():
		return 0, fmt.Errorf("is too large")
	}
	return amount.Num().Int64(), nil
}
