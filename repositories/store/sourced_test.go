package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
)

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
		newer := repositoryOf(t, definitions, session, "newer")
		require.Empty(t, newer.Tools)

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
		app := repositories.Scope{AppID: "clinic"}
		put(t, definitions, app, "r", `{"from":"crm","options":{"template":true}}`)
		listed, err := definitions.SourcedFrom(t.Context(), "clinic", "crm")
		require.NoError(t, err)
		_, err = definitions.ReplaceTools(t.Context(), listed[0], offer(t, "find"))
		require.NoError(t, err)

		preview := func(body string) string {
			t.Helper()
			read, err := repositories.DecodeRepository(app, "r", []byte(body))
			require.NoError(t, err)
			would, err := definitions.PreviewRepository(t.Context(), store.ReplaceChange(read), "")
			require.NoError(t, err)
			return would
		}
		require.Equal(t, store.WouldLeave, preview(`{"from":"crm","options":{"template":true}}`))
		require.Equal(t, store.WouldUpdate, preview(`{"from":"erp","options":{"template":true}}`))
		put(t, definitions, app, "r", `{"from":"crm","options":{"template":true}}`)
		kept := repositoryOf(t, definitions, app, "r")
		require.NotNil(t, kept.Tool("find"))

		_, err = definitions.PutSession(t.Context(), &repositories.Session{AppID: "clinic", ID: "s2", Repositories: []string{"r"}})
		require.NoError(t, err)
		listed, err = definitions.SourcedFrom(t.Context(), "clinic", "crm")
		require.NoError(t, err)
		require.Len(t, listed, 2, "a copy of a template follows its source")
		erasing, err := definitions.BeginErasing(t.Context(), "clinic", "s2")
		require.NoError(t, err)
		require.NoError(t, erasing.Drop(t.Context()))
		require.Equal(t, []string{"/r"}, server.Client().HKeys(t.Context(), keyspace.KeysOf("clinic").Sourced()).Val())

		put(t, definitions, app, "r", `{"tools":[]}`)
		require.Empty(t, server.Client().HKeys(t.Context(), keyspace.KeysOf("clinic").Sourced()).Val())
		put(t, definitions, app, "r", `{"from":"erp"}`)
		require.NoError(t, definitions.DeleteApp(t.Context(), "clinic"))
		require.EqualValues(t, 0, server.Client().Exists(t.Context(), keyspace.KeysOf("clinic").Sourced()).Val())
	})
}
