package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
)

func TestGenerationsTellEarlierLivesOfANameApart(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		generation := func() store.Generation {
			found, err := definitions.Generation(t.Context(), "clinic", "s1")
			require.NoError(t, err)
			return found
		}
		_, err := definitions.Generation(t.Context(), "elsewhere", "s1")
		require.ErrorIs(t, err, repositories.ErrNotFound)
		first := generation()
		require.NotEmpty(t, first.App)
		require.Empty(t, first.Session)
		putApp(t, definitions, "clinic", `{"name":"replaced"}`)
		require.Equal(t, first, generation())

		require.NoError(t, definitions.CloseSession(t.Context(), "clinic", "s1"), "nobody has used it, but a token may be about")
		second := generation()
		require.Equal(t, first.App, second.App)
		require.NotEmpty(t, second.Session)
		require.NoError(t, definitions.CloseSession(t.Context(), "clinic", "s1"))
		require.NotEqual(t, second.Session, generation().Session)
		left := server.Client().PTTL(t.Context(), keyspace.KeysOf("clinic").Closed("s1")).Val()
		require.Greater(t, left, store.DefaultDeadRetention+24*time.Hour, "longer than what failed is kept")

		require.NoError(t, definitions.DeleteApp(t.Context(), "clinic"))
		putApp(t, definitions, "clinic", `{}`)
		require.NotEqual(t, first.App, generation().App)
	})
}

func TestSessionIsKnownAsClosedForAWhile(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, server *redistest.Server) {
		closed := func() bool {
			found, err := store.Closed(t.Context(), "clinic", "s1")
			require.NoError(t, err)
			return found
		}
		require.False(t, closed())
		require.NoError(t, store.CloseSession(t.Context(), "clinic", "s1"))
		require.True(t, closed())
		server.Client().HSet(t.Context(), keyspace.KeysOf("clinic").Closed("s1"), "at", time.Now().Add(-11*time.Minute).UnixMilli())
		require.False(t, closed())
	})
}
