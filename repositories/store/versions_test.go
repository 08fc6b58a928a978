package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
)

var ofClinic = repositories.Scope{AppID: "clinic"}

func numbers(t *testing.T, s *store.Store, id string) (all []int) {
	items, next, err := s.Versions(t.Context(), "clinic", id, 0, 100)
	require.NoError(t, err)
	require.Zero(t, next)
	for _, one := range items {
		all = append(all, one.Number)
	}
	return all
}

func TestVersionsAreBoundedInNumberAndBytesAndEndAfterTheirRepository(t *testing.T) {
	stores(t, func(t *testing.T, s *store.Store, server *redistest.Server) {
		k := keyspace.KeysOf("clinic")
		lives := func(id string) time.Duration {
			return server.Client().PTTL(t.Context(), keyspace.Versions(k, id)).Val()
		}
		long := func(n int) string { return `{"tools":[{"name":"a","description":"` + strings.Repeat("x", n) + `"}]}` }
		for range 5 {
			_, err := put(t, s, ofClinic, "r", long(500<<10))
			require.NoError(t, err)
		}
		require.Equal(t, []int{5, 4, 3, 2}, numbers(t, s, "r"), "2 MiB are kept")
		require.Negative(t, lives("r"), "as long as the repository is there")
		require.NoError(t, s.DeleteRepository(t.Context(), ofClinic, "r"))
		require.InDelta(t, (30 * 24 * time.Hour).Hours(), lives("r").Hours(), 1)
		_, err := put(t, s, ofClinic, "r", `{"tools":[]}`)
		require.NoError(t, err)
		require.Negative(t, lives("r"), "it is there again")

		_, err = put(t, s, ofClinic, "once", `{"options":{"triggerOnce":true},"tools":[{"name":"a"}]}`)
		require.NoError(t, err)
		require.Positive(t, lives("once"), "it goes as it fires")
		for i := range 101 {
			id := fmt.Sprint("gone", i)
			_, err := put(t, s, ofClinic, id, `{"tools":[]}`)
			require.NoError(t, err)
			require.NoError(t, s.DeleteRepository(t.Context(), ofClinic, id))
		}
		_, _, err = s.Versions(t.Context(), "clinic", "once", 0, 1)
		require.ErrorIs(t, err, repositories.ErrNotFound, "those of 100 repositories that are gone are kept")
		require.Equal(t, []int{2, 1}, numbers(t, s, "gone100"))
	})
}

// A repository from before versions existed can be restored to its previous state.
func TestTheFirstVersionIsWhatWasThereBefore(t *testing.T) {
	stores(t, func(t *testing.T, s *store.Store, server *redistest.Server) {
		_, err := put(t, s, ofClinic, "r", `{"tools":[{"name":"before"}]}`)
		require.NoError(t, err)
		k := keyspace.KeysOf("clinic")
		require.NoError(t, server.Client().Del(t.Context(), keyspace.Versions(k, "r"), keyspace.Versioned(k)).Err())
		_, err = put(t, s, ofClinic, "r", `{"tools":[{"name":"after"}]}`)
		require.NoError(t, err)
		require.Equal(t, []int{2, 1}, numbers(t, s, "r"))
		_, first, err := s.Version(t.Context(), "clinic", "r", 1)
		require.NoError(t, err)
		require.Equal(t, "before", first.Tools[0].Name)
		change, err := s.RestoreChange(t.Context(), "clinic", "r", 1)
		require.NoError(t, err)
		stored, _, err := s.ChangeRepository(t.Context(), change)
		require.NoError(t, err)
		require.Equal(t, "before", stored.Tools[0].Name)
	})
}
