package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/cloudevent"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

var session = repositories.Scope{AppID: "clinic", SessionID: "s1"}

// stores runs a test on every supported store.
func stores(t *testing.T, test func(t *testing.T, store *store.Store, server *redistest.Server)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		store := storeOn(t, server, 'k')
		putApp(t, store, "clinic", `{"name":"Clinic","modules":[{"moduleId":"calendar","secret":"module-secret","tokenUrl":"https://login.example/token"}]}`)
		test(t, store, server)
	})
}

func storeOn(t *testing.T, server *redistest.Server, key byte, old ...[]byte) *store.Store {
	sealer, err := store.NewSealer([]byte(strings.Repeat(string(key), store.KeySize)), old...)
	require.NoError(t, err)
	db := &keyspace.DB{UniversalClient: server.Connect(redis.UniversalOptions{DialerRetries: 1}), Embedded: server.Embedded()}
	return store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour})
}

func putApp(t *testing.T, store *store.Store, id, body string) bool {
	t.Helper()
	app, err := repositories.DecodeApp(id, []byte(body))
	require.NoError(t, err)
	created, err := store.PutApp(t.Context(), app)
	require.NoError(t, err)
	return created
}

func put(t *testing.T, store *store.Store, scope repositories.Scope, id, body string) (created bool) {
	t.Helper()
	created, err := tryPut(t, store, scope, id, body)
	require.NoError(t, err)
	return created
}

func repositoryOf(t *testing.T, store *store.Store, scope repositories.Scope, id string) *repositories.Repository {
	t.Helper()
	found, err := store.Repository(t.Context(), scope, id)
	require.NoError(t, err, id)
	return found
}

func appOf(t *testing.T, store *store.Store, id string) *repositories.App {
	t.Helper()
	found, err := store.App(t.Context(), id)
	require.NoError(t, err, id)
	return found
}

func tryPut(t *testing.T, store *store.Store, scope repositories.Scope, id, body string) (created bool, err error) {
	t.Helper()
	repository, err := repositories.DecodeRepository(scope, id, []byte(body))
	require.NoError(t, err)
	return store.PutRepository(t.Context(), repository)
}

const withCredentials = `{"tools":[{"name":"book","url":"https://x.example","request":{"auth":"bearer",
  "bearer":{"clientType":"client_credentials","clientId":"c","clientSecret":"bearer-secret","tokenUrl":"https://login.example/token"},
  "headers":{"X-Api-Key":"header-secret","X-Desk":"A"}}}]}`

func TestRepositoryIsCreatedReplacedAndDeleted(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		for i, created := range []bool{true, false} {
			got := put(t, definitions, session, "r", `{"tools":[{"name":"a"}]}`)
			require.Equal(t, created, got, "round %d", i)
		}
		require.NotNil(t, repositoryOf(t, definitions, session, "r").Tool("a"))
		require.NoError(t, definitions.DeleteRepository(t.Context(), session, "r"))
		require.ErrorIs(t, definitions.DeleteRepository(t.Context(), session, "r"), repositories.ErrNotFound)
		_, err := definitions.Repository(t.Context(), session, "r")
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

// TestDefinitionsThatAreWrittenAnewLeaveTheMemory writes more than the cache may hold.
func TestDefinitionsThatAreWrittenAnewLeaveTheMemory(t *testing.T) {
	server := redistest.Run(t)
	definitions := storeOn(t, server, 'k')
	putApp(t, definitions, "clinic", `{}`)
	var tools []string
	for i := range 250 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","description":%q}`, i, strings.Repeat("x", 3500)))
	}
	body := `{"tools":[` + strings.Join(tools, ",") + `]}`
	put(t, definitions, session, "r", body)
	first := weak.Make(repositoryOf(t, definitions, session, "r"))
	for range 40 {
		put(t, definitions, session, "r", body)
		repositoryOf(t, definitions, session, "r")
	}
	runtime.GC()
	require.True(t, first.Value() == nil, "it is kept")
	runtime.KeepAlive(definitions)
}

func TestRegistrationIsANewGenerationAndAPatchIsNot(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, _ *redistest.Server) {
		generation := func() string { return repositoryOf(t, store, session, "r").Generation }
		put(t, store, session, "r", `{"tools":[{"name":"a"}]}`)
		first := generation()
		put(t, store, session, "r", `{"tools":[{"name":"a"}]}`)
		second := generation()
		require.NotEqual(t, first, second)
		patch(t, store, "r", `{"tools":[{"name":"b"}]}`)
		require.Equal(t, second, generation())
	})
}

func patch(t *testing.T, store *store.Store, id, body string) (*repositories.Repository, bool) {
	t.Helper()
	patch, err := repositories.DecodePatch(session, id, []byte(body))
	require.NoError(t, err)
	next, created, err := store.PatchRepository(context.Background(), session, id, patch)
	require.NoError(t, err)
	return next, created
}

func TestConcurrentPatchesLoseNothing(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		other := storeOn(t, server, 'k')
		var group sync.WaitGroup
		const n = 30
		for i := range n {
			store := []*store.Store{definitions, other}[i%2]
			group.Go(func() { patch(t, store, "r", fmt.Sprintf(`{"tools":[{"name":"tool%d"}]}`, i)) })
		}
		group.Wait()
		require.Len(t, repositoryOf(t, other, session, "r").Tools, n)
	})
}

func TestPatchAddsOverridesAndReplacesOptions(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, _ *redistest.Server) {
		_, created := patch(t, store, "r", `{"options":{"exclusive":true},"tools":[{"name":"a"},{"name":"b"}]}`)
		require.True(t, created)
		next, created := patch(t, store, "r", `{"tools":[{"name":"b","description":"new"},{"name":"c"}]}`)
		require.False(t, created)
		require.Len(t, next.Tools, 3)
		require.Equal(t, "new", next.Tool("b").Description)
		require.True(t, next.Options.Exclusive, "options that are not given stay")
		next, _ = patch(t, store, "r", `{"options":{"triggerOnce":true}}`)
		require.Equal(t, repositories.Options{TriggerOnce: true}, next.Options, "options that are given replace")
	})
}

func TestMaskedCredentialsKeepWhatIsStored(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, _ *redistest.Server) {
		put(t, store, session, "r", withCredentials)
		shown := repositoryOf(t, store, session, "r")
		text, err := json.Marshal(shown)
		require.NoError(t, err)
		require.NotContains(t, string(text), "secret\":\"bearer")
		require.Contains(t, string(text), `"X-Desk":"A"`, "a header that is no credential is shown")
		put(t, store, session, "r", string(text))
		kept := repositoryOf(t, store, session, "r")
		require.Equal(t, "bearer-secret", kept.Tools[0].Request.Bearer.ClientSecret.Reveal())
		require.Equal(t, "header-secret", kept.Tools[0].Request.Headers["X-Api-Key"].Reveal())

		putApp(t, store, "clinic", `{"modules":[{"moduleId":"other","secret":"s","tokenUrl":"https://login.example/t"},{"moduleId":"calendar","secret":"***","tokenUrl":"https://login.example/token"}]}`)
		module, _ := appOf(t, store, "clinic").Module("calendar")
		require.Equal(t, "module-secret", module.Secret.Reveal(), "it stays with its module, whatever the order")
	})
}

func TestMaskThatStandsForNothingIsAFault(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, _ *redistest.Server) {
		_, err := tryPut(t, store, session, "new", strings.ReplaceAll(withCredentials, "bearer-secret", "***"))
		var faults fault.List
		require.ErrorAs(t, err, &faults)
		require.Equal(t, "/tools/0/request/bearer/clientSecret", faults[0].Pointer)

		_, err = tryPut(t, store, session, "new", `{"tools":[{"name":"a","authRequired":["nobody"]},{"name":"b","url":"https://x.example",
			"request":{"bearer":{"clientId":"c","clientSecret":"***","tokenUrl":"https://x.example/token"}}}]}`)
		require.ErrorAs(t, err, &faults)
		require.Len(t, faults, 2, "with what its app lacks, at once")
	})
}

func TestRepositoryMayNotReferToWhatItsAppLacks(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		_, err := tryPut(t, definitions, session, "r", `{"tools":[{"name":"a","url":"https://x.example","request":{"auth":"module","moduleId":"nothing"}}]}`)
		var faults fault.List
		require.ErrorAs(t, err, &faults)
		_, err = tryPut(t, definitions, repositories.Scope{AppID: "nobody"}, "r", `{"tools":[]}`)
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

func TestListsArePagedInTheOrderOfIds(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, _ *redistest.Server) {
		for _, id := range []string{"b", "d", "a", "c"} {
			putApp(t, store, "app-"+id, "{}")
			put(t, store, session, id, `{"tools":[]}`)
		}
		var apps, repos []string
		for after, more := "", true; more; more = after != "" {
			items, next, err := store.Apps(t.Context(), after, 2)
			require.NoError(t, err)
			for _, app := range items {
				apps = append(apps, app.ID)
			}
			after = next
		}
		require.Equal(t, []string{"app-a", "app-b", "app-c", "app-d", "clinic"}, apps)
		for after, more := "", true; more; more = after != "" {
			items, next, err := store.Repositories(t.Context(), session, after, 3)
			require.NoError(t, err)
			for _, repository := range items {
				repos = append(repos, repository.ID)
			}
			after = next
		}
		require.Equal(t, []string{"a", "b", "c", "d"}, repos)
	})
}

func TestDeletedAppTakesEverythingAlong(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		put(t, definitions, session, "r", `{"tools":[]}`)
		put(t, definitions, ofClinic, "own", `{"tools":[]}`)
		require.NoError(t, definitions.DeleteApp(t.Context(), "clinic"))
		require.ErrorIs(t, definitions.DeleteApp(t.Context(), "clinic"), repositories.ErrNotFound)
		_, err := definitions.App(t.Context(), "clinic")
		require.ErrorIs(t, err, repositories.ErrNotFound)
		require.True(t, putApp(t, definitions, "clinic", "{}"), "it is another app now")
		for _, scope := range []repositories.Scope{session, ofClinic} {
			items, _, err := definitions.Repositories(t.Context(), scope, "", 10)
			require.NoError(t, err)
			require.Empty(t, items)
		}
	})
}

func TestCredentialsAreSealedAtRest(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		put(t, definitions, session, "r", withCredentials)
		client := server.Client()
		keys := server.Keys()
		require.Contains(t, keys, keyspace.KeysOf("clinic").Repos(session.SessionID))
		for _, key := range keys {
			for name, value := range client.HGetAll(t.Context(), key).Val() {
				for _, secret := range []string{"bearer-secret", "header-secret", "module-secret"} {
					require.NotContains(t, value, secret, "%s %s", key, name)
				}
			}
		}
		before := []byte(strings.Repeat("k", store.KeySize))
		rotated := storeOn(t, server, 'n', before)
		kept := repositoryOf(t, rotated, session, "r")
		require.Equal(t, "bearer-secret", kept.Tools[0].Request.Bearer.ClientSecret.Reveal(), "the old key opens what it sealed")
		sealed, err := storeOn(t, server, 'x').Repository(t.Context(), session, "r")
		require.NoError(t, err)
		require.NotContains(t, sealed.Tools[0].Request.Bearer.ClientSecret.Reveal(), "bearer-secret")
	})
}

func TestStoreThatIsAwayIsUnavailable(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, server *redistest.Server) {
		server.Stop()
		_, err := store.App(t.Context(), "clinic")
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		_, err = tryPut(t, store, session, "r", `{"tools":[]}`)
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		server.Start()
		require.Eventually(t, func() bool { _, err := store.App(t.Context(), "clinic"); return err == nil }, time.Minute, 10*time.Millisecond)
	})
}

func TestServerThatAsksForAnotherPasswordIsUnavailable(t *testing.T) {
	server := redistest.Run(t)
	store, operator := storeOn(t, server, 'k'), server.Client()
	require.NoError(t, operator.ConfigSet(t.Context(), "requirepass", "changed").Err())
	require.NoError(t, operator.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	_, err := store.App(t.Context(), "clinic")
	require.ErrorIs(t, err, keyspace.ErrUnavailable)
	require.NoError(t, operator.ConfigSet(t.Context(), "requirepass", "").Err())
	require.Eventually(t, func() bool {
		_, err := store.App(t.Context(), "clinic")
		return !errors.Is(err, keyspace.ErrUnavailable)
	}, time.Minute, 10*time.Millisecond)
}

// TestADefinitionWhoseCredentialsDoNotOpenCanBeReplaced reads and writes with another secret key.
func TestADefinitionWhoseCredentialsDoNotOpenCanBeReplaced(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		put(t, definitions, session, "r", withCredentials)
		other := storeOn(t, server, 'x')
		app := appOf(t, other, "clinic")
		require.True(t, app.Modules[0].Secret.IsSealed())
		found := repositoryOf(t, other, session, "r")
		require.ErrorContains(t, found.Tools[0].CheckReadable(app), "/request/bearer/clientSecret of the tool")

		// What is sent back with its mask stays as it is, and opens again with the key.
		masked := strings.NewReplacer("bearer-secret", secret.Masked, "header-secret", secret.Masked).Replace(withCredentials)
		put(t, other, session, "r", strings.Replace(masked, `"name":"book"`, `"name":"book","description":"d"`, 1))
		found = repositoryOf(t, definitions, session, "r")
		require.Equal(t, "d", found.Tools[0].Description)
		require.Equal(t, "bearer-secret", found.Tools[0].Request.Bearer.ClientSecret.Reveal())

		put(t, other, session, "r", withCredentials)
		putApp(t, other, "clinic", `{"modules":[{"moduleId":"calendar","secret":"new-secret","tokenUrl":"https://login.example/token"}]}`)
		app = appOf(t, other, "clinic")
		found = repositoryOf(t, other, session, "r")
		require.NoError(t, found.Tools[0].CheckReadable(app))
		require.Equal(t, "new-secret", app.Modules[0].Secret.Reveal())
		require.NoError(t, definitions.DeleteRepository(t.Context(), session, "r"), "nor is a key needed to delete it")
	})
}

// TestChangeThatIsTooLongNamesItsRepository makes a repository exceed the size of an event.
func TestChangeThatIsTooLongNamesItsRepository(t *testing.T) {
	t.Parallel()
	store := storeOn(t, redistest.Mini(t), 'k')
	tools := func(count int) string {
		list := make([]string, count)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"t%d","description":%q}`, i, strings.Repeat("<", 1000))
		}
		return `{"tools":[` + strings.Join(list, ",") + `]}`
	}
	for count, omitted := range map[int][]string{900: nil, 1100: {"record.tools"}} {
		repository, err := repositories.DecodeRepository(session, "r", []byte(tools(count)))
		require.NoError(t, err)
		entry, err := store.ChangeEntry(repository, "created", "")
		require.NoError(t, err)
		var event cloudevent.Event
		require.NoError(t, json.Unmarshal([]byte(entry.Body), &event))
		require.LessOrEqual(t, len(event.Data), cloudevent.MaxPayload)
		var change struct {
			RepositoryID string
			Omitted      []string
			Record       repositories.Repository
		}
		require.NoError(t, json.Unmarshal(event.Data, &change))
		require.Equal(t, "r", change.RepositoryID)
		require.Equal(t, omitted, change.Omitted)
		require.Len(t, change.Record.Tools, count)
		require.Equal(t, omitted == nil, change.Record.Tools[0].Description != "")
	}
}

func TestACredentialInAURLIsNotTold(t *testing.T) {
	t.Parallel()
	store := storeOn(t, redistest.Mini(t), 'k')
	repository, err := repositories.DecodeRepository(session, "r", []byte(`{"tools":[{"name":"t","url":"https://x.example/p/:day?api_key=planted&day=:day&token=:token","schema":[{"parameter":"day","type":"string","required":true},{"parameter":"token","type":"string","required":true}]}]}`))
	require.NoError(t, err)
	entry, err := store.ChangeEntry(repository, "created", "")
	require.NoError(t, err)
	require.NotContains(t, entry.Body, "planted")
	require.Contains(t, entry.Body, "/p/:day?api_key=***")
	require.Contains(t, entry.Body, "token=:token")
}

func TestAFullRedisTakesTheRemovalOfATool(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	kept := storeOn(t, server, 'k')
	putApp(t, kept, "clinic", `{}`)
	put(t, kept, ofClinic, "desk", `{"tools":[{"name":"book"},{"name":"cancel"}]}`)
	require.NoError(t, server.Client().ConfigSet(t.Context(), "maxmemory", "1").Err())
	change := store.RepositoryChange{Scope: ofClinic, ID: "desk", Next: func(there *repositories.Repository) (*repositories.Repository, error) {
		return there.Without("book")
	}}
	_, _, err := kept.ChangeRepository(t.Context(), change)
	require.ErrorIs(t, err, keyspace.ErrMemory)
	change.Removes = true
	_, _, err = kept.ChangeRepository(t.Context(), change)
	require.NoError(t, err)
	require.Len(t, repositoryOf(t, kept, ofClinic, "desk").Tools, 1)
}
