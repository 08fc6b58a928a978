package testbed

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

const (
	freeze = syscall.SIGSTOP
	thaw   = syscall.SIGCONT
)

// Attributes have the kernel kill a child when this process ends, even if it is killed.
func Attributes(unprivileged bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if uid, gid, other := Account(); unprivileged && other {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return a
}

// Account is the user of a process that is unprivileged; other is false if it is that of this process.
func Account() (uid, gid int, other bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUser := strconv.Atoi(found.Uid)
		gid, errGroup := strconv.Atoi(found.Gid)
		if errUser == nil && errGroup == nil {
			return uid, gid, true
		}
	}
	return 0, 0, false
}
