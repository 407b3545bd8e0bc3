package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// passed are the operator's variables that every command gets, beside LC_*.
var passed = []string{"LANG", "LANGUAGE", "TZ", "USER", "LOGNAME"}

// fallbackPath is PATH when the operator has none.
const fallbackPath = "/usr/local/bin:/usr/bin:/bin"

// quiet keeps programs from asking a person, from paging and from painting. CI is left unset: to some programs it
// means more than that nobody is there.
var quiet = []string{
	"TERM=dumb", "NO_COLOR=1", "PAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
	"DEBIAN_FRONTEND=noninteractive", "PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "NPM_CONFIG_UPDATE_NOTIFIER=false",
}

// environment is a set of variables; a later value replaces an earlier one.
type environment map[string]string

func (e environment) add(entries ...string) {
	for _, entry := range entries {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			e[name] = value
		}
	}
}

// list gives NAME=value, ordered by name.
func (e environment) list() []string {
	entries := make([]string, 0, len(e))
	for name, value := range e {
		entries = append(entries, name+"="+value)
	}
	slices.Sort(entries)
	return entries
}

// operatorEnvironment takes from the operator's environment what a command may see.
func operatorEnvironment(operator environment, secret func(name, value string) bool) environment {
	clean := environment{"PATH": absolutePath(operator["PATH"])}
	for name, value := range operator {
		if !slices.Contains(passed, name) && !strings.HasPrefix(name, "LC_") {
			continue
		}
		if looksSecret(name) || secret != nil && secret(name, value) {
			continue
		}
		clean[name] = value
	}
	return clean
}

// absolutePath leaves out of a search path what depends on the working directory: a program must not be replaced by
// a file of the workspace.
func absolutePath(path string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return !filepath.IsAbs(dir) })
	if len(dirs) == 0 {
		return fallbackPath
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// looksSecret goes by names that are given to credentials.
func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	for _, prefix := range []string{"AWS_", "AZURE_", "GCP_", "GOOGLE_", "GITHUB_", "GH_", "OPENAI_", "ANTHROPIC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, part := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasSuffix(name, "KEY")
}
