//go:build !linux

package pgtest

import "syscall"

// attributes are none where the kernel offers no such thing: a test process that is
// killed leaves its server behind.
func attributes() *syscall.SysProcAttr { return nil }

// account is the user that a child runs as, where it is not ours.
func account() (uid, gid int, other bool) { return 0, 0, false }
