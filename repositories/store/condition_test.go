package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/store"
)

var errStale = errors.New("stale")

// only is a condition for one revision.
func only(revision string) store.Precondition {
	return func(current string) error {
		if current != revision {
			return errStale
		}
		return nil
	}
}

// Concurrent writers that read before they write do not undo each other's changes.
func TestConditionalChangesAtTheSameTimeLoseNothing(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		_, err := put(t, definitions, session, "r", `{"tools":[]}`)
		require.NoError(t, err)
		replicas := []*store.Store{definitions, storeOn(t, server, 'k')}
		const n = 12
		faults := make([]error, 2*n)
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() { faults[2*i] = addOrigin(t, replicas[i%2], fmt.Sprint("https://", i, ".example")) })
			group.Go(func() { faults[2*i+1] = addTool(t, replicas[i%2], fmt.Sprint("tool", i)) })
		}
		group.Wait()
		require.NoError(t, errors.Join(faults...))
		app, err := definitions.App(t.Context(), "clinic")
		require.NoError(t, err)
		require.Len(t, app.Settings.AllowedOrigins, n)
		found, err := definitions.Repository(t.Context(), session, "r")
		require.NoError(t, err)
		require.Len(t, found.Tools, n)
	})
}

func addOrigin(t *testing.T, definitions *store.Store, origin string) error {
	for {
		read, err := definitions.App(t.Context(), "clinic")
		if err != nil {
			return err
		}
		next := read.Clone()
		next.Settings.AllowedOrigins = append([]string{origin}, read.Settings.AllowedOrigins...)
		_, _, err = definitions.ChangeApp(t.Context(), store.AppChange{
			AppID: "clinic", If: only(read.Revision), Next: func(*repositories.App) (*repositories.App, error) { return next, nil },
		})
		if !errors.Is(err, errStale) {
			return err
		}
	}
}

func addTool(t *testing.T, definitions *store.Store, name string) error {
	for {
		read, err := definitions.Repository(t.Context(), session, "r")
		if err != nil {
			return err
		}
		change := store.ReplaceChange(read.Clone())
		change.If = only(read.Revision)
		change.Next = func(*repositories.Repository) (*repositories.Repository, error) {
			next := read.Clone()
			next.Tools = append(next.Tools, repositories.Tool{Name: name})
			return next, nil
		}
		if _, _, err = definitions.ChangeRepository(t.Context(), change); !errors.Is(err, errStale) {
			return err
		}
	}
}

func TestADeletionHasItsConditions(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		_, err := put(t, definitions, session, "r", `{"tools":[]}`)
		require.NoError(t, err)
		app, err := definitions.App(t.Context(), "clinic")
		require.NoError(t, err)
		repository, err := definitions.Repository(t.Context(), session, "r")
		require.NoError(t, err)
		require.ErrorIs(t, definitions.DeleteRepository(t.Context(), session, "r", only("other")), errStale)
		require.ErrorIs(t, definitions.DeleteApp(t.Context(), "clinic", only("other")), errStale)
		_, err = definitions.Repository(t.Context(), session, "r")
		require.NoError(t, err, "nothing has gone")
		require.NoError(t, definitions.DeleteRepository(t.Context(), session, "r", only(repository.Revision)))
		require.NoError(t, definitions.DeleteApp(t.Context(), "clinic", only(app.Revision)))
		_, err = definitions.App(t.Context(), "clinic")
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}
