package main

import (
	"fmt"
	"os"
	"syscall"
)

// streamOf returns a file's device and inode, as in JOURNAL_STREAM.
func streamOf(file *os.File) string {
	info, err := file.Stat()
	if err != nil {
		return "unknown"
	}
	is := info.Sys().(*syscall.Stat_t) // always on Linux
	return fmt.Sprintf("%d:%d", is.Dev, is.Ino)
}
