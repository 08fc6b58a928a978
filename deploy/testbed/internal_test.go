package testbed

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPortAtWhichSomebodyListensIsNotFree(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.ErrorContains(t, nobodyListens(listener.Addr().String()), "somebody listens")
	require.NoError(t, listener.Close())
	require.NoError(t, nobodyListens(listener.Addr().String()))
}
