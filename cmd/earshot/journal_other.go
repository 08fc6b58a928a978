//go:build !linux

package main

import "os"

// streamOf has no name for a file on systems without systemd.
func streamOf(*os.File) string { return "unknown" }
