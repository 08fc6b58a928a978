package refresh_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/refresh"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// rig is a store with an app that has a source, and the tools that its server offers.
type rig struct {
	t      *testing.T
	redis  *redistest.Server
	store  *store.Store
	log    *testbed.Lines
	asked  atomic.Int32
	answer atomic.Pointer[func() ([]string, error)]
}

func newRig(t *testing.T, server *redistest.Server) *rig {
	sealer := testbed.Got(store.NewSealer([]byte(strings.Repeat("k", store.KeySize))))(t)
	db := &keyspace.DB{UniversalClient: server.Connect(redis.UniversalOptions{}), Embedded: server.Embedded()}
	r := &rig{t: t, redis: server, store: store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour}), log: &testbed.Lines{}}
	r.app(`{"sources":[{"name":"crm","type":"mcp","url":"https://crm.example/mcp","refresh":"1m"}]}`)
	return r
}

func (r *rig) app(body string) {
	app := testbed.Got(repositories.DecodeApp("clinic", []byte(body)))(r.t)
	_, err := r.store.PutApp(r.t.Context(), app)
	require.NoError(r.t, err)
}

func (r *rig) put(session, id, body string) {
	repository := testbed.Got(repositories.DecodeRepository(repositories.Scope{AppID: "clinic", SessionID: session}, id, []byte(body)))(r.t)
	_, err := r.store.PutRepository(r.t.Context(), repository)
	require.NoError(r.t, err)
}

func (r *rig) offers(answer func() ([]string, error)) { r.answer.Store(&answer) }

func (r *rig) offer(_ context.Context, app *repositories.App, source string) ([]repositories.Tool, []string, error) {
	r.asked.Add(1)
	names, err := (*r.answer.Load())()
	if err != nil {
		return nil, nil, err
	}
	var list []repositories.OfferedTool
	for _, name := range names {
		list = append(list, repositories.OfferedTool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	of, _ := app.Source(source)
	tools, notes := of.Offered(list, 0)
	return tools, notes, nil
}

// due makes the source due now.
func (r *rig) due() {
	key := keyspace.KeysOf("clinic").Refreshes()
	require.NoError(r.t, r.redis.Client().ZAddXX(r.t.Context(), key, redis.Z{Score: 1, Member: "clinic/crm"}).Err())
}

// ticks has so many replicas look once each, and waits for them.
func (r *rig) ticks(replicas int) {
	var running sync.WaitGroup
	for range replicas {
		looked := false
		running.Go(func() {
			refresh.New(refresh.Options{
				Store: r.store, Offer: r.offer, Logger: slog.New(slog.NewJSONHandler(r.log, nil)),
				Pause: func(context.Context, time.Duration) error {
					if looked {
						return context.Canceled
					}
					looked = true
					return nil
				},
			}).Run(r.t.Context())
		})
	}
	running.Wait()
}

func (r *rig) tools(session, id string) (names []string) {
	found := testbed.Got(r.store.Repository(r.t.Context(), repositories.Scope{AppID: "clinic", SessionID: session}, id))(r.t)
	for _, tool := range found.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// events counts the pending events of changes of the app's repositories.
func (r *rig) events(session string) int64 {
	return r.redis.Client().LLen(r.t.Context(), keyspace.KeysOf("clinic").Outbox(keyspace.Box(session, ""))).Val()
}

func TestRepositoriesFollowTheirServer(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		r := newRig(t, server)
		r.put("", "r", `{"from":"crm"}`)
		r.put("s1", "own", `{"from":"crm"}`)
		r.offers(func() ([]string, error) { return []string{"find", "add"}, nil })
		r.due()
		before := r.events("s1")
		r.ticks(8)
		require.EqualValues(t, 1, r.asked.Load(), "one replica asks, once for all repositories")
		require.Equal(t, []string{"add", "find"}, r.tools("", "r"))
		require.Equal(t, []string{"add", "find"}, r.tools("s1", "own"))
		require.Equal(t, before+1, r.events("s1"))
		require.Contains(t, r.log.String(), `"msg":"source.changed"`)

		r.due()
		r.ticks(2)
		require.EqualValues(t, 2, r.asked.Load())
		require.Equal(t, before+1, r.events("s1"), "what is as it was is no news")
		r.ticks(2)
		require.EqualValues(t, 2, r.asked.Load(), "it is not due")

		r.offers(func() ([]string, error) { return nil, errors.New("connection refused") })
		r.due()
		r.ticks(1)
		require.Equal(t, []string{"add", "find"}, r.tools("", "r"), "a server that is away takes nothing with it")
		require.Contains(t, r.log.String(), "connection refused")

		r.offers(func() ([]string, error) {
			r.put("s1", "own", `{"from":"crm","options":{"exclusive":true}}`)
			require.NoError(t, r.store.DeleteRepository(t.Context(), repositories.Scope{AppID: "clinic"}, "r"))
			return []string{"other"}, nil
		})
		r.due()
		r.ticks(1)
		require.Equal(t, []string{"add", "find"}, r.tools("s1", "own"), "it was put while the server was asked")
		_, err := r.store.Repository(t.Context(), repositories.Scope{AppID: "clinic"}, "r")
		require.ErrorIs(t, err, repositories.ErrNotFound)

		require.NoError(t, r.store.DeleteRepository(t.Context(), repositories.Scope{AppID: "clinic", SessionID: "s1"}, "own"))
		r.due()
		r.ticks(1)
		require.Zero(t, server.Client().Exists(t.Context(), keyspace.KeysOf("clinic").Refreshes(), keyspace.KeysOf("clinic").Sourced()).Val(), "nothing is left of what nobody needs")
	})
}

func TestASourceThatIsChangedIsLookedAtAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	r.offers(func() ([]string, error) { return []string{"find"}, nil })
	r.put("", "r", `{"from":"crm"}`)
	r.ticks(1)
	require.Equal(t, []string{"find"}, r.tools("", "r"))
	r.app(`{"name":"Clinic","sources":[{"name":"crm","type":"mcp","url":"https://crm.example/mcp","refresh":"1m"}]}`)
	r.ticks(1)
	require.EqualValues(t, 1, r.asked.Load(), "the source is the same")
	r.app(`{"sources":[{"name":"crm","type":"mcp","url":"https://crm.example/mcp","refresh":"1m","allow":["add*"]}]}`)
	r.ticks(1)
	require.Empty(t, r.tools("", "r"))
	r.app(`{"sources":[{"name":"crm","type":"http","baseUrl":"https://crm.example/"}]}`)
	r.due()
	r.ticks(1)
	require.EqualValues(t, 2, r.asked.Load(), "it is no server of tools any more")
}
