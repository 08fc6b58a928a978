package testbed

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Free ports are looked for below those that systems give to outgoing connections (from 32768 on
// Linux, from 49152 on others). Any connection of the machine may take one of those between the
// moment at which it is found free and the moment at which the server listens.
const (
	lowest, highest = 10_000, 32_767
	attempts        = 1_000
)

// Port returns a port of 127.0.0.1 that is free at the moment, and likely to stay so until the
// caller's server takes it.
func Port() (int, error) {
	var last error
	for range attempts {
		port := lowest + rand.IntN(highest-lowest+1)
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, listener.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("no free port found from %d to %d: %w", lowest, highest, last)
}

// Ports returns several free ports, none of them twice.
func Ports(count int) ([]int, error) {
	given := map[int]bool{}
	var ports []int
	for len(ports) < count {
		port, err := Port()
		if err != nil {
			return nil, err
		}
		if !given[port] {
			ports = append(ports, port)
		}
		given[port] = true
	}
	return ports, nil
}

// Address returns a free port as 127.0.0.1:port.
func Address(t TB) string {
	t.Helper()
	port, err := Port()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
