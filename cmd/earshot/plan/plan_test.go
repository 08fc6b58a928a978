package plan

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/client"
)

func TestApplyGoesOnWhenItMayCompareCredentialsAgain(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 3 {
			_, _ = w.Write([]byte(`{"operation":"unchanged"}`))
			return
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"status":429,"title":"Too Many Requests"}`))
	}))
	defer server.Close()
	var pauses []time.Duration
	p := &Planner{Service: &client.Client{Server: server.URL}, Pause: func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}}
	answer, err := p.preview(t.Context(), "/v1/apps/clinic", []byte(`{}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"operation":"unchanged"}`, string(answer))
	require.Equal(t, []time.Duration{7 * time.Second, 7 * time.Second}, pauses)
}

func TestApplyPrintsWhatTheServiceNotes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"notes":["tool \"book\" is in two repositories"]}`))
	}))
	defer server.Close()
	made := &Plan{appID: "clinic", steps: []step{{operation: opUpdate, kind: "repository", id: "booking", body: []byte(`{}`)}}}
	var out strings.Builder
	require.NoError(t, made.Apply(t.Context(), &client.Client{Server: server.URL}, &out))
	require.Equal(t, "note: repository booking: tool \"book\" is in two repositories\n", out.String())
}
