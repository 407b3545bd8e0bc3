package core

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tillerman/core/policy"
	"tillerman/core/sandbox"
	"tillerman/core/tool"
	"tillerman/db"
)

// digest is what a decision is bound to: everything that decides what the call would do, as far as it can be told
// beforehand. covers says what it cannot cover.
func (d *driver) digest(p tool.Plan) (digest, covers string) {
	what := map[string]any{"act": p.Action.Act, "target": p.Target, "args": string(p.Args)}
	if w := p.Write; w != nil {
		what["path"], what["mode"], what["exists"] = w.Path, w.Mode, w.Exists
		what["before"], what["after"] = db.Digest(w.Before), db.Digest(w.After)
	}
	if x := p.Exec; x != nil {
		what["argv"], what["dir"], what["stdin"], what["timeout"] = x.Argv, x.Dir, x.Stdin, x.Timeout
		if d.runner != nil {
			what["env"] = d.runner.EnvNames()
		}
		var program string
		program, covers = d.program(x)
		what["program"] = program
		what["files"] = d.argumentFiles(x)
	} else if p.Action.Act == policy.Net {
		covers = "what the host answers, and where it redirects to"
	} else if p.Action.Act == policy.Exec {
		covers = "what the tool does is its own code"
	}
	b, err := json.Marshal(what) // maps are encoded in key order
	if err != nil {
		b = []byte(err.Error())
	}
	return db.Digest(b), covers
}

// program identifies the file that would run.
func (d *driver) program(x *tool.Exec) (id, covers string) {
	path, err := d.runner.Resolve(sandbox.Command{Argv: x.Argv, Dir: filepath.Join(d.c.Workspace, filepath.FromSlash(x.Dir))})
	if err != nil {
		return "", "the program was not found"
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", "the program cannot be looked at"
	}
	covers = "what the program reads by itself"
	switch filepath.Base(path) {
	case "sh", "bash", "dash", "zsh", "ksh", "make", "python", "python3", "node", "perl", "ruby":
		covers = "what the script runs and reads by itself"
	}
	return fmt.Sprintf("%s %s %d %d", path, inode(info), info.Size(), info.ModTime().UnixNano()), covers
}

// argumentFiles are the arguments that are regular files of the workspace, with their digests.
func (d *driver) argumentFiles(x *tool.Exec) map[string]string {
	files := map[string]string{}
	for _, arg := range x.Argv {
		rel := filepath.Clean(filepath.Join(x.Dir, arg))
		if filepath.IsAbs(arg) {
			rel = strings.TrimPrefix(arg, d.c.Workspace+string(filepath.Separator))
		}
		if rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := os.Stat(filepath.Join(d.c.Workspace, rel)); err == nil && info.Mode().IsRegular() {
			files[rel] = fileDigest(d.c.Workspace, rel)
		}
	}
	return files
}
