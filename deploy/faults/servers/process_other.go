//go:build !linux

package servers

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }

// Elsewhere a replica that is to be frozen is killed instead.
const (
	freeze = syscall.SIGKILL
	thaw   = syscall.SIGKILL
)
