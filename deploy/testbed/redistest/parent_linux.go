package redistest

import "syscall"

// dieWithParent has the kernel kill the child when the test process ends, even where
// that is killed itself.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
