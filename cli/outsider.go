package cli

import "tillerman/core/sandbox"

// outsider refuses to steer a run from inside one: an agent's command must not decide about its own agent. A command that
// hides its descent, and can write the store, is not found out by this; the sandbox keeps the store from it.
func (a *app) outsider() error {
	if sandbox.Inside(a.Environ) {
		return &usageError{"this process was started by an agent's command; runs are steered from outside"}
	}
	return nil
}
