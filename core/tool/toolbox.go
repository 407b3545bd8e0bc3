package tool

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// mcpPrefix begins the names of tools that MCP servers offer: mcp__server__tool.
const mcpPrefix = "mcp__"

// Remote is a tool that an MCP server offers. Its name is mcp__, the server's name, __ and its own; no other tool's name
// may begin so.
type Remote interface {
	Tool
	// Server is the server's name in the configuration.
	Server() string
}

// Toolbox is a validated set of tools. It is immutable and safe for concurrent use.
type Toolbox struct {
	specs []Spec
	tools map[string]Tool
}

// RegistrationError says why a tool cannot be registered.
type RegistrationError struct {
	Tool string // its name as declared
	Why  string
}

func (e *RegistrationError) Error() string {
	return fmt.Sprintf("tool %s: %s", clip(QuoteName(e.Tool)), e.Why)
}

// NewToolbox checks every tool and keeps what it declares now: a Spec that changes later has no effect. The error joins
// a *RegistrationError for each tool that cannot be had.
func NewToolbox(tools ...Tool) (*Toolbox, error) {
	box := &Toolbox{tools: map[string]Tool{}}
	var problems []error
	for _, t := range tools {
		if t == nil {
			problems = append(problems, &RegistrationError{Why: "it is nil"})
			continue
		}
		spec := t.Spec()
		err := check(t, &spec)
		if err == nil && box.tools[spec.Name] != nil {
			err = errors.New("its name is taken twice")
		}
		if err != nil {
			problems = append(problems, &RegistrationError{Tool: spec.Name, Why: err.Error()})
			continue
		}
		box.tools[spec.Name] = t
		box.specs = append(box.specs, spec)
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	slices.SortStableFunc(box.specs, func(a, b Spec) int { return box.rank(a) - box.rank(b) })
	return box, nil
}

// rank puts the built-in tools first, in their order; the others follow as they were given.
func (b *Toolbox) rank(spec Spec) int {
	all := Builtin()
	if _, ours := b.tools[spec.Name].(builtin); !ours {
		return len(all)
	}
	return slices.IndexFunc(all, func(t Tool) bool { return t.Spec().Name == spec.Name })
}

// Get finds a tool by its name.
func (b *Toolbox) Get(name string) (Tool, bool) {
	t, ok := b.tools[name]
	return t, ok
}

// Spec finds what a tool declared, its schema in canonical form.
func (b *Toolbox) Spec(name string) (Spec, bool) {
	at := slices.IndexFunc(b.specs, func(s Spec) bool { return s.Name == name })
	if at < 0 {
		return Spec{}, false
	}
	return b.specs[at], true
}

// Specs lists what the tools declared, schemas in canonical form: the built-in tools in the order of Builtin, then the
// others in the order in which they were given to NewToolbox.
func (b *Toolbox) Specs() []Spec { return slices.Clone(b.specs) }

// namePattern is what the model APIs accept as a tool's name.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check says what is wrong with a tool, and brings its schema into canonical form.
func check(t Tool, spec *Spec) error {
	if !namePattern.MatchString(spec.Name) {
		return errors.New("its name must be 1 to 64 of A-Z, a-z, 0-9, _ and -")
	}
	_, ours := t.(builtin)
	if !ours && reserved(spec.Name) {
		return errors.New("its name is reserved for a built-in tool")
	}
	if err := checkPrefix(t, spec.Name); err != nil {
		return err
	}
	switch spec.Safety {
	case Pure, Idempotent, Once:
	case "":
		return errors.New("it does not declare its safety: pure, idempotent or once")
	default:
		return fmt.Errorf("its safety %q is unknown: it is pure, idempotent or once", clip(string(spec.Safety)))
	}
	switch spec.Reach {
	case ReachNone, ReachCooperative:
	case ReachProcess:
		if _, ok := t.(supervised); !ok {
			return errors.New("it claims the reach of a process group, but does not run its processes under the supervisor")
		}
	case "":
		return errors.New("it does not declare its reach: none or cooperative")
	default:
		return fmt.Errorf("its reach %q is unknown: it is none or cooperative", clip(string(spec.Reach)))
	}
	if !utf8.ValidString(spec.Description) {
		return errors.New("its description is not valid UTF-8")
	}
	form, err := canonical(spec.Schema)
	spec.Schema = form
	return err
}

func checkPrefix(t Tool, name string) error {
	remote, ok := t.(Remote)
	switch {
	case !ok && strings.HasPrefix(name, mcpPrefix):
		return errors.New("names that begin with mcp__ are for tools of MCP servers")
	case ok && !strings.HasPrefix(name, mcpPrefix+remote.Server()+"__"):
		return errors.New("a tool of an MCP server is named mcp__server__tool")
	}
	return nil
}
