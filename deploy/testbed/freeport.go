package testbed

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Ports are below those of outgoing connections (from 32768 on Linux, 49152 elsewhere), which could take one before the server.
const (
	lowest, highest = 10_000, 32_767
	attempts        = 1_000
)

// reserved is the folder with a file for each port. A lock on the file reserves the port among the tests of all packages.
var reserved = filepath.Join(os.TempDir(), "earshot-test-ports")

// Ports returns different ports of 127.0.0.1 that are free. No other test gets one of them before this one ends.
func Ports(t TB, count int) (ports []int) {
	t.Helper()
	Must(t, "make the folder of ports", os.MkdirAll(reserved, 0o777))
	for range attempts {
		port := lowest + rand.IntN(highest-lowest+1)
		file, err := os.OpenFile(filepath.Join(reserved, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666)
		Must(t, "open the file of a port", err)
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			err = nobodyListens(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		}
		if err != nil { // another has it
			_ = file.Close()
			continue
		}
		t.Cleanup(func() { _ = file.Close() })
		if ports = append(ports, port); len(ports) == count {
			return ports
		}
	}
	t.Fatalf("found only %d of %d free ports from %d to %d", len(ports), count, lowest, highest)
	return nil
}

// nobodyListens connects, and does not listen: a process started at that moment would inherit the listener until it executes.
func nobodyListens(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	switch {
	case err == nil:
		return errors.Join(conn.Close(), errors.New("somebody listens at "+address))
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil
	default:
		return err
	}
}

// Address returns a free port as 127.0.0.1:port.
func Address(t TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Ports(t, 1)[0]))
}
