package db

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// networkDisks are the statfs types on which SQLite's locks cannot be trusted (linux/magic.h, and cifs, smb2).
var networkDisks = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	0xff534d42:            "CIFS",
	0xfe534d42:            "SMB2",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
}

func refuseNetworkDisk(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil // what cannot be asked is tried
	}
	if name, ok := networkDisks[int64(uint32(st.Type))]; ok {
		return fmt.Errorf("%w (%s)", ErrNetwork, name)
	}
	return nil
}
