package sandbox

// confinement is what is done to a command before it starts. It travels to the process that does it.
type confinement struct {
	Spaces   spaces
	Landlock int  // the version of landlock's rules to use; 0 is none
	Filter   bool // whether system calls are filtered (seccomp)
	Network  bool // whether the command may use the network
	Grants   []grant
	Hide     []string // files and directories beneath grants that must not be read; those that do not exist are passed over
	Tmp      string   // what /tmp is to be, when nothing granted lies in it
	Limits   Limits
}

// any reports whether there is anything to be done.
func (c *confinement) any() bool {
	return c != nil && (c.Spaces != spaces{} || c.Landlock > 0 || c.Filter)
}

// spaces are the Linux namespaces that a command gets of its own.
type spaces struct{ User, PID, Mount, Net, IPC bool }

// grant is a file or directory that a command may read, and run programs from, and all beneath it.
type grant struct {
	Path  string // absolute and clean; those that do not exist are passed over
	Write bool   // it may be written, too
}

// stageJob is what a stage is told: the command, and what to do to it first. In gob, on stageFD.
type stageJob struct {
	Path       string
	Argv       []string
	Dir        string
	Env        []string
	Confine    confinement
	Supervisor int    // pid of the parent
	Probe      *probe // only find out what can be done, and start nothing
}

// staged is what a stage says, in gob, on statusFD: how the start went, and later how the command ended. A stage that
// becomes the command says nothing when that succeeds: then the pipe is closed.
type staged struct {
	Failure  string // what could not be done
	NotFound string // why the program could not be started
	Ended    bool
	Status   uint32
	Probed   *probed
}

// stageName is the whole command line of a stage.
const stageName = "tillerman-stage"

// Descriptors a stage is started with, beside the command's own three.
const (
	stageFD  = 3 + iota // its job; its end means that the supervisor is gone
	statusFD            // what it says
)

// probe finds out what can be applied here, by applying it to a process of its own and trying what must fail then.
type probe struct {
	Outside   string            // a file that is not granted
	Blind     string            // a granted directory, to which landlock is not told to give access
	BlindFile string            // a file in it that everybody can read
	Spaces    map[string]string // the prober's namespaces, by name in /proc/self/ns
}

// probed is what was applied and held.
type probed struct {
	Failure  string // what the namespaces failed for
	Landlock int
	Filter   bool
}
