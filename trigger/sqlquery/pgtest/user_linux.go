package pgtest

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// attributes have the kernel kill a child when the test process ends, and give it
// another user than root.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if uid, gid, other := account(); other {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return a
}

// account is the user that a child runs as, where it is not ours.
func account() (uid, gid int, other bool) {
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
