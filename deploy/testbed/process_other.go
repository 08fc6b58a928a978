//go:build !linux

package testbed

import "syscall"

// Only Linux is asked to freeze a process: elsewhere it is killed.
const (
	freeze = syscall.SIGKILL
	thaw   = syscall.SIGKILL
)

// Attributes are none: children outlive a process that is killed.
func Attributes(bool) *syscall.SysProcAttr { return nil }

// Account is the user of a process that is unprivileged; other is false if it is that of this process.
func Account() (uid, gid int, other bool) { return 0, 0, false }
