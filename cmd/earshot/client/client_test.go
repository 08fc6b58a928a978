package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/client"
	"earshot/repositories/secret"
)

// answering is a client of a service with this handler.
func answering(t *testing.T, handle http.HandlerFunc) *client.Client {
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return &client.Client{Server: server.URL + "/", Key: secret.New("key")}
}

func TestEveryPageOfAListIsRead(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "Bearer key", r.Header.Get("Authorization"))
		next := map[string]string{"": "a b", "a b": "c"}[r.URL.Query().Get("after")]
		fmt.Fprintf(w, `{"items":[{"from":%q,"limit":%s}],"next":%q}`, r.URL.Query().Get("after"), r.URL.Query().Get("limit"), next)
	})
	items, err := client.All[json.RawMessage](t.Context(), c, client.Path("apps", "a/b"))
	require.NoError(t, err)
	require.Equal(t, `[{"from":"","limit":200} {"from":"a b","limit":200} {"from":"c","limit":200}]`, fmt.Sprintf("%s", items))
}

func TestARefusalSaysWhatTheServiceSaysAndWhatHelps(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/v1/apps/a%2Fb", r.URL.EscapedPath())
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"status":403,"title":"Forbidden","detail":"not yours"}`)
	})
	_, err := c.Call(t.Context(), "GET", client.Path("apps", "a/b"), nil)
	require.EqualError(t, err, "the service answers 403 Forbidden: not yours (a key is given with --key or EARSHOT_KEY)")
	require.True(t, client.HasStatus(err, http.StatusForbidden))
	require.False(t, client.HasStatus(err, http.StatusNotFound))
	var refusal *client.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, 7*time.Second, refusal.RetryAfter)
}

func TestWhatIsNoAnswerOfEarshotIsSaidWithoutThePassword(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	c.Server = "http://user:hunter2@" + c.Server[len("http://"):]
	_, err := c.Call(t.Context(), "GET", "/v1/apps", nil)
	require.ErrorContains(t, err, "user:xxxxx@")
	require.ErrorContains(t, err, "answers 418 I'm a teapot, and is not an Earshot service")
	c.Server = "http://user:hunter2@127.0.0.1:1"
	_, err = c.Call(t.Context(), "GET", "/v1/apps", nil)
	require.ErrorContains(t, err, "no Earshot answers at http://user:xxxxx@127.0.0.1:1: ")
	require.NotContains(t, err.Error(), "hunter2")
}
