package rig

import "syscall"

// dieWithParent has the system end a child should the bench itself be killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
