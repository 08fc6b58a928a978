package testbed

import (
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
)

// Ports are below those of outgoing connections (from 32768 on Linux, 49152 elsewhere), one of which any connection
// may take before the server listens.
const (
	lowest, highest = 10_000, 32_767
	attempts        = 1_000
)

// Ports returns different ports of 127.0.0.1 that are free, and likely to stay so until the caller's servers take
// them.
func Ports(t TB, count int) (ports []int) {
	t.Helper()
	for range attempts {
		port := lowest + rand.IntN(highest-lowest+1)
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
		if len(ports) == count {
			return ports
		}
	}
	t.Fatalf("found only %d of %d free ports from %d to %d", len(ports), count, lowest, highest)
	return nil
}

// Address returns a free port as 127.0.0.1:port.
func Address(t TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Ports(t, 1)[0]))
}
