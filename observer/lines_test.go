package observer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// script is a writer that keeps each write and answers from a list, then with success.
type script struct {
	writes  []string
	answers []func(p []byte) (int, error)
}

func (s *script) Write(p []byte) (int, error) {
	s.writes = append(s.writes, string(p))
	if len(s.answers) == 0 {
		return len(p), nil
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer(p)
}

func TestLinesWritesEachEventAtOnce(t *testing.T) {
	w := &script{}
	l := Lines(w)
	events := []Event{{Seq: 1, Kind: Told{Text: "a\nb <c>"}}, {Seq: 2, Kind: Stalled{}}}
	for i := range events {
		if l.Event(&events[i]) != Continue {
			t.Error("a watcher cancelled")
		}
	}
	if len(w.writes) != 2 || l.Err() != nil {
		t.Fatalf("%d writes, %v", len(w.writes), l.Err())
	}
	for i, line := range w.writes {
		if want := mustMarshal(t, events[i]) + "\n"; line != want {
			t.Errorf("wrote %q, want %q", line, want)
		}
	}
}

func TestLinesStopsAtTheFirstFailure(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(p []byte) (int, error)
		want   error
	}{
		"error": {func([]byte) (int, error) { return 0, io.ErrClosedPipe }, io.ErrClosedPipe},
		"short": {func(p []byte) (int, error) { return len(p) - 1, nil }, io.ErrShortWrite},
	} {
		w := &script{answers: []func([]byte) (int, error){c.answer}}
		l := Lines(w)
		for range 3 {
			if l.Event(&Event{Kind: Stalled{}}) != Continue {
				t.Errorf("%s: a failure cancelled", name)
			}
		}
		if !errors.Is(l.Err(), c.want) || len(w.writes) != 1 {
			t.Errorf("%s: %v after %d writes", name, l.Err(), len(w.writes))
		}
	}
	w := &script{}
	l := Lines(w)
	l.Event(&Event{})
	l.Event(&Event{Kind: Stalled{}})
	if l.Err() == nil || len(w.writes) != 0 {
		t.Errorf("an event without a kind: %v, wrote %q", l.Err(), w.writes)
	}
}

func TestLinesIsSafeForConcurrentUse(t *testing.T) {
	var buf bytes.Buffer
	l := Lines(&buf)
	var wg sync.WaitGroup
	for run := range int64(4) {
		wg.Go(func() {
			for seq := range int64(100) {
				l.Event(&Event{RunID: run, Seq: seq + 1, Kind: Stalled{}})
			}
		})
	}
	wg.Wait()
	var tr Tracker
	lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
	for _, line := range lines {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if from, to, missing := tr.Note(e); missing {
			t.Errorf("run %d lacks %d..%d", e.RunID, from, to)
		}
	}
	if len(lines) != 400 || l.Err() != nil {
		t.Errorf("%d lines, %v", len(lines), l.Err())
	}
}
