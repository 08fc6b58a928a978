package store_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
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
