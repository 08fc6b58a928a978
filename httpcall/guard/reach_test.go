package guard_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/httpcall/guard"
)

func TestReachTellsNoAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	open, err := guard.ParsePolicy("allow")
	require.NoError(t, err)
	require.NoError(t, guard.Reach(open)(t.Context(), "localhost", port))
	closed, err := guard.ParsePolicy("deny")
	require.NoError(t, err)
	err = guard.Reach(closed)(t.Context(), "localhost", port)
	require.ErrorContains(t, err, "must not reach localhost")
	require.NotContains(t, err.Error(), "127.")
	require.NotContains(t, err.Error(), "::1")

	require.NoError(t, listener.Close())
	require.EqualError(t, guard.Reach(open)(t.Context(), "localhost", port), "connection refused")
	require.EqualError(t, guard.Reach(open)(t.Context(), "no-such-host.invalid", "80"), "its name is not known")
}
