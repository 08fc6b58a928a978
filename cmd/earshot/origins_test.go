package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOriginsOfThisMachineAreKnown(t *testing.T) {
	for origin, is := range map[string]bool{
		"http://localhost": true, "http://localhost:5173": true, "https://localhost:8443": true, "http://127.0.0.1:3000": true, "http://127.8.8.8": true, "http://[::1]:3000": true,
		"http://localhost.evil.example": false, "http://127.0.0.1.evil.example": false, "http://evil.example#localhost": false, "http://localhost@evil.example": false,
		"http://localhost/": false, "ftp://localhost": false, "file://": false, "null": false, "": false, "localhost": false, "http://10.0.0.1": false, "http://[::ffff:10.0.0.1]": false, "http://0.0.0.0": false,
	} {
		require.Equal(t, is, isLocal(origin), origin)
	}
}

// asPage sends a request as a browser does for a page of an origin.
func asPage(t *testing.T, method, url, origin, body string, headers map[string]string) *http.Response {
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Origin", origin)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	if host := headers["Host"]; host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response
}

var preflight = map[string]string{"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}

func TestPagesOfThisMachineMayCallDev(t *testing.T) {
	t.Parallel()
	w := atDev(t, nil)
	r := w.replicas[0]
	w.put("/v1/apps/clinic", `{}`)
	messages, text := r.url+"/v1/apps/clinic/sessions/s1/messages", `{"actor":"user","text":"hello"}`
	for _, origin := range []string{"http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:8000"} {
		asked := asPage(t, "OPTIONS", messages, origin, "", preflight)
		require.Equal(t, origin, asked.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, asked.Header.Get("Access-Control-Allow-Methods"), "POST")
		posted := asPage(t, "POST", messages, origin, text, map[string]string{"Content-Type": "application/json"})
		require.Equal(t, http.StatusOK, posted.StatusCode)
		require.Equal(t, origin, posted.Header.Get("Access-Control-Allow-Origin"))
	}
	require.NotContains(t, r.log.String(), "origin.refused")

	elsewhere := "http://chat.example"
	for range 2 {
		require.Empty(t, asPage(t, "OPTIONS", messages, elsewhere, "", preflight).Header.Get("Access-Control-Allow-Origin"))
	}
	require.Equal(t, http.StatusForbidden, asPage(t, "POST", messages, elsewhere, text, map[string]string{"Content-Type": "application/json"}).StatusCode)
	said := r.log.Await(t, `(origin\.refused.+settings\.allowedOrigins)`)
	require.Contains(t, said, elsewhere)
	require.Equal(t, 1, strings.Count(r.log.String(), "origin.refused"), "a page that asks again and again is told of once")

	// A foreign name that resolves here is sent as host and origin.
	rebound := asPage(t, "POST", messages, "http://rebound.example", text, map[string]string{"Content-Type": "application/json", "Host": "rebound.example"})
	require.Equal(t, http.StatusForbidden, rebound.StatusCode)

	w.put("/v1/apps/clinic", `{"settings":{"allowedOrigins":["`+elsewhere+`"]}}`)
	require.Equal(t, elsewhere, asPage(t, "OPTIONS", messages, elsewhere, "", preflight).Header.Get("Access-Control-Allow-Origin"))
}

func TestPagesOfThisMachineNeedToBeAllowedByServe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.serve()
	w.put("/v1/apps/clinic", `{}`)
	require.Empty(t, asPage(t, "OPTIONS", r.url+"/v1/apps/clinic/sessions/s1/messages", "http://localhost:5173", "", preflight).Header.Get("Access-Control-Allow-Origin"))
}
