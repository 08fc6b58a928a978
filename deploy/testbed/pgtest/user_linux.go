package pgtest

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Attributes of a child have the kernel kill it when the test process ends, and give it
// another user than root.
func Attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if uid, gid, other := Account(); other {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return a
}

// Account is the user that a server runs as which refuses to run as root: another than ours
// where ours is root.
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
