//go:build !linux

package sandbox

// beTryer has nothing to try where nothing confines.
func beTryer(string) int { return 1 }
