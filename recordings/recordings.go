// Package recordings holds what ships with the program for its demo and its tests: a small workspace with real faults,
// and a scripted model that mends them.
package recordings

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

//go:embed demo demo.json
var files embed.FS

// Task is what a run needs: something to do, where, and who answers.
type Task struct {
	Goal        string
	Constraints []string
	// Check is the command that decides whether the goal is reached, word by word.
	Check []string
	// Repeatable are commands that may run again after a crash.
	Repeatable [][]string
	// Workspace is the files to work on; CopyWorkspace puts them on the disk.
	Workspace fs.FS
	// Script is the scripted model, in the form that package script reads.
	Script []byte
	// Recording is one run of it with every question approved, in the form that package record reads.
	Recording []byte
}

// Demo is the task that `tillerman demo` runs.
func Demo() (Task, error) {
	workspace, err := fs.Sub(files, "demo/workspace")
	if err != nil {
		return Task{}, fmt.Errorf("recordings: %w", err)
	}
	script, err := fs.ReadFile(files, "demo/script.toml")
	if err != nil {
		return Task{}, fmt.Errorf("recordings: %w", err)
	}
	recording, err := fs.ReadFile(files, "demo.json")
	if err != nil {
		return Task{}, fmt.Errorf("recordings: %w", err)
	}
	check := []string{"sh", "check.sh"}
	return Task{
		Goal: "nap.sh waits too short for some durations, and `sh check.sh` fails. Find out why, and mend lib/duration.sh " +
			"so that every case passes.",
		Constraints: []string{
			"Leave check.sh as it is: it says what is right.",
			"Keep to plain sh; it must run under dash and busybox too.",
		},
		Check:      check,
		Repeatable: [][]string{check},
		Workspace:  workspace,
		Script:     script,
		Recording:  recording,
	}, nil
}

// CopyWorkspace writes the demo's workspace into a directory, which must exist. A file that is there already is an
// error, and is left as it was. Scripts become executable: embedded files have no modes of their own.
func CopyWorkspace(dir string) error {
	task, err := Demo()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("recordings: %w", err)
	}
	defer func() { _ = root.Close() }() // only a handle
	return fs.WalkDir(task.Workspace, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("recordings: %w", err)
		case name == ".":
			return nil
		case entry.IsDir():
			return root.MkdirAll(filepath.FromSlash(name), 0o755)
		}
		content, err := fs.ReadFile(task.Workspace, name)
		if err != nil {
			return fmt.Errorf("recordings: %w", err)
		}
		return create(root, name, content)
	})
}

func create(root *os.Root, name string, content []byte) error {
	mode := fs.FileMode(0o644)
	if path.Dir(name) == "." && path.Ext(name) == ".sh" { // those below are for other scripts to source
		mode = 0o755
	}
	file, err := root.OpenFile(filepath.FromSlash(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("recordings: %w", err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(mode) // whatever the umask
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("recordings: %s: %w", name, err)
	}
	return nil
}
