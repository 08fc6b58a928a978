package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
)

func TestSealedCredentialDoesNotOpenForAnotherDestination(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, server *redistest.Server) {
		key := keyspace.KeysOf("clinic").App()
		record := server.Client().HGet(t.Context(), key, "record").Val()
		require.Contains(t, record, `login.example`)
		moved := strings.ReplaceAll(record, "login.example", "evil.example")
		require.NoError(t, server.Client().HSet(t.Context(), key, "record", moved).Err())
		app, err := storeOn(t, server, 'k').App(t.Context(), "clinic")
		require.NoError(t, err)
		require.True(t, app.Modules[0].Secret.IsSealed(), "who writes to Redis moves no credential")
		require.NotContains(t, app.Modules[0].Secret.Reveal(), "module-secret")
	})
}
