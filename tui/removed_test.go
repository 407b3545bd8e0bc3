package tui

import (
	"context"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/core/approval"
	"tillerman/db"
)

// A run whose trace was removed says so, in its summary and where its steps would be.
func TestRemovedTraceIsSaid(t *testing.T) {
	store, id := demoStore(t, approval.All{}, nil)
	done, err := store.Prune(context.Background(), db.Retention{Before: time.Now().Add(time.Hour).UnixMilli(), Asked: "all", By: db.Here("test"), Version: "0"})
	if err != nil || done.Runs != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	today := time.Now().Format(time.DateOnly)
	a := newApp(t, Options{Store: store}, 120, 40)
	a.wait("1 of 1")
	a.press(tea.KeyPressMsg{Code: tea.KeyEnter})
	a.wait("removed on " + today + ": the steps are not there any more")
	a.press(tea.KeyPressMsg{Code: tea.KeyEnter})
	a.wait(fmt.Sprintf("the trace of run %d was removed on %s", id, today))
}
