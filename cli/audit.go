package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tillerman/core/anchor"
	"tillerman/db/audit"
	"tillerman/tui/text"
)

func (a *app) audit() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Verify, read and export the audit trail: who did or allowed what",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return &exitError{code: exitUsage}
		},
	}
	cmd.AddCommand(a.auditVerify(), a.auditLog(), a.auditExport())
	return cmd
}

// keyLimit bounds a key file; more than this is some other file.
const keyLimit = 4096

// readKey reads the file of an audit key.
func readKey(path string) ([]byte, error) {
	f, err := audit.OpenRegular(path)
	switch {
	case errors.Is(err, audit.ErrNoFile):
		return nil, fmt.Errorf("the key file %s is no regular file", path)
	case err != nil:
		return nil, fmt.Errorf("the key file %s cannot be read (%s); create it with 32 random bytes, readable by you alone", path, reason(err))
	}
	defer f.Close()
	key, err := io.ReadAll(io.LimitReader(f, keyLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the key file %s cannot be read (%s)", path, reason(err))
	case len(key) > keyLimit:
		return nil, fmt.Errorf("the key file %s holds more than %d bytes, and a key has %d to %d; 32 random bytes are a good one", path, keyLimit, audit.MinKey, keyLimit)
	case len(key) < audit.MinKey:
		return nil, fmt.Errorf("the key file %s holds %d bytes, and a key has %d to %d; 32 random bytes are a good one", path, len(key), audit.MinKey, keyLimit)
	}
	return key, nil
}

// reason is an error of the file system without the path that it repeats.
func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// anchorSink is where anchors go by the settings, nil for nowhere.
func (a *app) anchorSink() *anchor.Sink {
	s := a.conf.Audit
	if s.Anchor == "" && len(s.AnchorCommand) == 0 {
		return nil
	}
	return &anchor.Sink{File: s.Anchor, Command: s.AnchorCommand, Environ: a.Environ}
}

// closeAnchors waits for the last anchor and says once what became of none. What was done stands.
func (a *app) closeAnchors() {
	if a.anchors == nil {
		return
	}
	if err := a.anchors.Close(); err != nil {
		fmt.Fprintln(a.Err, "tillerman: an anchor of the audit trail was not kept; the runs are not affected, the next anchor covers this one: "+text.Truncate(a.message(err), 400, "…"))
	}
	a.anchors = nil
}
