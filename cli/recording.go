package cli

import (
	"context"
	"fmt"

	"tillerman/core"
	"tillerman/core/provider/record"
)

// saveRecording writes the recording of a run that wants one.
func (d *driving) saveRecording(id int64, path string) error {
	if path == "" || id == 0 {
		return nil
	}
	file, err := core.Recording(context.Background(), d.store, id)
	if err != nil {
		return err
	}
	if err := file.Save(path); err != nil {
		return &usageError{fmt.Sprintf("--record %s: %v", path, err)}
	}
	return nil
}

// replayModel is the model that a replay's requests have to name: the recording's own, unless one is asked for.
func replayModel(path, asked string) (string, error) {
	file, err := record.Load(path, core.Version)
	if err != nil {
		return "", &usageError{"--replay: " + err.Error()}
	}
	if asked != "" || len(file.Exchanges) == 0 {
		return asked, nil
	}
	return file.Exchanges[0].Request.Model, nil
}
