package testbed

import (
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
)

// Free ports are looked for below those that systems give to outgoing connections (from 32768 on
// Linux, from 49152 on others). Any connection of the machine may take one of those between the
// moment at which it is found free and the moment at which the server listens.
const (
	lowest, highest = 10_000, 32_767
	attempts        = 1_000
)

// Ports returns ports of 127.0.0.1 that are free at the moment, and likely to stay so until the caller's
// servers take them; none of them twice.
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
