package main

import (
	"fmt"
	"os"
	"syscall"
)

// streamOf names a file as JOURNAL_STREAM does: by its device and its inode.
func streamOf(file *os.File) string {
	info, err := file.Stat()
	if err != nil {
		return "unknown"
	}
	is := info.Sys().(*syscall.Stat_t) // as it is on Linux
	return fmt.Sprintf("%d:%d", is.Dev, is.Ino)
}
