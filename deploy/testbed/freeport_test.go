package testbed_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func TestPortsCanBeListenedOnAndAreNotThoseOfConnections(t *testing.T) {
	ports := testbed.Ports(t, 50)
	require.Len(t, ports, 50)
	seen := map[int]bool{}
	for _, port := range ports {
		require.False(t, seen[port])
		seen[port] = true
		require.Less(t, port, 32768)
	}
	address := testbed.Address(t)
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

// TestPortIsReservedAsLongAsItsTestRuns takes so many that some would be the same by chance.
func TestPortIsReservedAsLongAsItsTestRuns(t *testing.T) {
	first := testbed.Ports(t, 400)
	for _, port := range testbed.Ports(t, 400) {
		require.NotContains(t, first, port)
	}
}
