package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// record is what is written down about a running command, in a file named for its mark.
type record struct {
	// Leader leads the session in which the command was started: its supervisor, or the command itself when there is
	// none.
	Leader identity `json:"leader"`
	Engine identity `json:"engine"`
	Boot   string   `json:"boot"`
	// Strays were seen to belong to the command and have left the session: should the leader be killed, nothing else may
	// tell whose they are.
	Strays []identity `json:"strays,omitempty"`
}

// remember writes a record. The function it returns removes it.
func remember(j job, leader identity) (forget func()) {
	path := recordPath(j.State, j.Mark)
	writeRecord(path, record{Leader: leader, Engine: j.Engine, Boot: bootID()})
	return func() {
		_ = os.Remove(path)
		_ = os.Remove(path + ".new")
	}
}

// writeRecord writes a record as far as that is possible: whoever reads must find all of it or nothing.
func writeRecord(path string, r record) {
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o600)
	}
	if err == nil {
		_ = os.Rename(path+".new", path)
	}
}

// straysOf reads which processes of a command have left its session.
func straysOf(j job) []identity {
	var r record
	text, err := os.ReadFile(recordPath(j.State, j.Mark))
	if err != nil || json.Unmarshal(text, &r) != nil || r.Boot != bootID() {
		return nil
	}
	return r.Strays
}

// strayed notes in the record, as often as it is called with something new, which members have left the leader's
// session. It is for one goroutine.
func strayed(j job, leader process) func(members []process) {
	var last []identity
	return func(members []process) {
		var strays []identity
		for _, p := range members {
			if p.session != leader.session {
				strays = append(strays, p.identity)
			}
		}
		if slices.Equal(strays, last) {
			return
		}
		last = strays
		writeRecord(recordPath(j.State, j.Mark), record{Leader: leader.identity, Engine: j.Engine, Boot: bootID(), Strays: strays})
	}
}

// Survivors lists what still runs of commands that other engines started under the same state directory: their
// supervisors and all they supervise. When an engine dies, its supervisors end their commands and then themselves
// within about a second; an engine that takes over must not start before the list is empty. Commands of the calling
// process are its own and not listed. Records of commands of which nothing is left are removed.
func Survivors(state string) ([]Left, error) {
	entries, err := os.ReadDir(recordDir(state))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list commands of earlier engines: %w", err)
	}
	var left []Left
	for _, entry := range entries {
		mark, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok {
			continue
		}
		path := recordPath(state, mark)
		text, err := os.ReadFile(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, fmt.Errorf("read the record of a command: %w", err)
		}
		var r record
		if json.Unmarshal(text, &r) != nil {
			// Nobody can be named by it. Records are renamed into place whole: this is none of ours.
			continue
		}
		if self, _ := inspect(os.Getpid()); r.Engine == self.identity {
			continue
		}
		alive := r.alive(mark)
		if len(alive) == 0 {
			_ = os.Remove(path)
		}
		left = append(left, alive...)
	}
	sortLeft(left)
	return left, nil
}

// alive lists the leader and its tree, as far as they run.
func (r record) alive(mark string) []Left {
	if r.Boot != bootID() {
		return nil
	}
	t := tree{mark: mark, known: r.Strays}
	leader, exists := inspect(r.Leader.PID)
	var left []Left
	switch {
	case exists && leader.identity == r.Leader:
		t.parent, t.session = r.Leader.PID, r.Leader.PID
		if !leader.dead {
			left = append(left, Left{PID: leader.PID, Name: leader.name})
		}
	case !exists:
		// No other session can have this number while a process of this one lives.
		t.session = r.Leader.PID
	}
	for _, p := range t.members() {
		left = append(left, Left{PID: p.PID, Name: p.name})
	}
	return left
}

// WaitGone waits until Survivors lists nothing. When ctx ends first it returns the list, and an error that wraps
// context.Cause.
func WaitGone(ctx context.Context, state string) ([]Left, error) {
	ticker := time.NewTicker(4 * poll)
	defer ticker.Stop()
	for {
		left, err := Survivors(state)
		if err != nil || len(left) == 0 {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return left, fmt.Errorf("wait for the commands of an earlier engine: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// EndSurvivors ends what Survivors lists, by force what has not ended after the time that a stop leaves a command, and
// returns what still runs.
func EndSurvivors(ctx context.Context, state string) ([]Left, error) {
	began := time.Now()
	asked := make(map[int]bool)
	ticker := time.NewTicker(4 * poll)
	defer ticker.Stop()
	for {
		left, err := Survivors(state)
		since := time.Since(began)
		if err != nil || len(left) == 0 || since > stopGrace+killWait {
			return left, err
		}
		for _, l := range left {
			switch {
			case since > stopGrace: // again and again, for one that starts others meanwhile
				_ = unix.Kill(l.PID, unix.SIGKILL)
			case !asked[l.PID]:
				asked[l.PID] = true
				_ = unix.Kill(l.PID, unix.SIGTERM)
				_ = unix.Kill(l.PID, unix.SIGCONT) // a stopped one must run to hear it
			}
		}
		select {
		case <-ctx.Done():
			return left, fmt.Errorf("end the commands of an earlier engine: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

func sortLeft(left []Left) {
	slices.SortFunc(left, func(a, b Left) int { return cmp.Compare(a.PID, b.PID) })
}
