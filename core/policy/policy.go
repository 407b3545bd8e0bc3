// Package policy decides what an agent may do: acts, effects, named layers of rules, and the one function that both
// explains and enforces.
//
// A deny in any layer wins, then an ask, then an allow, then the act's default; the order of layers and rules only says
// which of several equal rules is named. So a layer of asks and denies can only make a policy stricter, and no allow
// ever crosses a deny.
//
// # Paths
//
// A pattern of a read or write rule is relative to the workspace and slash-separated. `*`, `?` and `[…]` stay inside one
// path element, `**` crosses directories, `{a,b}` is either; a bare `*` is everything; names that begin with a dot are
// no exception. A pattern without a slash also matches the base name at any depth; a leading `./` ties it to the
// workspace's root. A trailing slash means everything beneath. A backslash takes the special meaning from the next
// character (EscapePath does that to a whole path), and a path that is spelled exactly like the pattern always matches,
// so that `pages/[id].ts` means that file too. An ask or a deny of a directory holds for everything beneath it.
//
// A path is judged as it is spelled and as it resolves, every link on the way followed, and the stricter verdict holds.
// What lies outside the workspace is denied, whatever the rules say.
//
// Asks and denies take the NFC and NFD spellings of a text for the same, and upper and lower case where the file system
// does. Allows do not become wider by that.
//
// # Commands
//
// A rule of exec is a list of words, each a pattern for one word of the command's argv. This grammar is not that of
// paths: `*` is any run of characters, slashes and newlines included, `?` any one, `[…]` a set, a backslash takes the
// special meaning away, and the word that consists of two single quotes is the empty word. EscapeWords turns a command
// into the rule that fits it alone.
//
// An allow covers exactly as many words as it lists, from the program on, unless its last word is a lone `*`, which takes
// the rest. An ask or a deny holds as soon as its words appear in that order with anything between them, its flags
// wherever and however joined they stand. A program's bare name in an allow means what PATH gives outside the workspace;
// a program spelled as a path is allowed by rules spelled as that path, relative ones counted from the workspace's root.
//
// Programs that run other commands (shells, env, xargs, find -exec, git -c …) are looked through: what is found inside
// can make the verdict stricter and never looser, an allow rule for such a program asks nevertheless, and what cannot be
// read to its end asks, and so does git where the workspace's own .git holds settings or hooks that run programs. Rules for paths do not cover what a command opens by itself: that is the sandbox's part. But an
// argument that names a denied file or a place outside the workspace turns a rule's allow into an ask, and the target of
// a redirection is judged as a path.
//
// # Hosts
//
// A rule of net is a host, `*.` and a domain (its subdomains at any depth, not the domain itself), or `*`, each with or
// without a port; without one it holds for every port. Names are compared in ASCII form and lower case, addresses as
// addresses. A name and the address it resolves to are different hosts: who connects judges both.
package policy

// Act is a kind of thing an agent can do.
type Act string

// The four acts.
const (
	Read  Act = "read"
	Write Act = "write"
	Exec  Act = "exec"
	Net   Act = "net"
)

// Effect is what the policy says to an action.
type Effect string

// The effects, from loosest to strictest.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// rank orders effects by strictness. What is no effect is as strict as the strictest.
func (e Effect) rank() int {
	switch e {
	case Allow:
		return 0
	case Ask:
		return 1
	default:
		return 2
	}
}

func (e Effect) valid() bool { return e == Allow || e == Ask || e == Deny }

func (a Act) valid() bool { return a == Read || a == Write || a == Exec || a == Net }

// Action is one thing an agent wants to do. Which fields count depends on Act.
type Action struct {
	Act   Act
	Path  string   // read, write: as given, relative to the workspace
	Argv  []string // exec: the program and its arguments, or the name of a registered tool alone
	Dir   string   // exec: working directory relative to the workspace, "" for its root
	Input string   // exec: what the command reads on its standard input
	Host  string   // net: host or host:port; without a port the one of https is meant
	Tool  bool     // exec: Argv[0] is the name of a registered tool, which no PATH and no wrapper concerns
}

// Names that a verdict's Layer has beside those of the policy's own layers.
const (
	BuiltinLayer   = "builtin"   // the rules that every policy has
	ContractLayer  = "contract"  // what the operator's contract itself grants and guards
	ProviderLayer  = "provider"  // the hosts of the model's provider
	WorkspaceLayer = "workspace" // no rule: the path leaves the workspace or cannot be resolved
	CommandLayer   = "command"   // no rule: the shape of the command made an allow an ask, or it is no command
	HostLayer      = "host"      // no rule: it is no host
)

// Verdict is the answer, with the part of the policy that decided.
type Verdict struct {
	Effect Effect
	Rule   string // the rule's match as written; "" when the act's default decided
	Layer  string // the layer the rule stands in; "" when the act's default decided
	Part   string // what of the action decided: the path it resolves to, the word that made it ask; may be ""
	Repeat bool   // exec: a matching allow or ask rule says the command may run again after a crash
}

// stricter returns the stricter of two verdicts; of equal ones the first, unless only the second names a rule or a part.
// Whether the command may be repeated stays what the first says.
func stricter(v, other Verdict) Verdict {
	a, b := v.Effect.rank(), other.Effect.rank()
	better := v.Rule == "" && other.Rule != "" || v.Rule == "" && other.Rule == "" && v.Part == "" && other.Part != ""
	if b > a || b == a && a > 0 && better {
		other.Repeat = v.Repeat
		return other
	}
	return v
}
