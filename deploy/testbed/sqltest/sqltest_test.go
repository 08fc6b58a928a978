package sqltest_test

import (
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/sqltest"
)

var servers = map[string]func(testing.TB) *sqltest.Server{"postgresql": sqltest.RunPostgres, "mariadb-server": sqltest.RunMySQL}

func TestServerKeepsItsDataOverStopAndStart(t *testing.T) {
	for name, run := range servers {
		t.Run(name, func(t *testing.T) {
			server := run(t)
			server.Exec("create table t (n int); insert into t values (1), (2)")
			server.Stop()
			server.Stop()
			_, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", server.Source("db").Port))
			require.Error(t, err)
			server.Start()
			require.Equal(t, 2, server.Count("select count(*) from t"))
		})
	}
}

func TestMissingServerSkipsUnlessServersAreRequired(t *testing.T) {
	for name, run := range servers {
		t.Setenv("EARSHOT_POSTGRES_BIN", "/nowhere")
		t.Setenv("EARSHOT_MARIADB_BIN", "/nowhere")
		require.Contains(t, sqltest.Missing(), name)
		for required, fails := range map[string]bool{"": false, "1": true} {
			t.Setenv("EARSHOT_REQUIRE_SERVERS", required)
			got := &observed{TB: t}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				run(got)
			}()
			<-ended
			require.Equal(t, fails, got.failed)
			require.Contains(t, got.text, "apt-get install "+name)
		}
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
