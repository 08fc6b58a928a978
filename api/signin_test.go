package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/repositories/store"
)

func TestGuessedKeysPauseTheirClientAndRightOnesPass(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	_, key, err := w.Store.CreateKey(t.Context(), "clinic", store.NewKey{Scopes: []store.Permission{"app"}})
	require.NoError(t, err)
	good := "Authorization: Bearer " + key.Reveal()

	for name, guess := range map[string]func(n int) string{
		"keys of the app": func(n int) string { return fmt.Sprintf("%s%06d", key.Reveal()[:len(key.Reveal())-6], n) },
		"admin keys":      func(n int) string { return fmt.Sprintf("summer-%06d", n) },
	} {
		refused := 0
		for n := range 300 {
			got := w.Call("GET", "/v1/apps/clinic", "", "Authorization: Bearer "+guess(n))
			if got.StatusCode == http.StatusTooManyRequests {
				refused++
				require.NotEmpty(t, got.Header.Get("Retry-After"))
			}
		}
		require.Greater(t, refused, 190, name)
	}
	w.Call("GET", "/v1/apps/clinic", "", good).Is(200, "")
	w.Ask("GET", "/v1/apps/clinic", "").Is(200, "") // the admin was let in from here before
	for range 300 {
		require.Equal(t, 401, w.Call("GET", "/v1/apps/clinic", "", "Authorization: ").StatusCode, "a request without a key is no guess")
	}
}
