//go:build !linux

package db

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func refuseNetworkDisk(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil // what cannot be asked is tried
	}
	if st.Flags&unix.MNT_LOCAL == 0 {
		return fmt.Errorf("%w (%s)", ErrNetwork, unix.ByteSliceToString(st.Fstypename[:]))
	}
	return nil
}
