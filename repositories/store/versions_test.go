package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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
			put(t, s, ofClinic, "r", long(500<<10))
		}
		require.Equal(t, []int{5, 4, 3, 2}, numbers(t, s, "r"), "2 MiB are kept")
		require.Negative(t, lives("r"), "as long as the repository is there")
		require.NoError(t, s.DeleteRepository(t.Context(), ofClinic, "r"))
		require.InDelta(t, (30 * 24 * time.Hour).Hours(), lives("r").Hours(), 1)
		put(t, s, ofClinic, "r", `{"tools":[]}`)
		require.Negative(t, lives("r"), "it is there again")

		put(t, s, ofClinic, "once", `{"options":{"triggerOnce":true},"tools":[{"name":"a"}]}`)
		require.Positive(t, lives("once"), "it goes as it fires")
		for i := range 101 {
			id := fmt.Sprint("gone", i)
			put(t, s, ofClinic, id, `{"tools":[]}`)
			require.NoError(t, s.DeleteRepository(t.Context(), ofClinic, id))
		}
		_, _, err := s.Versions(t.Context(), "clinic", "once", 0, 1)
		require.ErrorIs(t, err, repositories.ErrNotFound, "those of 100 repositories that are gone are kept")
		require.Equal(t, []int{2, 1}, numbers(t, s, "gone100"))
	})
}

// A repository from before versions existed can be restored to its previous state.
func TestTheFirstVersionIsWhatWasThereBefore(t *testing.T) {
	stores(t, func(t *testing.T, s *store.Store, server *redistest.Server) {
		put(t, s, ofClinic, "r", `{"tools":[{"name":"before"}]}`)
		k := keyspace.KeysOf("clinic")
		require.NoError(t, server.Client().Del(t.Context(), keyspace.Versions(k, "r"), keyspace.Versioned(k)).Err())
		put(t, s, ofClinic, "r", `{"tools":[{"name":"after"}]}`)
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

var errStale = errors.New("stale")

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
		put(t, definitions, session, "r", `{"tools":[]}`)
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
		require.Len(t, appOf(t, definitions, "clinic").Settings.AllowedOrigins, n)
		require.Len(t, repositoryOf(t, definitions, session, "r").Tools, n)
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
		next := read.Clone()
		next.Tools = append(next.Tools, repositories.Tool{Name: name})
		change := store.ReplaceChange(next)
		change.If = only(read.Revision)
		if _, _, err = definitions.ChangeRepository(t.Context(), change); !errors.Is(err, errStale) {
			return err
		}
	}
}

func TestADeletionHasItsConditions(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		put(t, definitions, session, "r", `{"tools":[]}`)
		app := appOf(t, definitions, "clinic")
		repository := repositoryOf(t, definitions, session, "r")
		require.ErrorIs(t, definitions.DeleteRepository(t.Context(), session, "r", only("other")), errStale)
		require.ErrorIs(t, definitions.DeleteApp(t.Context(), "clinic", only("other")), errStale)
		_, err := definitions.Repository(t.Context(), session, "r")
		require.NoError(t, err, "nothing has gone")
		require.NoError(t, definitions.DeleteRepository(t.Context(), session, "r", only(repository.Revision)))
		require.NoError(t, definitions.DeleteApp(t.Context(), "clinic", only(app.Revision)))
		_, err = definitions.App(t.Context(), "clinic")
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

func TestPreviewOfAnAppComparesCredentialsAndWritesNothing(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		const body = `{"name":"A","modules":[{"moduleId":"m","secret":"SECRET","tokenUrl":"https://id.example.org/"}]}`
		preview := func(secret string) string {
			app, err := repositories.DecodeApp("a", []byte(strings.ReplaceAll(body, "SECRET", secret)))
			require.NoError(t, err)
			operation, err := definitions.PreviewApp(t.Context(), store.AppChange{AppID: "a", Next: func(*repositories.App) (*repositories.App, error) { return app, nil }}, "")
			require.NoError(t, err)
			return operation
		}
		require.Equal(t, store.WouldCreate, preview("one"))
		require.Equal(t, store.WouldCreate, preview("one"), "the first has written nothing")
		putApp(t, definitions, "a", strings.ReplaceAll(body, "SECRET", "one"))
		for _, step := range [][2]string{
			{"one", store.WouldLeave}, {"***", store.WouldLeave}, {"two", store.WouldUpdate}, {"one", store.WouldLeave},
		} {
			require.Equal(t, step[1], preview(step[0]), step[0])
		}
	})
}

func TestPreviewOfARepositoryComparesCredentialsAndFailsAsTheWriteWould(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		preview := func(id, body string) (string, error) {
			repository, err := repositories.DecodeRepository(session, id, []byte(body))
			require.NoError(t, err)
			return definitions.PreviewRepository(t.Context(), store.ReplaceChange(repository), "")
		}
		put(t, definitions, session, "r", withCredentials)
		stored := repositoryOf(t, definitions, session, "r")
		for body, want := range map[string]string{
			withCredentials: store.WouldLeave,
			strings.ReplaceAll(withCredentials, "bearer-secret", "***"):                                store.WouldLeave,
			strings.ReplaceAll(withCredentials, "bearer-secret", "other"):                              store.WouldUpdate,
			strings.ReplaceAll(withCredentials, "header-secret", "other"):                              store.WouldUpdate,
			strings.ReplaceAll(withCredentials, `"X-Desk":"A"`, `"X-Desk":"B"`):                        store.WouldUpdate,
			strings.ReplaceAll(withCredentials, `{"tools"`, `{"options":{"triggerOnce":true},"tools"`): store.WouldUpdate,
		} {
			operation, err := preview("r", body)
			require.NoError(t, err)
			require.Equal(t, want, operation, body)
		}
		operation, err := preview("other", withCredentials)
		require.NoError(t, err)
		require.Equal(t, store.WouldCreate, operation)
		again := repositoryOf(t, definitions, session, "r")
		require.Equal(t, stored.Revision, again.Revision)

		_, err = preview("r", `{"tools":[{"name":"a","url":"https://x.example","request":{"moduleId":"none"}}]}`)
		require.ErrorContains(t, err, `the app has no module "none"`)
		_, err = preview("other", strings.ReplaceAll(withCredentials, "bearer-secret", "***"))
		require.ErrorContains(t, err, "none is stored here")
	})
}

const withCRM = `{"sources":[{"name":"crm","type":"mcp","url":"https://crm.example/mcp","headers":{"X-Api-Key":"sealed-key"},"refresh":"5s"},
  {"name":"erp","type":"mcp","url":"https://erp.example/mcp"}]}`

// offer returns a server's tools as tools of the source crm.
func offer(t *testing.T, names ...string) []repositories.Tool {
	t.Helper()
	var list []repositories.OfferedTool
	for _, name := range names {
		list = append(list, repositories.OfferedTool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)})
	}
	tools, notes := (&repositories.Source{Name: "crm"}).Offered(list, 0)
	require.Empty(t, notes)
	return tools
}

// dueNow makes a refresh due, as time would.
func dueNow(t *testing.T, server *redistest.Server, app, source string) {
	t.Helper()
	key := keyspace.KeysOf(app).Refreshes()
	require.EqualValues(t, 0, server.Client().ZAddXX(t.Context(), key, redis.Z{Score: 1, Member: app + "/" + source}).Val())
}

func TestASourceIsLookedAtByOneAtATime(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		putApp(t, definitions, "clinic", withCRM)
		put(t, definitions, session, "r", `{"from":"crm"}`)
		due := func() []store.Refresh {
			t.Helper()
			found, err := definitions.DueRefreshes(t.Context(), time.Minute, 10)
			require.NoError(t, err)
			return found
		}
		require.Len(t, due(), 2, "what an app was given is looked at at once")
		require.Empty(t, due(), "they are leased")
		dueNow(t, server, "clinic", "crm")
		first := due()
		require.Len(t, first, 1)
		require.Equal(t, "crm", first[0].Source)

		put(t, definitions, session, "other", `{"from":"crm"}`)
		at := server.Client().ZScore(t.Context(), keyspace.KeysOf("clinic").Refreshes(), "clinic/crm").Val()
		require.NoError(t, definitions.EndRefresh(t.Context(), first[0], time.Hour))
		require.Equal(t, at, server.Client().ZScore(t.Context(), keyspace.KeysOf("clinic").Refreshes(), "clinic/crm").Val(), "what was put meanwhile says when")

		dueNow(t, server, "clinic", "crm")
		dueNow(t, server, "clinic", "erp")
		for _, one := range due() {
			require.NoError(t, definitions.EndRefresh(t.Context(), one, 0))
		}
		require.Equal(t, []string{"clinic/crm"}, server.Client().ZRange(t.Context(), keyspace.KeysOf("clinic").Refreshes(), 0, -1).Val(), "nothing is from the other")

		damaged := keyspace.PartitionKeys((keyspace.PartitionOf("clinic") + 1) % keyspace.Partitions).Refreshes()
		require.NoError(t, server.Client().Set(t.Context(), damaged, "x", 0).Err())
		dueNow(t, server, "clinic", "crm")
		found, err := definitions.DueRefreshes(t.Context(), time.Minute, 10)
		require.Error(t, err)
		require.Len(t, found, 1, "that one partition cannot be read is told, and does not hold up the others")
	})
}

func TestToolsOfASourceAreReplacedUnlessSomebodyWasFaster(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		putApp(t, definitions, "clinic", withCRM)
		for _, id := range []string{"r", "fired", "newer"} {
			put(t, definitions, session, id, `{"from":"crm","options":{"triggerOnce":true}}`)
		}
		listed, err := definitions.SourcedFrom(t.Context(), "clinic", "crm")
		require.NoError(t, err)
		require.Len(t, listed, 3)
		keys := keyspace.KeysOf("clinic")
		require.EqualValues(t, 1, server.Client().HDel(t.Context(), keys.Repos("s1"), "fired").Val(), "as a commit takes it")
		put(t, definitions, session, "newer", `{"from":"crm","options":{"exclusive":true}}`)

		replace := func(of store.Sourced, names ...string) bool {
			t.Helper()
			changed, err := definitions.ReplaceTools(t.Context(), of, offer(t, names...))
			require.NoError(t, err)
			return changed
		}
		idle := redis.Z{Score: 4e12, Member: "clinic/s1"}
		require.NoError(t, server.Client().ZAdd(t.Context(), keys.Idle(), idle).Err())
		for _, one := range listed {
			require.Equal(t, one.ID == "r", replace(one, "find", "add"), one.ID)
		}
		require.Equal(t, idle.Score, server.Client().ZScore(t.Context(), keys.Idle(), "clinic/s1").Val(), "a look is no use of the session")
		_, err = definitions.Repository(t.Context(), session, "fired")
		require.ErrorIs(t, err, repositories.ErrNotFound, "what fired does not come back")
		require.Empty(t, repositoryOf(t, definitions, session, "newer").Tools)

		listed, err = definitions.SourcedFrom(t.Context(), "clinic", "crm")
		require.NoError(t, err)
		require.Len(t, listed, 2)
		require.NotContains(t, server.Client().HKeys(t.Context(), keys.Sourced()).Val(), "s1/fired")
		before := repositoryOf(t, definitions, session, "r")
		require.NotNil(t, before.Tool("find"))
		for _, one := range listed {
			require.Equal(t, one.ID == "newer", replace(one, "find", "add"), "the same tools are no news")
		}
		listed, err = definitions.SourcedFrom(t.Context(), "clinic", "crm")
		require.NoError(t, err)
		for _, one := range listed {
			require.True(t, replace(one, "add"))
		}
		after := repositoryOf(t, definitions, session, "r")
		require.NotEqual(t, before.Generation, after.Generation, "what was matched does not fire what is gone")
	})
}

func TestARepositoryKeepsTheToolsOfItsSource(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		putApp(t, definitions, "clinic", withCRM)
		put(t, definitions, ofClinic, "r", `{"from":"crm","options":{"template":true}}`)
		listed, err := definitions.SourcedFrom(t.Context(), "clinic", "crm")
		require.NoError(t, err)
		_, err = definitions.ReplaceTools(t.Context(), listed[0], offer(t, "find"))
		require.NoError(t, err)

		preview := func(body string) string {
			t.Helper()
			read, err := repositories.DecodeRepository(ofClinic, "r", []byte(body))
			require.NoError(t, err)
			would, err := definitions.PreviewRepository(t.Context(), store.ReplaceChange(read), "")
			require.NoError(t, err)
			return would
		}
		require.Equal(t, store.WouldLeave, preview(`{"from":"crm","options":{"template":true}}`))
		require.Equal(t, store.WouldUpdate, preview(`{"from":"erp","options":{"template":true}}`))
		put(t, definitions, ofClinic, "r", `{"from":"crm","options":{"template":true}}`)
		require.NotNil(t, repositoryOf(t, definitions, ofClinic, "r").Tool("find"))

		_, err = definitions.PutSession(t.Context(), &repositories.Session{AppID: "clinic", ID: "s2", Repositories: []string{"r"}})
		require.NoError(t, err)
		listed, err = definitions.SourcedFrom(t.Context(), "clinic", "crm")
		require.NoError(t, err)
		require.Len(t, listed, 2, "a copy of a template follows its source")
		erasing, err := definitions.BeginErasing(t.Context(), "clinic", "s2")
		require.NoError(t, err)
		require.NoError(t, erasing.Drop(t.Context()))
		require.Equal(t, []string{"/r"}, server.Client().HKeys(t.Context(), keyspace.KeysOf("clinic").Sourced()).Val())

		put(t, definitions, ofClinic, "r", `{"tools":[]}`)
		require.Empty(t, server.Client().HKeys(t.Context(), keyspace.KeysOf("clinic").Sourced()).Val())
		put(t, definitions, ofClinic, "r", `{"from":"erp"}`)
		require.NoError(t, definitions.DeleteApp(t.Context(), "clinic"))
		require.EqualValues(t, 0, server.Client().Exists(t.Context(), keyspace.KeysOf("clinic").Sourced()).Val())
	})
}
