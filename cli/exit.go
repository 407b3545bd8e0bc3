package cli

import (
	"errors"

	"tillerman/core"
	"tillerman/core/provider"
	"tillerman/core/provider/record"
	"tillerman/db"
	"tillerman/observer"
)

// Exit codes. A process that a signal ends uses 128 + the signal, as shells do.
const (
	exitDone     = 0
	exitOther    = 1 // the run ended otherwise; the line says how
	exitUsage    = 2 // usage or configuration
	exitWaits    = 3 // it waits for a person
	exitConflict = 4 // somebody else was first
	exitStopped  = 130
)

// usageError is a mistake in how the program was called or set up: one line, exit 2.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

// exitError ends the program with a code, its message already shown when it is empty.
type exitError struct {
	code int
	msg  string
}

func (e *exitError) Error() string { return e.msg }

// exitCode is the code an error ends the program with.
func exitCode(err error) int {
	var (
		exit     *exitError
		usage    *usageError
		contract *core.ContractError
		config   *provider.ConfigError
		file     *record.FileError
		store    *db.Error
		held     *db.HeldError
		decided  *db.DecidedError
		resolved *db.ResolvedError
		digest   *db.DigestError
		conflict *core.ConflictError
		ended    *db.EndedError
		raise    *db.RaiseError
		answer   *db.AnswerError
		run      *core.RunError
		removed  *db.RemovedError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &held), errors.As(err, &decided), errors.As(err, &resolved), errors.As(err, &digest), errors.As(err, &conflict), errors.As(err, &ended):
		return exitConflict
	case errors.As(err, &run), errors.As(err, &removed):
		return exitOther
	case errors.As(err, &usage), errors.As(err, &contract), errors.As(err, &config), errors.As(err, &file), errors.As(err, &store), errors.As(err, &raise), errors.As(err, &answer),
		errors.Is(err, db.ErrNotFound):
		return exitUsage
	}
	return exitUsage
}

// outcomeCode is the code a run's outcome ends the program with.
func outcomeCode(o observer.Outcome) int {
	if row, ok := o.Row(); ok {
		return row.Exit
	}
	return exitOther
}
