package policy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile is the largest policy file that is read, in bytes.
const maxFile = 1 << 20

// reserved lists layer names that no file may use: the engine's own layers have powers that those of files have not.
var reserved = []string{BuiltinLayer, ContractLayer, ProviderLayer}

// Load reads a policy file; see Parse.
func Load(path string) (*Policy, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("policy: %w; name a file that exists, or one of %s", err, strings.Join(Starters(), ", "))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("policy: %s is not a regular file; name a TOML file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return Parse(data, path)
}

// Parse reads a policy in TOML, strictly. The name stands for the file in errors, which are *FileError, several of them
// joined. Keys listed in others, at the top of the document, belong to somebody else and are left alone.
func Parse(data []byte, name string, others ...string) (*Policy, error) {
	if len(data) > maxFile {
		return nil, &FileError{File: name, Line: 1, Column: 1, Problem: fmt.Sprintf("the file is larger than %d bytes", maxFile), Advice: "make it smaller"}
	}
	root, err := readDocument(data, name)
	if err != nil {
		return nil, err
	}
	d := &decoder{data: data, file: name}
	p := d.policy(root, others)
	if len(d.errs) > 0 {
		return nil, errors.Join(d.errs...)
	}
	return p, nil
}

// maxErrors is how many errors of one file are reported.
const maxErrors = 20

// decoder turns a document into a policy and collects what is wrong with it.
type decoder struct {
	data []byte
	file string
	errs []error
}

func (d *decoder) fail(offset int, problem, advice string) {
	if len(d.errs) == maxErrors {
		return
	}
	line, column := place(d.data, offset)
	d.errs = append(d.errs, &FileError{File: d.file, Line: line, Column: column, Problem: problem, Advice: advice})
}

// flawed reports what an error of a check says.
func (d *decoder) flawed(offset int, err error) {
	var f flaw
	if errors.As(err, &f) {
		d.fail(offset, f.problem, f.advice)
	}
}

// known reports every key of a table that is not listed.
func (d *decoder) known(table *value, where string, keys ...string) {
	for _, e := range table.keys {
		if !slices.Contains(keys, e.key) {
			d.fail(e.offset, "unknown key "+quoted(e.key)+" in "+where, "write one of: "+strings.Join(keys, ", "))
		}
	}
}

// table reports a value that is no table.
func (d *decoder) table(v *value, what string) bool {
	if v.kind != unstable.Table {
		d.fail(v.offset, what+" is not a table", "write it as in the example of the documentation")
		return false
	}
	return true
}

// tables returns the tables of an array of tables.
func (d *decoder) tables(v *value, what, header string) []*value {
	if v == nil {
		return nil
	}
	if v.kind != unstable.Array {
		d.fail(v.offset, what+" is not a list of tables", "write [["+header+"]] above each")
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.items), func(item *value) bool { return !d.table(item, what) })
}

// word returns the string of a key, and reports one that is missing or something else.
func (d *decoder) word(table *value, key, advice string) (string, *value) {
	v := table.get(key)
	switch {
	case v == nil:
		d.fail(table.offset, key+" is missing", advice)
		return "", nil
	case v.kind != unstable.String:
		d.fail(v.offset, key+" is not a string", advice)
		return "", nil
	}
	return v.text, v
}
