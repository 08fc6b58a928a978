package testbed_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func TestPortsCanBeListenedOnAndAreNotThoseOfConnections(t *testing.T) {
	ports, err := testbed.Ports(50)
	require.NoError(t, err)
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
