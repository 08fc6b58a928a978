package mysqltest_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/mysqltest"
)

func TestMissingServerSkipsUnlessServersAreRequired(t *testing.T) {
	t.Setenv("EARSHOT_MARIADB_BIN", "/nowhere")
	require.False(t, mysqltest.Installed())
	for required, fails := range map[string]bool{"": false, "1": true} {
		t.Setenv("EARSHOT_REQUIRE_SERVERS", required)
		got := &observed{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			mysqltest.Run(got)
		}()
		<-ended
		require.Equal(t, fails, got.failed)
		require.Contains(t, got.text, "apt-get install mariadb-server")
	}
}

// observed is a test that may be skipped or fail without ours doing so.
type observed struct {
	testing.TB
	failed bool
	text   string
}

func (o *observed) Skip(args ...any) { o.text = args[0].(string); runtime.Goexit() }

func (o *observed) Fatal(args ...any) {
	o.failed, o.text = true, args[0].(string)
	runtime.Goexit()
}
