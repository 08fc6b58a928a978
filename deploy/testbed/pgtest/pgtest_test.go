package pgtest_test

import (
	"net"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/pgtest"
)

func TestServerKeepsItsDataOverStopAndStart(t *testing.T) {
	server := pgtest.Run(t)
	server.Exec("create table t (n int); insert into t values (1), (2)")
	server.Stop()
	server.Stop()
	_, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(server.Port())))
	require.Error(t, err)
	server.Start()
	require.Equal(t, 2, server.Count("select count(*) from t"))
}

func TestMissingServerSkipsUnlessServersAreRequired(t *testing.T) {
	t.Setenv("EARSHOT_POSTGRES_BIN", "/nowhere")
	t.Setenv("EARSHOT_REQUIRE_SERVERS", "")
	require.False(t, pgtest.Installed())
	got := observe(t)
	require.True(t, got.skipped)
	require.Contains(t, got.text, "apt-get install postgresql")

	t.Setenv("EARSHOT_REQUIRE_SERVERS", "1")
	got = observe(t)
	require.True(t, got.failed)
	require.Contains(t, got.text, "EARSHOT_POSTGRES_BIN")
}

// observed is a test that may be skipped or fail without ours doing so.
type observed struct {
	testing.TB
	skipped, failed bool
	text            string
}

func observe(t *testing.T) *observed {
	o := &observed{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pgtest.Run(o)
	}()
	<-ended
	return o
}

func (o *observed) Skip(args ...any) { o.skipped, o.text = true, args[0].(string); runtime.Goexit() }

func (o *observed) Fatal(args ...any) { o.failed, o.text = true, args[0].(string); runtime.Goexit() }
