//go:build !linux

package redistest

import "syscall"

// dieWithParent does nothing where the kernel offers no such thing: a test process
// that is killed leaves its servers behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
