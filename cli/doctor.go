package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tillerman/core/anchor"
	"tillerman/core/sandbox"
	"tillerman/db"
)

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check the store and the settings, and say what to do",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.examine(cmd.Context())
			if err := a.printFindings(found); err != nil {
				return err
			}
			if slices.ContainsFunc(found, func(f db.Finding) bool { return f.Level == db.Fail }) {
				return &exitError{code: exitOther}
			}
			return nil
		},
	}
}

// examine does every check. None of them stops another.
func (a *app) examine(ctx context.Context) []db.Finding {
	found := []db.Finding{a.checkConfig()}
	if f := a.checkAuditKey(); f != nil {
		found = append(found, *f)
	}
	if f := a.checkAnchors(); f != nil {
		found = append(found, *f)
	}
	found = append(found, a.checkPolicy(), a.checkKeys(), a.checkSandbox(), a.checkTerminal())
	path, err := a.storePath()
	if err != nil {
		return append(found, db.Finding{Check: "store", Level: db.Fail, Says: err.Error()})
	}
	return append(found, db.Examine(ctx, path)...)
}

func (a *app) checkConfig() db.Finding {
	f := db.Finding{Check: "configuration", Level: db.Fine}
	path, err := a.loadConfig()
	switch {
	case err != nil:
		f.Level, f.Says, f.Do = db.Fail, err.Error(), "correct the file; without it the defaults hold"
	case path == "":
		f.Says = "none: neither XDG_CONFIG_HOME nor HOME is set"
	default:
		f.Says = path
		if _, err := os.Stat(path); err != nil {
			f.Says += ", which does not exist: the defaults hold"
		}
	}
	return f
}

// checkAuditKey looks at the file that keys the audit trail, nil when none is set.
func (a *app) checkAuditKey() *db.Finding {
	file := a.conf.Audit.KeyFile
	if file == "" {
		return nil
	}
	f := &db.Finding{Check: "audit key", Level: db.Fine, Says: file}
	if _, err := readKey(file); err != nil {
		f.Level, f.Says, f.Do = db.Fail, err.Error(), "no run, answer or order is taken until it is there"
		return f
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
		f.Level, f.Do = db.Warn, "chmod 600 "+file
		f.Says = fmt.Sprintf("%s: others can reach it: mode %o, should be 600; whoever has read it can forge rows", file, info.Mode().Perm())
	}
	return f
}

// checkAnchors looks at where anchors of the audit trail go, nil when none are kept.
func (a *app) checkAnchors() *db.Finding {
	sink := anchor.Sink{File: a.conf.Audit.Anchor, Command: a.conf.Audit.AnchorCommand}
	if sink.File == "" && len(sink.Command) == 0 {
		return nil
	}
	f := &db.Finding{Check: "audit anchors", Level: db.Fine, Says: strings.Join(slices.DeleteFunc([]string{sink.File, strings.Join(sink.Command, " ")}, func(s string) bool { return s == "" }), "; ")}
	if err := sink.Check(); err != nil {
		f.Level, f.Says, f.Do = db.Warn, err.Error(), "until they can be taken, rows cut off at the end or made anew are not noticed"
	}
	return f
}

// checkPolicy reads the policy that runs begin with when no other is named.
func (a *app) checkPolicy() db.Finding {
	if _, err := a.loadPolicy(""); err != nil {
		return db.Finding{Check: "policy", Level: db.Fail, Says: err.Error(), Do: "correct policy in the configuration, or the file it names"}
	}
	return db.Finding{Check: "policy", Level: db.Fine, Says: cmp.Or(a.conf.Policy, defaultPolicy)}
}

// checkKeys names the keys that are set. Their values are nobody's business.
func (a *app) checkKeys() db.Finding {
	var set, unset []string
	for _, v := range vendors {
		if a.Getenv(v.key) != "" {
			set = append(set, v.key)
		} else {
			unset = append(unset, v.key)
		}
	}
	slices.Sort(set)
	slices.Sort(unset)
	if len(set) == 0 {
		return db.Finding{Check: "keys", Level: db.Warn, Says: "no provider's key is set", Do: "set one of " + strings.Join(unset, ", ") + ", or use --base-url with a server that needs none"}
	}
	return db.Finding{Check: "keys", Level: db.Fine, Says: "set: " + strings.Join(set, ", ")}
}

func (a *app) checkSandbox() db.Finding {
	backend := sandbox.Backend()
	f := db.Finding{Check: "sandbox", Level: db.Fine, Says: backend}
	switch missing := sandbox.Missing(); {
	case a.conf.Sandbox == sandbox.Floor:
		f.Says = "floor, as the configuration says: commands run as you, without walls around them"
	case backend == sandbox.Floor:
		f.Says = "floor: commands run as you, without walls around them; each is asked for unless a rule allows it"
	case len(missing) > 0:
		f.Says += "; not kept: " + strings.Join(missing, "; ")
	}
	return f
}

func (a *app) checkTerminal() db.Finding {
	f := db.Finding{Check: "terminal", Level: db.Fine}
	if !a.Terminal {
		f.Says = "none: output is lines, and questions wait in the inbox"
		return f
	}
	width, height := a.Width, 0
	if w, h, err := term.GetSize(int(a.In.Fd())); err == nil {
		width, height = w, h
	}
	colour := "colour"
	if a.Getenv("NO_COLOR") != "" || a.Getenv("TERM") == "dumb" {
		colour = "no colour"
	}
	letters := "unicode"
	if a.asciiOnly() {
		letters = "ASCII only"
	}
	f.Says = fmt.Sprintf("%d × %d cells, %s, %s", width, height, colour, letters)
	if width < 40 || height > 0 && height < 12 {
		f.Level, f.Do = db.Warn, "the console needs 40 × 12 cells; --plain prints lines"
	}
	return f
}

func (a *app) printFindings(found []db.Finding) error {
	for i, f := range found { // what a check says may come from a file or a variable
		found[i].Says, _ = a.redactor.String(f.Says)
		found[i].Do, _ = a.redactor.String(f.Do)
	}
	if a.json {
		return a.printJSON(found)
	}
	p := a.printer(nil)
	for _, f := range found {
		says := f.Says
		if f.Do != "" {
			says += "; " + f.Do
		}
		p.Note("%-4s  %-14s %s", f.Level, f.Check, says)
	}
	return p.Err()
}
