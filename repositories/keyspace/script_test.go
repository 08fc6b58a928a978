package keyspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
)

func TestAScriptNamesItsKeysAndArguments(t *testing.T) {
	t.Parallel()
	script := keyspace.NewReadingScript("local function both(a, b) return a .. ' ' .. b end", `
KEYS first second
ARGV id
ARGV token
return both(@second, $token) .. both(@first, $id) .. ARGV[3]
`)
	server := redistest.Mini(t)
	db := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}
	reply, err := script.Run(t.Context(), db, []string{"k1", "k2"}, "a1", "a2", "a3")
	require.NoError(t, err)
	require.Equal(t, "k2 a2k1 a1a3", reply)
	require.PanicsWithValue(t, "keyspace: a script names $tokens, which is none of its keys and arguments", func() {
		keyspace.NewScript("ARGV token\nreturn $tokens")
	})
}
