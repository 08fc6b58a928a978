package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/store"
)

func TestPreviewOfAnAppComparesCredentialsAndWritesNothing(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		const body = `{"name":"A","modules":[{"moduleId":"m","secret":"SECRET","tokenUrl":"https://id.example.org/"}]}`
		preview := func(secret string) string {
			app, err := repositories.DecodeApp("a", []byte(strings.ReplaceAll(body, "SECRET", secret)))
			require.NoError(t, err)
			operation, err := definitions.PreviewApp(t.Context(), store.AppChange{AppID: "a", Next: func(*repositories.App) (*repositories.App, error) { return app, nil }}, "")
			require.NoError(t, err)
			return operation
		}
		require.Equal(t, store.WouldCreate, preview("one"))
		require.Equal(t, store.WouldCreate, preview("one"), "the first has written nothing")
		putApp(t, definitions, "a", strings.ReplaceAll(body, "SECRET", "one"))
		for _, step := range [][2]string{
			{"one", store.WouldLeave}, {"***", store.WouldLeave}, {"two", store.WouldUpdate}, {"one", store.WouldLeave},
		} {
			require.Equal(t, step[1], preview(step[0]), step[0])
		}
	})
}

func TestPreviewOfARepositoryComparesCredentialsAndFailsAsTheWriteWould(t *testing.T) {
	stores(t, func(t *testing.T, definitions *store.Store, _ *redistest.Server) {
		preview := func(id, body string) (string, error) {
			repository, err := repositories.DecodeRepository(session, id, []byte(body))
			require.NoError(t, err)
			return definitions.PreviewRepository(t.Context(), store.ReplaceChange(repository), "")
		}
		_, err := put(t, definitions, session, "r", withCredentials)
		require.NoError(t, err)
		stored, err := definitions.Repository(t.Context(), session, "r")
		require.NoError(t, err)
		for body, want := range map[string]string{
			withCredentials: store.WouldLeave,
			strings.ReplaceAll(withCredentials, "bearer-secret", "***"):                                store.WouldLeave,
			strings.ReplaceAll(withCredentials, "bearer-secret", "other"):                              store.WouldUpdate,
			strings.ReplaceAll(withCredentials, "header-secret", "other"):                              store.WouldUpdate,
			strings.ReplaceAll(withCredentials, `"X-Desk":"A"`, `"X-Desk":"B"`):                        store.WouldUpdate,
			strings.ReplaceAll(withCredentials, `{"tools"`, `{"options":{"triggerOnce":true},"tools"`): store.WouldUpdate,
		} {
			operation, err := preview("r", body)
			require.NoError(t, err)
			require.Equal(t, want, operation, body)
		}
		operation, err := preview("other", withCredentials)
		require.NoError(t, err)
		require.Equal(t, store.WouldCreate, operation)
		again, err := definitions.Repository(t.Context(), session, "r")
		require.NoError(t, err)
		require.Equal(t, stored.Revision, again.Revision)

		_, err = preview("r", `{"tools":[{"name":"a","url":"https://x.example","request":{"moduleId":"none"}}]}`)
		require.ErrorContains(t, err, `the app has no module "none"`)
		_, err = preview("other", strings.ReplaceAll(withCredentials, "bearer-secret", "***"))
		require.ErrorContains(t, err, "none is stored here")
	})
}
