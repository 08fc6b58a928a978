package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

const withSources = `{"sources":[
  {"name":"pg","type":"postgres","host":"h","port":5432,"database":"d","user":"u","password":"hunter2-pg"},
  {"name":"api","type":"http","baseUrl":"https://h/v1/","headers":{"Authorization":"hunter2-header","X-Desk":"A"},"queryParams":{"api-key":"hunter2-query","lang":"en"}}],
  "settings":{"webhooks":[{"name":"w","url":"https://h/hook","secret":"whsec_aHVudGVyMi1ob29r"}]}}`

func TestCredentialsOfAnAppAreMaskedAndKept(t *testing.T) {
	s := storeOn(t, redistest.Mini(t), 'k')
	putApp(t, s, "clinic", withSources)
	shown, err := json.Marshal(appOf(t, s, "clinic"))
	require.NoError(t, err)
	require.NotContains(t, string(shown), "hunter2")
	require.Contains(t, string(shown), `"X-Desk":"A"`)
	require.Contains(t, string(shown), `"lang":"en"`)

	again, err := repositories.DecodeApp("clinic", shown)
	require.NoError(t, err)
	_, err = s.PutApp(t.Context(), again)
	require.NoError(t, err)
	require.True(t, again.Sources[0].Password.IsMasked(), "what the caller gave is not changed")
	require.Equal(t, secret.Masked, again.Sources[1].Headers["Authorization"].Reveal())
	require.True(t, again.Settings.Webhooks[0].Secret.IsMasked())
	kept := appOf(t, s, "clinic")
	require.Equal(t, "hunter2-pg", kept.Sources[0].Password.Reveal())
	require.Equal(t, "hunter2-header", kept.Sources[1].Headers["Authorization"].Reveal())
	require.Equal(t, "hunter2-query", kept.Sources[1].QueryParams["api-key"].Reveal())
	require.Equal(t, "whsec_aHVudGVyMi1ob29r", kept.Settings.Webhooks[0].Secret.Reveal())

	unknown, err := repositories.DecodeApp("other", []byte(strings.Replace(string(shown), `"appId":"clinic",`, "", 1)))
	require.NoError(t, err)
	_, err = s.PutApp(t.Context(), unknown)
	require.ErrorContains(t, err, `/sources/0/password: "***" stands for a stored credential, and none is stored here: give the credential itself`)
}

func TestRepositoriesOfEarlierVersionsAreReadAndDamagedOnesAreNot(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, server *redistest.Server) {
		put(t, definitions, session, "r", `{"options":{"triggerOnce":true},"tools":[{"name":"a"}]}`)
		key := keyspace.KeysOf("clinic").Repos("s1")
		stored := server.Client().HGet(t.Context(), key, "r").Val()
		written := func(text string) error {
			require.NoError(t, server.Client().HSet(t.Context(), key, "r", text).Err())
			found, err := storeOn(t, server, 'k').Repository(t.Context(), session, "r")
			if err == nil {
				require.NotNil(t, found.Tool("a"))
				require.True(t, found.Options.TriggerOnce)
			}
			return err
		}
		require.NoError(t, written(stored))
		require.NoError(t, written(strings.Replace(stored, " {", " once {", 1)), "they wrote one word more before the record")
		for _, damaged := range []string{"", "revision", "revision generation", `revision {"record":{}}`, stored[:len(stored)-1]} {
			require.Error(t, written(damaged), damaged)
		}
	})
}

// Earlier versions accepted parameters in braces, which are refused now. Their stored tools are read, and other
// tools of the repository can change.
func TestStoredToolsThatWouldBeRefusedTodayAreReadAndPatched(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		day := json.RawMessage(`[{"parameter":"day","type":"string"}]`)
		before := &repositories.Repository{AppID: session.AppID, SessionID: session.SessionID, ID: "r", Tools: []repositories.Tool{{Name: "book", URL: "https://h/{day}", Schema: day}}}
		_, err := definitions.PutRepository(t.Context(), before)
		require.NoError(t, err)
		patch, err := repositories.DecodePatch(session, "r", []byte(`{"tools":[{"name":"other"}]}`))
		require.NoError(t, err)
		_, _, err = definitions.PatchRepository(t.Context(), session, "r", patch)
		require.NoError(t, err)
		found := repositoryOf(t, definitions, session, "r")
		require.NotNil(t, found.Tool("other"))
		require.Equal(t, "https://h/{day}", found.Tool("book").URL)
		require.Equal(t, []string{"day"}, found.Tool("book").Params().Names())
	})
}

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

func TestLimitsAreShownAsTheyWereSet(t *testing.T) {
	store := storeOn(t, redistest.Mini(t), 'k')
	for _, limits := range []string{
		`null`, `{"messagesPerMinute":null}`, `{"messagesPerMinute":7,"sessionTriggersPerMinute":null,"bytesPerMinute":100}`,
	} {
		body := `{"settings":{"limits":` + limits + `}}`
		for range 2 { // the record is rewritten as read
			putApp(t, store, "clinic", body)
			shown, err := json.Marshal(appOf(t, store, "clinic"))
			require.NoError(t, err)
			require.Contains(t, string(shown), `"limits":`+limits)
			body = string(shown)
		}
	}
}

func TestRatesOfAnApp(t *testing.T) {
	for limits, want := range map[string]string{
		`{}`:   "12000 120 12000 120 400000000 4000000 600",
		`null`: "0 0 0 0 0 0 0",
		`{"messagesPerMinute":null,"sessionMessagesPerMinute":0,"bytesPerMinute":10}`: "0 0 12000 120 1000 10 600",
		`{"triggersPerMinute":3,"sessionTriggersPerMinute":2,"bytesPerMinute":null}`:  "12000 120 3 2 0 0 600",
		`{"messagesPerMinute":1,"sessionMessagesPerMinute":2,"triggersPerMinute":3}`:  "1 2 3 120 400000000 4000000 600",
		`{"sessionDraftsPerMinute":7}`: "12000 120 12000 120 400000000 4000000 7",
	} {
		app, err := repositories.DecodeApp("clinic", []byte(`{"settings":{"limits":`+limits+`}}`))
		require.NoError(t, err)
		require.Equal(t, want+" 0", app.Settings.Rates(), limits)
	}
}

func TestMain(m *testing.M) { redistest.Main(m) }
