package repositories_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/redistest"
)

func TestSealedCredentialDoesNotOpenForAnotherDestination(t *testing.T) {
	stores(t, func(t *testing.T, store *repositories.Store, server *redistest.Server) {
		key := repositories.KeysOf("clinic").App()
		record := server.Client().HGet(t.Context(), key, "record").Val()
		require.Contains(t, record, `login.example`)
		moved := strings.ReplaceAll(record, "login.example", "evil.example")
		require.NoError(t, server.Client().HSet(t.Context(), key, "record", moved).Err())
		_, err := storeOn(t, server, 'k').App(t.Context(), "clinic")
		require.ErrorContains(t, err, "modules/calendar is damaged or another's", "who writes to Redis moves no credential")
	})
}
