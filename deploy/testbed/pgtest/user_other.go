//go:build !linux

package pgtest

import "syscall"

// Attributes are none where the kernel offers no such thing: a test process that is
// killed leaves its server behind.
func Attributes() *syscall.SysProcAttr { return nil }

// Account is the user that a server runs as which refuses to run as root: another than ours
// where ours is root.
func Account() (uid, gid int, other bool) { return 0, 0, false }
