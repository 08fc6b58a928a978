package store_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories/secret"
	"earshot/repositories/store"
)

func sealer(t testing.TB, keys ...string) *store.Sealer {
	t.Helper()
	var all [][]byte
	for _, key := range keys {
		all = append(all, bytes.Repeat([]byte(key), store.KeySize))
	}
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
