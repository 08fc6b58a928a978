package sqltest_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/sqltest"
)

var servers = map[string]func(testbed.TB) *sqltest.Server{"postgresql": sqltest.RunPostgres, "mariadb-server": sqltest.RunMySQL}

func TestServerKeepsItsDataOverStopAndStart(t *testing.T) {
	for name, run := range servers {
		t.Run(name, func(t *testing.T) {
			server := run(t)
			server.Exec("create table t (n int); insert into t values (1), (2)")
			server.Stop()
			server.Stop()
			_, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", server.Source().Port))
			require.Error(t, err)
			server.Start()
			require.Equal(t, 2, server.Count("select count(*) from t"))
		})
	}
}

func TestServerThatIsNotThereSaysSo(t *testing.T) {
	t.Setenv("EARSHOT_POSTGRES_BIN", "/nowhere")
	t.Setenv("EARSHOT_MARIADB_BIN", "/nowhere")
	for name, run := range servers {
		require.Contains(t, sqltest.Missing(), name)
		require.ErrorContains(t, testbed.Run(t.Context(), t.TempDir(), func(rig *testbed.Rig) error {
			run(rig)
			return nil
		}), "apt-get install "+name)
	}
}
