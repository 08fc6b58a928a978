//go:build !linux

package systemd

import "os"

// streamOf has no name for a file where no systemd runs.
func streamOf(*os.File) string { return "unknown" }
