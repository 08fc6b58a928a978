package store_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// keeper is a store with a clock, on the test's Redis.
type keeper struct {
	*store.Store
	now   time.Time
	redis *redistest.Server
}

func newKeeper(t *testing.T, server *redistest.Server) *keeper {
	k := &keeper{now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), redis: server}
	client := server.Client()
	sealer, err := store.NewSealer(bytes.Repeat([]byte("k"), store.KeySize))
	require.NoError(t, err)
	k.Store = store.New(&keyspace.DB{UniversalClient: client, Embedded: server.Embedded()},
		store.Options{Sealer: sealer, SessionTTL: time.Hour, Now: func() time.Time { return k.now }})
	_, err = k.PutApp(t.Context(), &repositories.App{ID: "clinic"})
	require.NoError(t, err)
	return k
}

func (k *keeper) key(t *testing.T, life time.Duration) (store.AppKey, secret.Secret) {
	made, secret, err := k.CreateKey(t.Context(), "clinic", store.NewKey{Name: "n", Scopes: []store.Permission{store.PermitTools}, Lifetime: life})
	require.NoError(t, err)
	return made, secret
}

func TestKeyIsKnownByItsWholeText(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		k := newKeeper(t, server)
		made, credential := k.key(t, 0)
		app, found, err := k.CheckKey(t.Context(), credential)
		require.NoError(t, err)
		require.Equal(t, "clinic", app)
		require.Equal(t, made.ID, found.ID)
		require.Equal(t, []store.Permission{"tools"}, found.Scopes)
		text := credential.Reveal()
		for _, wrong := range []string{
			"", "ek_", "ek_clinic", "ek_clinic." + made.ID, "ek_clinic." + made.ID + ".", text + "A", text[:len(text)-1], text[1:], strings.ToUpper(text),
			strings.Replace(text, "clinic", "other", 1), strings.Replace(text, made.ID, "other", 1), "ek_a/b.x.y", "ek_:*.x.y", text + ".x",
		} {
			_, _, err := k.CheckKey(t.Context(), secret.New(wrong))
			require.ErrorIs(t, err, store.ErrKey, wrong)
		}
	})
}

func TestKeyEndsWithItsTime(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		k := newKeeper(t, server)
		made, secret := k.key(t, time.Hour)
		require.Equal(t, k.now.Add(time.Hour), made.Expires)
		k.now = k.now.Add(time.Hour - time.Nanosecond)
		_, _, err := k.CheckKey(t.Context(), secret)
		require.NoError(t, err)
		k.now = k.now.Add(time.Nanosecond)
		_, _, err = k.CheckKey(t.Context(), secret)
		require.ErrorIs(t, err, store.ErrKeyExpired)
		_, err = k.ValidKey(t.Context(), "clinic", made.ID)
		require.ErrorIs(t, err, store.ErrKeyExpired)
	})
}

func TestRevokedKeyIsOneNoMore(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		k, other := newKeeper(t, server), newKeeper(t, server)
		made, secret := k.key(t, 0)
		for _, replica := range []*keeper{k, other} {
			_, _, err := replica.CheckKey(t.Context(), secret)
			require.NoError(t, err)
		}
		require.ErrorIs(t, k.RevokeKey(t.Context(), "other", made.ID), repositories.ErrNotFound)
		require.NoError(t, k.RevokeKey(t.Context(), "clinic", made.ID))
		for _, replica := range []*keeper{k, other} {
			_, _, err := replica.CheckKey(t.Context(), secret)
			require.ErrorIs(t, err, store.ErrKey)
		}
		require.ErrorIs(t, k.RevokeKey(t.Context(), "clinic", made.ID), repositories.ErrNotFound)
	})
}

func TestManyUsesOfAKeyCostFewReads(t *testing.T) {
	k := newKeeper(t, redistest.Mini(t))
	_, secret := k.key(t, 0)
	reads := &redistest.Trips{}
	client := redis.NewClient(&redis.Options{Addr: k.redis.Addr()})
	client.AddHook(reads)
	defer client.Close()
	definitions := store.New(&keyspace.DB{UniversalClient: client, Embedded: true}, store.Options{})
	began := time.Now()
	for range 1000 {
		_, _, err := definitions.CheckKey(t.Context(), secret)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, reads.Made(), 19+2*int64(time.Since(began)/(250*time.Millisecond)))
}

func TestKeysAreBounded(t *testing.T) {
	k := newKeeper(t, redistest.Mini(t))
	for range 1000 {
		k.key(t, 0)
	}
	_, _, err := k.CreateKey(t.Context(), "clinic", store.NewKey{})
	require.ErrorIs(t, err, repositories.ErrFull)
	first, next, err := k.AppKeys(t.Context(), "clinic", "", 600)
	require.NoError(t, err)
	rest, end, err := k.AppKeys(t.Context(), "clinic", next, 600)
	require.NoError(t, err)
	require.Empty(t, end)
	require.Len(t, append(first, rest...), 1000)
}

func TestCountsOfAnAppAreLimited(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, _ *redistest.Server) {
		putApp(t, store, "clinic", `{"settings":{"limits":{"toolsPerRepository":2,"repositoriesPerSession":2}}}`)
		limit := &repositories.LimitError{}
		_, err := put(t, store, session, "r", `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]}`)
		require.ErrorAs(t, err, &limit)
		require.Equal(t, "toolsPerRepository", limit.Limit)
		var let atomic.Int32
		var putting sync.WaitGroup
		for i := range 8 {
			putting.Go(func() {
				repository := &repositories.Repository{AppID: "clinic", SessionID: "s1", ID: fmt.Sprintf("r%d", i)}
				if _, err := store.PutRepository(t.Context(), repository); err == nil {
					let.Add(1)
				}
			})
		}
		putting.Wait()
		require.EqualValues(t, 2, let.Load(), "of any number at the same time")
		list, _, err := store.Repositories(t.Context(), session, "", 10)
		require.NoError(t, err)
		_, err = put(t, store, session, list[0].ID, `{"tools":[{"name":"a"}]}`)
		require.NoError(t, err, "what is there may be replaced")
		require.NoError(t, store.DeleteRepository(t.Context(), session, list[1].ID))
		_, err = put(t, store, session, "another", `{"tools":[]}`)
		require.NoError(t, err)
	})
}

func TestOriginsOfAnAppThatIsNotThereAreNone(t *testing.T) {
	stores(t, func(t *testing.T, store *store.Store, server *redistest.Server) {
		putApp(t, store, "clinic", `{"settings":{"allowedOrigins":["https://app.example"]}}`)
		for _, c := range []struct {
			app, origin string
			want        bool
		}{{"clinic", "https://app.example", true}, {"clinic", "https://app.example.evil", false}, {"nobody", "https://app.example", false}} {
			got, err := store.AllowsOrigin(t.Context(), c.app, c.origin)
			require.NoError(t, err)
			require.Equal(t, c.want, got, c)
		}
	})
}

func TestKeyTakesThoseThatItMadeAlongAndNoOthers(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		k := newKeeper(t, server)
		below := func(by string) (store.AppKey, error) {
			made, _, err := k.CreateKey(t.Context(), "clinic", store.NewKey{Scopes: []store.Permission{store.PermitTools}, Parent: by})
			return made, err
		}
		a, _ := k.key(t, 0)
		b, _ := k.key(t, time.Hour)
		deep := a.ID
		for range 16 {
			made, err := below(deep)
			require.NoError(t, err)
			require.Equal(t, deep, made.Parent)
			deep = made.ID
		}
		_, err := below(deep)
		require.ErrorIs(t, err, repositories.ErrFull)
		other, err := below(b.ID)
		require.NoError(t, err)
		require.Equal(t, b.Expires, other.Expires)
		require.NoError(t, k.RevokeKey(t.Context(), "clinic", a.ID))
		left, _, err := k.AppKeys(t.Context(), "clinic", "", 100)
		require.NoError(t, err)
		require.Len(t, left, 2)
		_, err = below(a.ID)
		require.ErrorIs(t, err, store.ErrKey)
		k.now = k.now.Add(time.Hour)
		_, err = below(b.ID)
		require.ErrorIs(t, err, store.ErrKeyExpired)
	})
}
