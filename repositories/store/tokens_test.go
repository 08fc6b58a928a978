package store_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
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
	"earshot/repositories/lists"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

var someAccess = store.AccessToken{
	AppID: "clinic", ModuleID: "avatar", ClientID: "clinic-avatar", Lineage: "l1", Scopes: []store.Permission{store.PermitTools, store.PermitMessages},
	Expires: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), Generation: store.Generation{App: "g1"},
}

func TestAccessTokenIsAJWTThatIsOpenedByThoseWhoHaveTheKey(t *testing.T) {
	signed, err := sealer(t, "a").SignAccess(someAccess, "t1")
	require.NoError(t, err)
	require.True(t, store.IsJWT(signed))
	parts := strings.Split(signed.Reveal(), ".")
	require.Len(t, parts, 3)
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var read map[string]any
	require.NoError(t, json.Unmarshal(raw, &read))
	require.EqualValues(t, someAccess.Expires.Unix(), read["exp"], "the client renews it by that")
	require.Equal(t, "clinic-avatar", read["aud"], "the client takes it for its own id")
	for _, keys := range [][]string{{"a"}, {"b", "a"}} {
		opened, err := sealer(t, keys...).OpenAccess(signed)
		require.NoError(t, err)
		require.Equal(t, someAccess, opened)
	}
	_, err = sealer(t, "b").OpenAccess(signed)
	require.ErrorIs(t, err, store.ErrAccessToken)
	other, err := sealer(t, "a").SignAccess(someAccess, "t2")
	require.NoError(t, err)
	require.NotEqual(t, signed.Reveal(), other.Reveal(), "each is a token of its own")
}

func TestTokenPassesForNoneOfAnotherUse(t *testing.T) {
	s := sealer(t, "a")
	access, err := s.SignAccess(someAccess, "t1")
	require.NoError(t, err)
	refresh, err := s.SignRefresh(someAccess, "t1")
	require.NoError(t, err)
	_, err = s.OpenAccess(refresh)
	require.ErrorIs(t, err, store.ErrAccessToken)
	_, err = s.OpenRefresh(access)
	require.ErrorIs(t, err, store.ErrAccessToken)
	opened, err := s.OpenRefresh(refresh)
	require.NoError(t, err)
	require.Equal(t, someAccess, opened)
	head, claims, _ := strings.Cut(access.Reveal(), ".")
	claims, mac, _ := strings.Cut(claims, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	for _, wrong := range []string{"", "..", head + "." + claims + ".", none + "." + claims + ".", none + "." + claims + "." + mac, head + "." + claims, head + ".." + mac} {
		_, err := s.OpenAccess(secret.New(wrong))
		require.ErrorIs(t, err, store.ErrAccessToken, wrong)
	}
}

func TestGrantEndsWithTheSecretOfItsModule(t *testing.T) {
	module := repositories.Module{ID: "avatar", Secret: secret.New("s1")}
	grant := sealer(t, "a").Grant("clinic", module)
	require.True(t, sealer(t, "b", "a").SameGrant(grant, "clinic", module), "after a rotation of the secret key")
	require.False(t, sealer(t, "a").SameGrant(grant, "other", module))
	module.Secret = secret.New("s2")
	require.False(t, sealer(t, "a").SameGrant(grant, "clinic", module))
}

func TestLineageEndsWithItsLastToken(t *testing.T) {
	s := storeOn(t, redistest.Mini(t), 'a')
	ends, err := s.LineageExpires(t.Context(), "clinic", "l1")
	require.NoError(t, err)
	require.Zero(t, ends, "nothing was renewed")
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for _, at := range []time.Time{until, until.Add(-time.Minute)} {
		require.NoError(t, s.ExtendLineage(t.Context(), "clinic", "l1", at))
		ends, err = s.LineageExpires(t.Context(), "clinic", "l1")
		require.NoError(t, err)
		require.Equal(t, until, ends, "the latest holds")
	}
}

func sealer(t testing.TB, keys ...string) *store.Sealer {
	t.Helper()
	all := lists.Map(keys, func(key string) []byte { return bytes.Repeat([]byte(key), store.KeySize) })
	s, err := store.NewSealer(all[0], all[1:]...)
	require.NoError(t, err)
	return s
}

var someToken = store.SessionToken{AppID: "clinic", SessionID: "s1", Expires: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), KeyID: "k1"}

func TestSessionTokenIsOpenedByThoseWhoHaveTheKey(t *testing.T) {
	signed, err := sealer(t, "a").SignToken(someToken)
	require.NoError(t, err)
	for _, keys := range [][]string{{"a"}, {"b", "a"}} {
		opened, err := sealer(t, keys...).OpenToken(signed)
		require.NoError(t, err)
		require.Equal(t, someToken, opened)
	}
	_, err = sealer(t, "b").OpenToken(signed)
	require.ErrorIs(t, err, store.ErrToken)
	require.NotContains(t, signed.String(), "es_", "it cannot be printed by accident")
}

func TestSessionTokenThatWasChangedIsNone(t *testing.T) {
	s := sealer(t, "a")
	signed, err := s.SignToken(someToken)
	require.NoError(t, err)
	text, mac, _ := strings.Cut(signed.Reveal(), ".")
	forged := "es_" + base64.RawURLEncoding.EncodeToString([]byte(`{"app":"clinic","session":"s2","exp":"2099-01-01T00:00:00Z"}`))
	for _, wrong := range []string{"", "es_", ".", text, text + ".", text + "." + mac + "A", text + "." + mac[1:], forged + "." + mac, forged + ".", text[3:] + "." + mac, strings.ToUpper(text) + "." + mac} {
		_, err := s.OpenToken(secret.New(wrong))
		require.ErrorIs(t, err, store.ErrToken, wrong)
	}
	for i := range text + mac {
		changed := []byte(signed.Reveal())
		changed[i] ^= 1
		_, err := s.OpenToken(secret.New(string(changed)))
		require.Error(t, err, i)
	}
}

// FuzzSessionToken searches for a foreign text that opens.
func FuzzSessionToken(f *testing.F) {
	s := sealer(f, "a")
	signed, err := s.SignToken(someToken)
	require.NoError(f, err)
	f.Add(signed.Reveal())
	f.Add("es_e30.")
	f.Fuzz(func(t *testing.T, text string) {
		if opened, err := s.OpenToken(secret.New(text)); err == nil {
			require.Equal(t, someToken, opened)
			require.Equal(t, signed.Reveal(), text)
		}
	})
}

// keeper is a store with a clock, on the test's Redis.
type keeper struct {
	*store.Store
	now   time.Time
	redis *redistest.Server
}

func newKeeper(t *testing.T, server *redistest.Server) *keeper {
	k := &keeper{now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), redis: server}
	k.Store = store.New(&keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()},
		store.Options{Sealer: sealer(t, "k"), SessionTTL: time.Hour, Now: func() time.Time { return k.now }})
	_, err := k.PutApp(t.Context(), &repositories.App{ID: "clinic"})
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

func TestKeyThatHasExpiredIsNotListed(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		k := newKeeper(t, server)
		stays, _ := k.key(t, 0)
		k.key(t, time.Hour)
		k.now = k.now.Add(time.Hour)
		left, next, err := k.AppKeys(t.Context(), "clinic", "", 1)
		require.NoError(t, err)
		require.Equal(t, []store.AppKey{stays}, left)
		require.Empty(t, next)
	})
}

func TestNothingIsLeftOfTheEndsOfKeys(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		k, ends := newKeeper(t, server), keyspace.KeyEnds(keyspace.KeysOf("clinic"))
		k.key(t, 0)
		revoked, _ := k.key(t, time.Hour)
		k.key(t, time.Hour)
		require.EqualValues(t, 2, server.Client().ZCard(t.Context(), ends).Val())
		require.NoError(t, k.RevokeKey(t.Context(), "clinic", revoked.ID))
		require.EqualValues(t, 1, server.Client().ZCard(t.Context(), ends).Val())
		require.NoError(t, k.DeleteApp(t.Context(), "clinic"))
		require.Zero(t, server.Client().Exists(t.Context(), ends).Val())
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
		_, err := tryPut(t, store, session, "r", `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]}`)
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
		_, err = tryPut(t, store, session, list[0].ID, `{"tools":[{"name":"a"}]}`)
		require.NoError(t, err, "what is there may be replaced")
		require.NoError(t, store.DeleteRepository(t.Context(), session, list[1].ID))
		put(t, store, session, "another", `{"tools":[]}`)
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
