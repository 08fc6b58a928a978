package sealing_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/sealing"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func sealerOf(t *testing.T, letters ...string) *store.Sealer {
	t.Helper()
	var keys [][]byte
	for _, letter := range letters {
		keys = append(keys, bytes.Repeat([]byte(letter), store.KeySize))
	}
	sealer := testbed.Got(store.NewSealer(keys[0], keys[1:]...))(t)
	return sealer
}

func storeOf(t *testing.T, client redis.UniversalClient, letters ...string) *store.Store {
	t.Helper()
	return storeOn(t, &keyspace.DB{UniversalClient: client}, letters...)
}

func storeOn(t *testing.T, db *keyspace.DB, letters ...string) *store.Store {
	t.Helper()
	return store.New(db, store.Options{Sealer: sealerOf(t, letters...)})
}

func put(t *testing.T, s *store.Store, id, signing string) {
	t.Helper()
	_, err := s.PutApp(t.Context(), &repositories.App{ID: id, SigningSecret: secret.New(signing)})
	require.NoError(t, err)
}

func goOn(ctx context.Context, _ sealing.Progress) error { return ctx.Err() }

// before calls a function before the first script that writes.
func before(do func()) enginetest.Hook {
	var once sync.Once
	return enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if cmd.Name() == "evalsha" {
			once.Do(do)
		}
		return next(ctx, cmd)
	}}
}

// TestAWriteOfSomebodyElseStands writes, and removes, between the walk's read and write.
func TestAWriteOfSomebodyElseStands(t *testing.T) {
	t.Parallel()
	for what, elsewhere := range map[string]func(s *store.Store) error{
		"written": func(s *store.Store) error {
			_, err := s.PutApp(context.Background(), &repositories.App{ID: "clinic", Name: "theirs", SigningSecret: secret.New("a secret that is theirs")})
			return err
		},
		"removed": func(s *store.Store) error { return s.DeleteApp(context.Background(), "clinic") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Run(t)
			put(t, storeOf(t, server.Client(), "a"), "clinic", "a secret that is ours")
			theirs, client := storeOf(t, server.Client(), "b", "a"), server.Client()
			var fault error
			client.AddHook(before(func() { fault = elsewhere(theirs) }))
			walk := sealing.Walk{DB: &keyspace.DB{UniversalClient: client}, Sealer: sealerOf(t, "b", "a"), Reseal: true, After: goOn}
			found := testbed.Got(walk.Run(t.Context()))(t)
			require.NoError(t, fault)
			require.Zero(t, found.Resealed, "what it had read is not there any more")
			app, err := storeOf(t, server.Client(), "b").App(t.Context(), "clinic")
			if what == "removed" {
				require.ErrorIs(t, err, repositories.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "theirs", app.Name)
			require.Equal(t, "a secret that is theirs", app.SigningSecret.Reveal())
		})
	}
}

func TestWhatIsDamagedIsCountedAndLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	client := server.Client()
	put(t, storeOf(t, client, "a"), "lost", "a secret of another key")
	put(t, storeOf(t, client, "b"), "clinic", "a secret of the key")
	k := keyspace.KeysOf("moved")
	record := client.HGet(t.Context(), keyspace.KeysOf("clinic").App(), "record").Val()
	require.NoError(t, client.HSet(t.Context(), k.App(), "record", record).Err(), "another app's credential")
	require.NoError(t, client.HSet(t.Context(), k.Effect("broken"), "kind", "call", "body", "no JSON").Err())
	require.NoError(t, client.HSet(t.Context(), k.Effect("told"), "kind", "event", "body", "{}").Err())
	found, err := sealing.Walk{DB: &keyspace.DB{UniversalClient: client}, Sealer: sealerOf(t, "b"), Reseal: true, After: goOn}.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, sealing.Tally{Apps: sealing.Keys{Current: 1, None: 2}, Calls: sealing.Keys{None: 1}}, found.Tally)
	require.Zero(t, found.Resealed)
	require.Equal(t, record, client.HGet(t.Context(), k.App(), "record").Val())
	require.Equal(t, "2 apps, 1 call", found.Tally.Text(sealing.ByNone))
	require.Equal(t, "nothing", found.Tally.Text(sealing.ByOld))
}

// TestAWatchGoesOnWithoutAnswers stops Redis, and expects the next look sooner.
func TestAWatchGoesOnWithoutAnswers(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	put(t, storeOf(t, server.Client(), "a"), "clinic", "a secret of the old key")
	server.Kill()
	var log bytes.Buffer
	ctx, end := context.WithCancel(t.Context())
	var pauses []time.Duration
	watch := sealing.NewWatch(sealing.Walk{DB: &keyspace.DB{UniversalClient: server.Client()}, Sealer: sealerOf(t, "b")}, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return time.Time{} },
		func(ctx context.Context, d time.Duration) error {
			if d == 0 {
				return ctx.Err()
			}
			if pauses = append(pauses, d); len(pauses) == 1 {
				server.Start()
				put(t, storeOf(t, server.Client(), "a"), "clinic", "a secret of the old key")
			} else {
				end()
			}
			return ctx.Err()
		})
	watch.Run(ctx)
	require.Equal(t, []time.Duration{5 * time.Minute, 5 * time.Minute}, pauses)
	require.Contains(t, log.String(), "secretkey.unread")
	require.Contains(t, log.String(), "msg=secretkey.missing apps=1 repositories=0 calls=0")
}

func TestAWalkGoesThroughAllMastersOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	t.Parallel()
	client := redistest.RunCluster(t).Client()
	old := storeOf(t, client, "a")
	const apps = 40
	for n := range apps {
		id := fmt.Sprint("app", n)
		put(t, old, id, "a secret of "+id)
		_, err := old.PutRepository(t.Context(), &repositories.Repository{AppID: id, ID: "desk", Tools: []repositories.Tool{{Name: "book"}}})
		require.NoError(t, err)
	}
	walk := sealing.Walk{DB: &keyspace.DB{UniversalClient: client}, Sealer: sealerOf(t, "b", "a"), Reseal: true, After: goOn}
	found := testbed.Got(walk.Run(t.Context()))(t)
	require.Equal(t, apps, found.Resealed)
	require.Equal(t, sealing.Tally{Apps: sealing.Keys{Current: apps}}, found.Tally)
	for n := range apps {
		app := testbed.Got(storeOf(t, client, "b").App(t.Context(), fmt.Sprint("app", n)))(t)
		require.Equal(t, fmt.Sprint("a secret of app", n), app.SigningSecret.Reveal())
	}
}

// A version is restored with its credentials after the old key is gone.
func TestVersionsAreSealedAnew(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		db := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}
		old := storeOn(t, db, "a")
		put(t, old, "clinic", "a secret of the app")
		with := func(headers repositories.Headers) {
			_, err := old.PutRepository(t.Context(), &repositories.Repository{AppID: "clinic", ID: "desk", Tools: []repositories.Tool{{
				Name: "book", URL: "https://book.example/", Request: &repositories.Request{Headers: headers},
			}}})
			require.NoError(t, err)
		}
		with(repositories.Headers{"Authorization": secret.New("hunter2")})
		with(nil)
		require.NoError(t, old.DeleteRepository(t.Context(), repositories.Scope{AppID: "clinic"}, "desk"))
		walk := sealing.Walk{DB: db, Sealer: sealerOf(t, "b", "a"), Reseal: true, After: goOn}
		_, err := walk.Run(t.Context())
		require.NoError(t, err)
		next := storeOn(t, db, "b")
		_, definition, err := next.Version(t.Context(), "clinic", "desk", 1)
		require.NoError(t, err)
		require.Equal(t, "hunter2", definition.Tools[0].Request.Headers["Authorization"].Reveal())
	})
}
