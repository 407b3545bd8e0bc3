package core

import (
	"fmt"
	"os"
	"syscall"
)

// inode tells a file from another of the same name and size.
func inode(info os.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}
