package sandbox

import (
	"bytes"
	"slices"
)

// What programs print when the sandbox denies them something, in lower case. A lack of rights has many reasons and is
// not among it.
var (
	networkDenied = []string{
		"network is unreachable", "could not resolve host", "temporary failure in name resolution", "name or service not known",
		"no such host", "eai_again", "failed to lookup address", "server misbehaving",
	}
	writeDenied = []string{"read-only file system"}
)

// hint says which failure of a command the sandbox may be the reason for.
func (r *Runner) hint(result Result) string {
	if r.backend == (backend{}) || result.Exit == 0 && result.Signal == "" {
		return ""
	}
	output := bytes.ToLower(result.Output)
	says := func(phrases []string) bool {
		return slices.ContainsFunc(phrases, func(phrase string) bool { return bytes.Contains(output, []byte(phrase)) })
	}
	switch {
	case !r.confine.Network && says(networkDenied):
		return "the sandbox denies commands the network, because the policy allows no host"
	case r.confine.Spaces.Mount && says(writeDenied):
		return "the sandbox lets commands write only in the workspace, in HOME and in TMPDIR"
	}
	return ""
}
