package core_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"tillerman/core"
	"tillerman/core/provider/record"
	"tillerman/core/provider/replay"
	"tillerman/observer"
)

var update = flag.Bool("update", false, "record the demo anew")

// shipped is the demo's recording that comes with the program.
const shipped = "../recordings/demo.json"

// TestShippedRecordingReplays answers the demo from its recording: the trace is that of the scripted model. It fails when
// the recording lags behind the program: go test ./core -run ShippedRecording -update.
func TestShippedRecordingReplays(t *testing.T) {
	live := newRig(t)
	c, model := live.demo()
	res, err := live.engine(model).Run(context.Background(), c)
	must(t, err)
	if *update {
		file, err := core.Recording(context.Background(), live.store, res.RunID)
		must(t, err)
		must(t, anonymous(file))
		must(t, file.Save(shipped))
		must(t, os.Chmod(shipped, 0o644))
	}
	again := newRig(t)
	c, _ = again.demo()
	p, err := replay.Load(shipped, core.Version)
	must(t, err)
	replayed, err := again.engine(p).Run(context.Background(), c)
	must(t, err)
	if replayed.Outcome != observer.OutcomeSuccess {
		t.Fatalf("%s: %s", replayed.Outcome, replayed.Message)
	}
	if want, got := live.trace(res.RunID), again.trace(replayed.RunID); got != want {
		t.Errorf("the replay's trace differs:\n%s", firstDifference(want, got))
	}
}

// anonymous takes out of a recording what is about the machine it was made on.
func anonymous(file *record.File) error {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(file.Inputs, &in); err != nil {
		return err
	}
	var c core.Contract
	if err := json.Unmarshal(in["contract"], &c); err != nil {
		return err
	}
	c.Workspace, c.RetrySeed = "workspace", 0
	var err error
	if in["contract"], err = json.Marshal(c); err != nil {
		return err
	}
	file.Inputs, err = json.Marshal(in)
	return err
}
