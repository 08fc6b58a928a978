package auth_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/identity"
	"earshot/deploy/testbed/apitest"
	"earshot/trigger/effect"
)

const (
	mcpOfApp     = "/v1/apps/clinic/mcp"
	mcpOfSession = "/v1/apps/clinic/sessions/s1/mcp"
	metadata     = "/.well-known/oauth-protected-resource"
)

// quiet is a stream without events.
type quiet struct{ api.Events }

func (quiet) Now(context.Context) (uint64, error) { return 1, nil }

func (quiet) Follow(context.Context, string, string, uint64) (<-chan effect.Published, error) {
	return make(chan effect.Published), nil
}

// agency is a clinic with tools for verified users, whose agents may use an issuer's tokens.
func agency(t *testing.T) (apitest.World, *idp) {
	p := newIDP(t)
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Identities = identity.New(identity.Options{Logger: o.Logger}) })
	w.Call("PUT", "/v1/apps/shop", `{}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic", `{"authServices":[{"name":"corp","type":"oidc","issuer":"`+p.url+`","audience":"clinic","agents":"`+w.URL+`"}]}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"payroll","authRequired":["corp"]},
		{"name":"leave","url":"https://example.org/leave","schema":[{"parameter":"who","type":"string","required":true,"authServices":[{"name":"corp","field":"profile.mail"}]}]}]}`).Is(201, "")
	w.Sink.Answers(func(e effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`"done"`)}
	})
	return w, p
}

// rpc calls by MCP as somebody with a token.
func rpc(w apitest.World, path, token, method, params string) apitest.Answer {
	w.T.Helper()
	var named struct{ Name, TaskID string }
	require.NoError(w.T, json.Unmarshal([]byte("{"+params+"}"), &named))
	if params != "" {
		params += ","
	}
	return w.Call("POST", path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`,
		apitest.Bearer(token), "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: "+method, "Mcp-Name: "+named.Name+named.TaskID)
}

func (p *idp) forResource(url string, change map[string]any) string {
	claims := map[string]any{"aud": url, "azp": "an agent", "client_id": "an agent"}
	for name, value := range change {
		claims[name] = value
	}
	return p.tokenOf(claims)
}

func TestAnMCPURLSaysWhoseTokensAreGoodThere(t *testing.T) {
	w, p := agency(t)
	for _, path := range []string{mcpOfApp, mcpOfApp + "/desk", mcpOfSession, mcpOfSession + "/desk"} {
		for _, at := range []string{metadata + path, metadata + path + "/"} {
			w.Call("GET", at, "", "Authorization: ").Is(200, `{"resource":"`+w.URL+path+`","authorization_servers":["`+p.url+`"],"bearer_methods_supported":["header"],"scopes_supported":["openid"]}`)
		}
		got := w.Call("POST", path, `{}`, "Authorization: ").Is(401, "")
		require.Equal(t, `Bearer realm="earshot", resource_metadata="`+w.URL+metadata+path+`"`, got.Header.Get("WWW-Authenticate"))
	}
	unknown := w.Call("GET", metadata+"/v1/apps/none/mcp", "", "Authorization: ").Is(404, "")
	for _, path := range []string{"/v1/apps/shop/mcp", "/v1/apps/clinic", "/v1/apps/clinic/mcp/a/b", "/v1/apps/clinic/sessions/s1", "/v1/apps/a%20b/mcp"} {
		require.Equal(t, string(unknown.Body), string(w.Call("GET", metadata+path, "", "Authorization: ").Is(404, "").Body), path)
	}
	for _, path := range []string{"/v1/apps/shop/mcp", "/v1/apps/none/mcp", "/v1/apps/clinic/triggers"} {
		require.Equal(t, `Bearer realm="earshot"`, w.Call("POST", path, `{}`, "Authorization: ").Is(401, "").Header.Get("WWW-Authenticate"))
		require.Equal(t, `Bearer realm="earshot", error="invalid_token"`, w.Post(path, "{}", p.forResource(w.URL+path, nil)).Is(401, "").Header.Get("WWW-Authenticate"), path)
	}

	w.Call("PATCH", "/v1/apps/clinic", `{"authServices":[{"name":"elsewhere","type":"oidc","issuer":"https://one.example","audience":"a","agents":"https://earshot.example"},
		{"name":"corp","type":"oidc","issuer":"`+p.url+`","audience":"clinic","agents":"`+w.URL+`"}]}`).Is(200, "")
	require.Contains(t, string(w.Call("GET", metadata+mcpOfApp, "").Is(200, "").Body), `"resource":"`+w.URL+mcpOfApp+`","authorization_servers":["`+p.url+`"]`)
	require.Contains(t, string(w.Call("GET", metadata+mcpOfApp, "", "Host: other.example").Is(200, "").Body), p.url)
}

func TestATokenOfAnIssuerIsABearerOfItsUser(t *testing.T) {
	w, p := agency(t)
	for _, token := range []string{p.forResource(w.URL+mcpOfApp, nil), p.forResource("", map[string]any{"aud": []string{"x", w.URL + mcpOfApp}}), p.token(time.Hour)} {
		require.Contains(t, string(rpc(w, mcpOfApp, token, "tools/list", "").Is(200, "").Body), `"payroll"`)
		require.Contains(t, string(rpc(w, mcpOfApp, token, "tools/call", `"name":"leave","arguments":{}`).Is(200, "").Body), `"text":"done"`)
		require.Contains(t, string(rpc(w, mcpOfApp, token, "tools/call", `"name":"payroll","arguments":{}`).Is(200, "").Body), `\"state\":\"published\"`)
	}
	require.Contains(t, string(w.Sink.All()[0].Data)+string(w.Sink.All()[1].Data), "anna@example.org")

	other := newIDP(t)
	other.url = p.url
	for name, token := range map[string]string{
		"expired": p.forResource(w.URL+mcpOfApp, map[string]any{"exp": time.Now().Add(-2 * time.Minute).Unix()}), "forged": other.forResource(w.URL+mcpOfApp, nil),
		"of another resource": p.forResource(w.URL+mcpOfSession, nil), "of another service": p.forResource("https://evil.example"+mcpOfApp, nil),
		"of nobody": p.forResource(w.URL+mcpOfApp, map[string]any{"sub": ""}), "of another issuer": p.forResource(w.URL+mcpOfApp, map[string]any{"iss": "https://other.example"}),
		"of another party": p.tokenOf(map[string]any{"azp": "an agent"}),
	} {
		got := rpc(w, mcpOfApp, token, "tools/list", "").Is(401, "")
		require.Equal(t, `Bearer realm="earshot", error="invalid_token", resource_metadata="`+w.URL+metadata+mcpOfApp+`"`, got.Header.Get("WWW-Authenticate"), name)
		require.NotContains(t, string(got.Body), token)
	}
	good := p.forResource(w.URL+"/v1/apps/clinic/triggers", map[string]any{"aud": []string{"clinic", w.URL + mcpOfApp}, "azp": "clinic"})
	w.Call("GET", "/v1/apps/clinic/triggers", "", apitest.Bearer(good)).Is(401, "")
	w.Call("GET", "/v1/whoami", "", apitest.Bearer(good)).Is(401, "")
}

func TestATokenOfAnIssuerIsGoodInSessionsOfItsUser(t *testing.T) {
	w, p := agency(t)
	token := p.forResource(w.URL+mcpOfSession, nil)
	rpc(w, mcpOfSession, token, "tools/list", "").Problem(403, "this session is of another user than the access token, or of none")
	w.Call("PUT", "/v1/apps/clinic/sessions/s1", `{"user":"subject-of-bert"}`).Is(201, "")
	rpc(w, mcpOfSession, token, "tools/list", "").Problem(403, "this session is of another user than the access token, or of none")
	berts := p.forResource(w.URL+mcpOfSession, map[string]any{"sub": "subject-of-bert"})
	require.Contains(t, string(rpc(w, mcpOfSession, berts, "tools/call", `"name":"leave","arguments":{}`).Is(200, "").Body), `"text":"done"`)
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":1}}}`).Is(200, "")
	rpc(w, mcpOfSession, berts, "tools/call", `"name":"leave","arguments":{}`).Is(429, "")
}

func TestUsersOfAnIssuerSeeTheirOwnCallsAlone(t *testing.T) {
	w, p := agency(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/more", `{"tools":[{"name":"measure","answer":{"within":"1h"}}]}`).Is(201, "")
	anna, bert := p.forResource(w.URL+mcpOfApp, nil), p.forResource(w.URL+mcpOfApp, map[string]any{"sub": "subject-of-bert"})
	taskOf := func(token string) (id string) {
		var begun struct{ Result struct{ TaskID string } }
		require.NoError(t, json.Unmarshal(rpc(w, mcpOfApp, token, "tools/call", `"name":"measure","arguments":{}`).Is(200, "").Body, &begun))
		require.NotEmpty(t, begun.Result.TaskID)
		return begun.Result.TaskID
	}
	id := taskOf(anna)
	require.NotEqual(t, id, taskOf(bert))
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		require.Contains(t, string(rpc(w, mcpOfApp, bert, method, `"taskId":"`+id+`"`).Is(400, "").Body), "no task of that id")
	}
	require.Contains(t, string(rpc(w, mcpOfApp, anna, "tasks/get", `"taskId":"`+id+`"`).Is(200, "").Body), `"working"`)
}

// TestASubscriptionEndsWithItsIssuer removes the issuer while an agent listens.
func TestASubscriptionEndsWithItsIssuer(t *testing.T) {
	p := newIDP(t)
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) {
		o.Identities, o.Events = identity.New(identity.Options{Logger: o.Logger}), quiet{}
	})
	service := `{"authServices":[{"name":"corp","type":"oidc","issuer":"` + p.url + `","audience":"clinic"%s}]}`
	w.Call("PUT", "/v1/apps/clinic", strings.Replace(service, "%s", `,"agents":"`+w.URL+`"`, 1)).Is(201, "")
	request, err := http.NewRequestWithContext(t.Context(), "POST", w.URL+mcpOfApp, strings.NewReader(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	require.NoError(t, err)
	for name, value := range map[string]string{"Authorization": "Bearer " + p.forResource(w.URL+mcpOfApp, nil), "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen", "Content-Type": "application/json"} {
		request.Header.Set(name, value)
	}
	got, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer got.Body.Close()
	require.Equal(t, 200, got.StatusCode)
	w.Call("PATCH", "/v1/apps/clinic", strings.Replace(service, "%s", "", 1)).Is(200, "")
	body, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "acknowledged")
}

func TestAnIssuerThatIsAwayRefusesNobody(t *testing.T) {
	w, p := agency(t)
	w.Call("PATCH", "/v1/apps/clinic", `{"authServices":[{"name":"corp","type":"oidc","issuer":"http://127.0.0.1:1","audience":"clinic","agents":"`+w.URL+`"}]}`).Is(200, "")
	got := rpc(w, mcpOfApp, p.forResource(w.URL+mcpOfApp, map[string]any{"iss": "http://127.0.0.1:1"}), "tools/list", "")
	got.Problem(503, "the access token was not accepted: its issuer cannot be asked now")
	require.Equal(t, "1", got.Header.Get("Retry-After"))
}
