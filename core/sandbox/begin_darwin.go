package sandbox

import "os"

// begin starts a job's command. The system has nothing here that confines it.
func begin(j job, adopted bool, input, output *os.File) (*begun, error) {
	return beginPlain(j, adopted, input, output)
}

// stage would confine a command.
func stage() int { return 1 }

// findBackend finds nothing: a process tree that can be ended and a clean environment are all there is here.
func findBackend() backend { return backend{} }
