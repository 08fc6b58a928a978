package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
)

func TestPagesOfAllowedOriginsMayCall(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{"settings":{"allowedOrigins":["https://app.example","http://localhost:5173"]}}`).Is(201, "")
	w.Call("PUT", "/v1/apps/open", `{"settings":{"allowedOrigins":["*"]}}`).Is(201, "")
	preflight := func(app, origin string) apitest.Answer {
		return w.Call("OPTIONS", "/v1/apps/"+app+"/sessions/s1/messages", "", "Authorization: ", "Origin: "+origin,
			"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: Authorization, content-type,corp_token, x-other, bad name_token").Is(204, "")
	}
	for app, origin := range map[string]string{"clinic": "https://app.example", "open": "https://whoever.example"} {
		got := preflight(app, origin)
		require.Equal(t, origin, got.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, got.Header.Get("Access-Control-Allow-Methods"), "POST")
		require.Equal(t, "authorization, content-type, corp_token", got.Header.Get("Access-Control-Allow-Headers"))
		require.NotEmpty(t, got.Header.Get("Access-Control-Max-Age"))
		require.Contains(t, got.Header.Values("Vary"), "Origin")
		require.Empty(t, got.Header.Get("Access-Control-Allow-Credentials"))
	}
	for _, status := range []string{apitest.AdminKey, "wrong"} {
		got := w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Origin: http://localhost:5173", apitest.Bearer(status))
		require.Equal(t, "http://localhost:5173", got.Header.Get("Access-Control-Allow-Origin"), "refusals can be read as well")
		require.Contains(t, got.Header.Get("Access-Control-Expose-Headers"), "Retry-After")
	}
	foreign, absent := preflight("clinic", "https://evil.example"), preflight("nobody", "https://evil.example")
	for _, its := range []http.Header{foreign.Header, absent.Header} {
		its.Del("Date")
		its.Del("X-Request-Id")
	}
	require.Equal(t, foreign.Header, absent.Header, "an app that does not exist is as one that allows nothing")
	for _, origin := range []string{"https://evil.example", "https://app.example.evil.example", "http://app.example", "https://app.example:8443", "null"} {
		require.Empty(t, preflight("clinic", origin).Header.Get("Access-Control-Allow-Origin"), origin)
		got := w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Origin: "+origin)
		require.Empty(t, got.Header.Get("Access-Control-Allow-Origin"), origin)
		require.Contains(t, got.Header.Values("Vary"), "Origin")
	}
}

func TestAChangedListOfOriginsHoldsAtOnce(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	for _, c := range []struct{ list, want string }{{`[]`, ""}, {`["https://app.example"]`, "https://app.example"}, {`["https://other.example"]`, ""}} {
		w.Call("PUT", "/v1/apps/clinic", `{"settings":{"allowedOrigins":`+c.list+`}}`)
		got := w.Call("GET", "/v1/apps/clinic", "", "Origin: https://app.example")
		require.Equal(t, c.want, got.Header.Get("Access-Control-Allow-Origin"))
	}
}
