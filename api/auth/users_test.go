package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/identity"
	"earshot/deploy/testbed/apitest"
	"earshot/matcher"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// idp is an OpenID provider that signs tokens for a test.
type idp struct {
	t   *testing.T
	url string
	key *rsa.PrivateKey
}

func newIDP(t *testing.T) *idp {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	p := &idp{t: t, key: key}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}}
		if strings.HasPrefix(r.URL.Path, "/.well-known") {
			answer = map[string]string{"issuer": p.url, "jwks_uri": p.url + "/keys"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *idp) token(life time.Duration) string {
	return p.tokenOf(map[string]any{"exp": time.Now().Add(life).Unix()})
}

// tokenOf is a valid token with changes.
func (p *idp) tokenOf(change map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: "k"}}, nil)
	require.NoError(p.t, err)
	claims := map[string]any{"iss": p.url, "aud": "clinic", "sub": "subject-of-anna", "exp": time.Now().Add(time.Hour).Unix(),
		"profile": map[string]string{"mail": "anna@example.org"}, "groups": []string{"planted-group"}}
	maps.Copy(claims, change)
	payload, err := json.Marshal(claims)
	require.NoError(p.t, err)
	signed, err := signer.Sign(payload)
	require.NoError(p.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(p.t, err)
	return token
}

// ward is a live world with tools for verified users, and their identity provider.
func ward(t *testing.T, match apitest.Scripted) (apitest.World, *idp) {
	p := newIDP(t)
	w := apitest.Live(t, match, func(o *api.Options) { o.Identities = identity.New(identity.Options{Logger: o.Logger}) })
	w.Call("PUT", "/v1/apps/clinic", `{"authServices":[{"name":"corp","type":"oidc","issuer":"`+p.url+`","audience":"clinic"},{"name":"google","type":"google","clientId":"c"}]}`).Is(201, "")
	w.Call("PUT", apitest.BookingPath, `{"tools":[{"name":"payroll","authRequired":["corp","google"]},
		{"name":"leave","url":"https://example.org/leave","schema":[{"parameter":"who","type":"string","authServices":[{"name":"corp","field":"profile.mail"}]}]}]}`).Is(201, "")
	return w, p
}

// leave calls every candidate, with another user's name as a value.
func leave(request matcher.Request) (matcher.Result, error) {
	result := matcher.Result{Stage: matcher.StageLLM}
	for _, candidate := range request.Candidates {
		reading := candidate.Tool.Params().Read(map[string]any{"who": "boss@example.org"})
		result.Matches = append(result.Matches, matcher.Match{Candidate: candidate, Values: reading.Values})
	}
	return result, nil
}

func TestAMessageFiresToolsForTheUserThatIsVerified(t *testing.T) {
	w, p := ward(t, leave)
	other := newIDP(t)
	other.url = p.url
	for name, test := range map[string]struct {
		header string
		auth   map[string]string
	}{
		"none":               {"X-Nothing: x", nil},
		"empty":              {"corp_token: ", nil},
		"unknown service":    {"other_token: " + p.token(time.Hour), nil},
		"expired":            {"corp_token: " + p.token(-2*time.Minute), map[string]string{"corp": "expired"}},
		"other audience":     {"corp_token: " + p.tokenOf(map[string]any{"aud": "shop"}), map[string]string{"corp": "audience"}},
		"of another service": {"google_token: " + p.token(time.Hour), map[string]string{"google": "unavailable"}},
		"forged":             {"corp_token: " + other.token(time.Hour), map[string]string{"corp": "signature"}},
		"no token":           {"corp_token: let me in", map[string]string{"corp": "malformed"}},
	} {
		var answer query.Answer
		first := w.Call("POST", apitest.MessagesPath, `{"messageId":"`+strings.ReplaceAll(name, " ", "-")+`","actor":"user","text":"leave"}`, test.header).Is(200, "").Body
		require.NoError(t, json.Unmarshal(first, &answer))
		require.Empty(t, answer.Matches, name)
		if name == "of another service" && answer.Auth["google"] == "signature" {
			test.auth = answer.Auth // this test can reach Google
		}
		require.Equal(t, test.auth, answer.Auth, name)
		again := w.Call("POST", apitest.MessagesPath, `{"messageId":"`+answer.MessageID+`","actor":"user","text":"leave"}`).Is(200, "").Body
		require.Equal(t, string(first), string(again), "a repeat is answered as before, whatever comes with it")
		var entry query.Entry
		require.NoError(t, json.Unmarshal(w.Call("GET", apitest.MessagesPath+"/"+answer.MessageID, "").Is(200, "").Body, &entry))
		require.Equal(t, test.auth, entry.Auth, name)
	}
	var answer query.Answer
	require.NoError(t, json.Unmarshal(w.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"leave"}`, "corp_token: "+p.token(time.Hour)).Is(200, "").Body, &answer))
	require.Len(t, answer.Matches, 2)
	require.Equal(t, "anna@example.org", answer.Matches[0].Values["who"], "the claim and not the model's word")
}

func TestAMessageSaysWhichTokensDoNotDo(t *testing.T) {
	w, p := ward(t, leave)
	say := func(query, body, header string, more ...string) (answer query.Answer) {
		t.Helper()
		require.NoError(t, json.Unmarshal(w.Call("POST", apitest.MessagesPath+query, body, append(more, header)...).Body, &answer))
		return answer
	}
	bare := "corp_token: " + p.tokenOf(map[string]any{"profile": nil})
	lacks := map[string]string{"corp": "claim"}
	require.Equal(t, lacks, say("?dryRun=true", `{"actor":"user","text":"leave"}`, bare).Auth)
	require.Equal(t, lacks, say("", `{"messageId":"d","actor":"user","text":"leave","final":false}`, bare).Auth)
	var decided query.Answer
	require.NoError(t, json.Unmarshal(w.Call("POST", apitest.MessagesPath+"/d/commit", "").Is(200, "").Body, &decided))
	require.Equal(t, lacks, decided.Auth, "a draft is decided with what it came with")
	require.Len(t, decided.Matches, 1, "payroll takes no claim")
	require.Nil(t, say("", `{"actor":"agent","text":"hello"}`, bare).Auth, "nothing is matched")
	require.Nil(t, say("", `{"actor":"user","text":"leave"}`, "corp_token: "+p.token(time.Hour)).Auth)

	later := say("", `{"messageId":"later","actor":"user","text":"leave"}`, bare, "Prefer: respond-async")
	require.Equal(t, "later", later.MessageID)
	require.Eventually(t, func() bool {
		var entry query.Entry
		require.NoError(t, json.Unmarshal(w.Call("GET", apitest.MessagesPath+"/later", "").Is(200, "").Body, &entry))
		require.Equal(t, lacks, entry.Auth)
		return entry.State == query.EntryDecided
	}, time.Minute, 5*time.Millisecond)
}

func TestADirectTriggerWithoutTheUserIs401AndNamesTheServices(t *testing.T) {
	w, p := ward(t, leave)
	path := "/v1/apps/clinic/sessions/s1/triggers"
	w.Call("POST", path, `{"name":"payroll","source":"ui"}`).Problem(401, "corp_token or google_token")
	w.Call("POST", path, `{"name":"payroll","source":"ui"}`, "corp_token: "+p.token(-2*time.Minute)).Problem(401, "corp_token: the ID token was not accepted: it has expired")
	w.Call("POST", path, `{"name":"payroll","source":"ui"}`, "corp_token: "+p.tokenOf(map[string]any{"aud": "shop"})).Problem(401, "its audience (aud) is not this service")
	w.Call("POST", path, `{"name":"leave","source":"ui","values":{"who":"boss@example.org"}}`).Problem(401, "who", "corp")
	w.Call("POST", path, `{"name":"payroll","source":"ui"}`, "CORP_TOKEN: "+p.token(time.Hour)).Is(201, "")
	got := w.Call("POST", path, `{"name":"leave","source":"ui","values":{"who":"boss@example.org"}}`, "corp_token: "+p.token(time.Hour)).Is(201, "")
	require.Contains(t, string(got.Body), `"who":"anna@example.org"`)
}

func TestAnIDTokenIsKeptAndShownNowhere(t *testing.T) {
	var asked []matcher.Request
	w, p := ward(t, func(request matcher.Request) (matcher.Result, error) {
		asked = append(asked, request)
		if len(asked) == 1 {
			return matcher.Result{}, &matcher.Unavailable{Reason: "it answered 500"}
		}
		return leave(request)
	})
	token := p.token(time.Hour)
	signature := token[strings.LastIndexByte(token, '.')+1:]
	shown := string(w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "corp_token: "+token).Body)
	waiting := everythingStored(w)
	require.Contains(t, waiting, "anna@example.org", "what the tools need waits with the message")
	shown += string(w.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, "").Body)
	shown += string(w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"leave","source":"ui"}`, "corp_token: "+token).Is(201, "").Body)
	shown += string(w.Call("GET", apitest.MessagesPath, "").Body) + waiting + everythingStored(w) + w.Log.String()
	for _, event := range w.Sink.All() {
		shown += string(event.Data)
	}
	for _, request := range asked {
		for _, candidate := range request.Candidates {
			shown += string(candidate.Tool.Params().ModelSchema())
		}
	}
	require.Contains(t, shown, "anna@example.org")
	for _, secret := range []string{token, signature, "planted-group", "subject-of-anna"} {
		require.NotContains(t, shown, secret)
	}
}

// everythingStored returns all that Redis holds, as text.
func everythingStored(w apitest.World) string {
	client, all := w.Redis.Client(), ""
	keys, err := client.Keys(w.T.Context(), "*").Result()
	require.NoError(w.T, err)
	for _, key := range keys {
		for field, value := range client.HGetAll(w.T.Context(), key).Val() {
			all += field + value
		}
		all += strings.Join(client.LRange(w.T.Context(), key, 0, -1).Val(), " ")
	}
	return all
}

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
	rpc(w, mcpOfSession, token, "tools/list", "").Problem(403, "this session belongs to another user than the access token, or to no user")
	w.Call("PUT", "/v1/apps/clinic/sessions/s1", `{"user":"subject-of-bert"}`).Is(201, "")
	rpc(w, mcpOfSession, token, "tools/list", "").Problem(403, "this session belongs to another user than the access token, or to no user")
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
