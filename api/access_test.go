package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// permitted lists which routes each kind of caller may use besides the admin. It repeats the contract
// independently of the code under test.
var permitted = map[string]string{
	"GET /v1/whoami": "everybody",
	"GET /v1/apps":   "", "DELETE /v1/apps/{appId}": "",
	"GET /v1/apps/{appId}": "app", "PUT /v1/apps/{appId}": "app", "PATCH /v1/apps/{appId}": "app",
	"GET /v1/apps/{appId}/sources": "app", "GET /v1/apps/{appId}/audit": "app", "GET /v1/apps/{appId}/usage": "app", "GET /v1/apps/{appId}/usage/hosts": "app",
	"GET /v1/apps/{appId}/webhooks": "app", "GET /v1/apps/{appId}/webhooks/{webhookName}/deliveries": "app", "POST /v1/apps/{appId}/webhooks/{webhookName}/resend": "app",
	"POST /v1/apps/{appId}/keys": "app", "GET /v1/apps/{appId}/keys": "app", "DELETE /v1/apps/{appId}/keys/{keyId}": "app",

	"GET /v1/apps/{appId}/repositories": "tools", "POST /v1/apps/{appId}/repositories": "tools",
	"PUT /v1/apps/{appId}/repositories/{repositoryId}": "tools", "PATCH /v1/apps/{appId}/repositories/{repositoryId}": "tools",
	"GET /v1/apps/{appId}/repositories/{repositoryId}": "tools", "DELETE /v1/apps/{appId}/repositories/{repositoryId}": "tools",
	"GET /v1/apps/{appId}/repositories/{repositoryId}/versions": "tools", "GET /v1/apps/{appId}/repositories/{repositoryId}/versions/{version}": "tools",
	"POST /v1/apps/{appId}/repositories/{repositoryId}/versions/{version}/restore": "tools",
	"GET /v1/apps/{appId}/tests": "tools", "GET /v1/apps/{appId}/tests/{testName}": "tools", "PUT /v1/apps/{appId}/tests/{testName}": "tools", "DELETE /v1/apps/{appId}/tests/{testName}": "tools",
	"POST /v1/apps/{appId}/rehearsals":                                                          "messages",
	"DELETE /v1/apps/{appId}/repositories/{repositoryId}/tools/{toolName}":                      "tools",
	"DELETE /v1/apps/{appId}/sessions/{sessionId}/repositories/{repositoryId}/tools/{toolName}": "tools",
	"GET /v1/apps/{appId}/sessions/{sessionId}/repositories":                                    "tools", "POST /v1/apps/{appId}/sessions/{sessionId}/repositories": "tools",
	"PUT /v1/apps/{appId}/sessions/{sessionId}/repositories/{repositoryId}":    "tools",
	"PATCH /v1/apps/{appId}/sessions/{sessionId}/repositories/{repositoryId}":  "tools",
	"GET /v1/apps/{appId}/sessions/{sessionId}/repositories/{repositoryId}":    "tools",
	"DELETE /v1/apps/{appId}/sessions/{sessionId}/repositories/{repositoryId}": "tools",

	"GET /v1/apps/{appId}/tools/usage":   "tools triggers",
	"POST /v1/apps/{appId}/tools/search": "tools triggers", "POST /v1/apps/{appId}/sessions/{sessionId}/tools/search": "tools triggers",
	"GET /v1/apps/{appId}/tools": "tools triggers", "GET /v1/apps/{appId}/sessions/{sessionId}/tools": "tools triggers",

	"POST /v1/apps/{appId}/sessions/{sessionId}/messages": "messages token", "GET /v1/apps/{appId}/sessions/{sessionId}/messages": "messages token",
	"GET /v1/apps/{appId}/sessions/{sessionId}/messages/{messageId}": "messages token", "GET /v1/apps/{appId}/sessions/{sessionId}/messages/{messageId}/explain": "messages",
	"POST /v1/apps/{appId}/sessions/{sessionId}/messages/{messageId}/commit": "messages token", "DELETE /v1/apps/{appId}/sessions/{sessionId}/messages/{messageId}": "messages token",
	"PUT /v1/apps/{appId}/sessions/{sessionId}": "messages", "GET /v1/apps/{appId}/sessions/{sessionId}": "messages token", "GET /v1/apps/{appId}/sessions": "messages",
	"DELETE /v1/apps/{appId}/sessions/{sessionId}": "messages", "DELETE /v1/apps/{appId}/users/{user}": "messages", "GET /v1/apps/{appId}/users/{user}/export": "messages",
	"POST /v1/apps/{appId}/sessions/{sessionId}/token": "messages",

	"POST /v1/apps/{appId}/sessions/{sessionId}/openai/v1/chat/completions": "messages token", "GET /v1/apps/{appId}/sessions/{sessionId}/openai/v1/models": "messages token",
	"POST /v1/apps/{appId}/openai/v1/chat/completions": "messages token own", "GET /v1/apps/{appId}/openai/v1/models": "messages token own",
	"POST /v1/apps/{appId}/sessions/{sessionId}/openai/v1/responses": "messages token", "POST /v1/apps/{appId}/openai/v1/responses": "messages token own",
	"GET /v1/apps/{appId}/sessions/{sessionId}/openai/v1/models/{modelId}": "messages token", "GET /v1/apps/{appId}/openai/v1/models/{modelId}": "messages token own",
	"POST /v1/apps/{appId}/mcp": "triggers", "POST /v1/apps/{appId}/mcp/{repositoryId}": "triggers",
	"POST /v1/apps/{appId}/sessions/{sessionId}/mcp": "triggers token", "POST /v1/apps/{appId}/sessions/{sessionId}/mcp/{repositoryId}": "triggers token",

	"POST /v1/apps/{appId}/sessions/{sessionId}/triggers": "triggers token", "GET /v1/apps/{appId}/sessions/{sessionId}/triggers": "messages triggers",
	"POST /v1/apps/{appId}/triggers": "triggers", "GET /v1/apps/{appId}/triggers": "triggers", "GET /v1/apps/{appId}/backlog": "triggers",
	"GET /v1/apps/{appId}/triggers/{triggerId}": "triggers", "POST /v1/apps/{appId}/triggers/{triggerId}/retry": "triggers",
	"POST /v1/apps/{appId}/triggers/{triggerId}/answer": "triggers token", "POST /v1/apps/{appId}/triggers/{triggerId}/confirm": "triggers token",
	"POST /v1/apps/{appId}/triggers/{triggerId}/deny": "triggers token", "POST /v1/apps/{appId}/triggers/{triggerId}/cancel": "triggers token",
	"GET /v1/apps/{appId}/sessions/{sessionId}/export": "messages", "DELETE /v1/apps/{appId}/triggers/{triggerId}": "triggers",
	"POST /v1/apps/{appId}/triggers/retry": "triggers", "DELETE /v1/apps/{appId}/triggers": "triggers",

	"GET /v1/apps/{appId}/sessions/{sessionId}/events": "messages triggers token", "GET /v1/apps/{appId}/sessions/{sessionId}/socket": "messages triggers token", "GET /v1/apps/{appId}/events": "messages triggers",
}

// goodBodies are valid bodies for routes that need one.
var goodBodies = map[string]string{
	"PUT /v1/apps/{appId}": `{"name":"n"}`, "PATCH /v1/apps/{appId}": `{"name":"n"}`, "PUT /v1/apps/{appId}/sessions/{sessionId}": `{}`, "POST /v1/apps/{appId}/keys": `{"scopes":["tools"]}`,
	"POST /v1/apps/{appId}/sessions/{sessionId}/messages": apitest.HelloBody,
	"POST /v1/apps/{appId}/sessions/{sessionId}/triggers": `{"name":"n","source":"ui"}`,
	"POST /v1/apps/{appId}/triggers":                      `{"name":"n","source":"ui"}`,
	"POST /v1/apps/{appId}/tools/search":                  `{"text":"t"}`, "POST /v1/apps/{appId}/sessions/{sessionId}/tools/search": `{"text":"t"}`,
	"POST /v1/apps/{appId}/openai/v1/chat/completions": `{}`, "POST /v1/apps/{appId}/sessions/{sessionId}/openai/v1/chat/completions": `{}`,
	"POST /v1/apps/{appId}/openai/v1/responses": `{}`, "POST /v1/apps/{appId}/sessions/{sessionId}/openai/v1/responses": `{}`,
	"POST /v1/apps/{appId}/rehearsals": `{}`, "PUT /v1/apps/{appId}/tests/{testName}": `{"chat":[{"user":"hello"}]}`,
	"POST /v1/apps/{appId}/triggers/{triggerId}/answer":  `{"ok":true}`,
	"POST /v1/apps/{appId}/triggers/{triggerId}/confirm": `{"digest":"d"}`,
}

func goodBody(operation string) string {
	if body, ok := goodBodies[operation]; ok {
		return body
	}
	if strings.Contains(operation, "/mcp") {
		return `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	}
	if method, path, _ := strings.Cut(operation, " "); method != "GET" && method != "DELETE" && strings.Contains(path, "/repositories") && !strings.HasSuffix(path, "/restore") {
		return `{"tools":[]}`
	}
	return ""
}

// credentials returns credentials of all kinds, in a world with the app clinic. It makes the app other, of which some
// are.
func credentials(w apitest.World) map[string]string {
	w.Call("PUT", "/v1/apps/other", `{}`).Is(201, "")
	key := func(app string, life time.Duration, scopes ...store.Permission) (id, text string) {
		made, secret, err := w.Store.CreateKey(w.T.Context(), app, store.NewKey{Scopes: scopes, Lifetime: life})
		require.NoError(w.T, err)
		return made.ID, secret.Reveal()
	}
	all := []store.Permission{"tools", "messages", "triggers", "app"}
	sent := map[string]string{"none": "", "admin": apitest.AdminKey}
	for _, scope := range append(all, "tools:read", "messages:read", "triggers:read", "app:read") {
		_, sent[string(scope)] = key("clinic", 0, scope)
	}
	_, sent["other app"] = key("other", 0, all...)
	id, revoked := key("clinic", 0, all...)
	require.NoError(w.T, w.Store.RevokeKey(w.T.Context(), "clinic", id))
	sent["revoked"] = revoked
	_, sent["expired"] = key("clinic", time.Nanosecond, all...)
	_, good := key("clinic", 0, all...)
	sent["wrong"] = good[:len(good)-4] + "AAAA"
	sent["of no app"] = strings.Replace(good, "ek_clinic", "ek_nobody", 1)
	sent["moved"] = strings.Replace(good, "ek_clinic", "ek_other", 1)
	sent["nonsense"] = "ek_..."
	for name, token := range map[string]store.SessionToken{
		"token": {AppID: "clinic", SessionID: "s1", Expires: time.Now().Add(time.Hour)}, "other session": {AppID: "clinic", SessionID: "s2", Expires: time.Now().Add(time.Hour)},
		"token of other": {AppID: "other", SessionID: "s1", Expires: time.Now().Add(time.Hour)}, "expired token": {AppID: "clinic", SessionID: "s1", Expires: time.Now().Add(-time.Second)},
		"orphan token": {AppID: "clinic", SessionID: "s1", Expires: time.Now().Add(time.Hour), KeyID: id},
	} {
		life, err := w.Store.Generation(w.T.Context(), token.AppID, token.SessionID)
		require.NoError(w.T, err)
		token.Generation = life
		signed, err := w.Sealer.SignToken(token)
		require.NoError(w.T, err)
		sent[name] = signed.Reveal()
	}
	foreign, err := store.NewSealer(bytes.Repeat([]byte("x"), store.KeySize))
	require.NoError(w.T, err)
	forged, err := foreign.SignToken(store.SessionToken{AppID: "clinic", SessionID: "s1", Expires: time.Now().Add(time.Hour)})
	require.NoError(w.T, err)
	sent["forged token"] = forged.Reveal()
	return sent
}

// unknown are the credentials that are not authenticated.
var unknown = map[string]bool{
	"none": true, "revoked": true, "expired": true, "wrong": true, "of no app": true, "moved": true, "nonsense": true,
	"expired token": true, "orphan token": true, "forged token": true,
}

// lets reports whether the contract lets a kind of credential use a route; own means any session's token, for
// its own session.
func lets(operation, kind string) bool {
	if kind == "other session" {
		kind = "own"
	}
	if scope, read := strings.CutSuffix(kind, ":read"); read && (strings.HasPrefix(operation, "GET ") || strings.HasSuffix(operation, "/tools/search")) {
		kind = scope
	}
	for _, word := range strings.Fields(permitted[operation]) {
		if word == kind {
			return true
		}
	}
	return kind == "admin" || permitted[operation] == "everybody"
}

var pathIDs = strings.NewReplacer("{appId}", "clinic", "{messageId}", "m1", "{sessionId}", "s1", "{repositoryId}", "r1", "{triggerId}", "t1", "{keyId}", "k1", "{toolName}", "t", "{webhookName}", "desk", "{version}", "1", "{testName}", "t")

// neededQuery is the query that an operation requires.
var neededQuery = map[string]string{"DELETE /v1/apps/{appId}/triggers": "?state=failed", "DELETE /v1/apps/{appId}/users/{user}": "?erase=true"}

func TestEveryRouteLetsInWhomTheContractNamesAndNobodyElse(t *testing.T) {
	w := atClinic(t)
	sent := credentials(w)
	// The routes run on doubles, so that permitted requests have no effect; the keys are real.
	over := start(t, func(o *api.Options) {
		o.Keys, o.Tokens, o.Events = keysOf{Keys: w.Store}, w.Sealer, apitest.QuietEvents{}
	})
	over.store.apps = []*repositories.App{{ID: "clinic"}}
	tried := 0
	for operation := range over.Routes() {
		method, path, _ := strings.Cut(operation, " ")
		if !strings.HasPrefix(path, "/v1") {
			continue
		}
		require.Contains(t, permitted, operation, "the contract says nothing of it")
		for kind, credential := range sent {
			tried++
			ask, want := over.Call, []int{403}
			switch {
			case unknown[kind]:
				want = []int{401}
			case lets(operation, kind):
				ask, want = over.Ask, nil // a double may panic
			}
			got := ask(method, pathIDs.Replace(path)+neededQuery[operation], goodBody(operation), "Authorization: Bearer "+credential, "Prefer: respond-async")
			if want == nil {
				require.NotContains(t, []int{401, 403}, got.StatusCode, "%s as %s: %s", operation, kind, got.Body)
				continue
			}
			require.Contains(t, want, got.StatusCode, "%s as %s: %s", operation, kind, got.Body)
			require.NotEmpty(t, got.Header.Get("WWW-Authenticate"))
		}
	}
	require.Equal(t, len(permitted)*len(sent), tried)
}

func TestNoAnswerTellsWhetherSomethingOfAnotherAppExists(t *testing.T) {
	w := atClinic(t, func(o *api.Options) { o.Events = apitest.QuietEvents{} })
	w.Call("PUT", apitest.BookingPath, strings.ReplaceAll(apitest.BookingBody, `"auth":"module","moduleId":"calendar",`, `"auth":"none",`)).Is(201, "")
	sent := credentials(w)
	spans := regexp.MustCompile(`[0-9a-f]{16,}`)
	look := func(method, path, body, credential string) string {
		got := w.Call(method, path, body, "Authorization: Bearer "+credential, "Origin: https://evil.example")
		got.Header.Del("Date")
		got.Header.Del("X-Request-Id")
		header, err := json.Marshal(got.Header)
		require.NoError(t, err)
		return got.Status + spans.ReplaceAllString(string(header)+string(got.Body), "")
	}
	for operation := range permitted {
		method, path, _ := strings.Cut(operation, " ")
		for _, kind := range []string{"other app", "token of other", "none", "revoked", "wrong", "other session"} {
			if kind == "other session" && (lets(operation, kind) || !strings.Contains(path, "{sessionId}") && !lets(operation, "token")) {
				continue
			}
			there := look(method, pathIDs.Replace(path), goodBody(operation), sent[kind])
			for _, ids := range []*strings.Replacer{
				strings.NewReplacer("{appId}", "nobody", "{sessionId}", "s1", "{repositoryId}", "booking", "{triggerId}", "t1", "{keyId}", "k1", "{toolName}", "t", "{webhookName}", "desk", "{version}", "1", "{testName}", "t"),
				strings.NewReplacer("{appId}", "clinic", "{sessionId}", "absent", "{repositoryId}", "booking", "{triggerId}", "absent", "{keyId}", "absent", "{toolName}", "absent", "{webhookName}", "absent", "{version}", "9", "{testName}", "absent"),
			} {
				require.Equal(t, there, look(method, ids.Replace(path), goodBody(operation), sent[kind]), "%s as %s", operation, kind)
			}
		}
	}
}

func TestAFrontEndFiresAsUIAndAsNothingElse(t *testing.T) {
	w := atClinic(t)
	sent := credentials(w)
	for _, source := range []string{"task", "agent"} {
		w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"absent","source":"`+source+`"}`, "Authorization: Bearer "+sent["token"]).Problem(403)
		w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"absent","source":"`+source+`"}`, "Authorization: Bearer "+sent["triggers"]).Problem(404)
	}
	w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"absent","source":"ui"}`, "Authorization: Bearer "+sent["token"]).Problem(404)
}

func TestAKeyOfTheAppIsToldWhichScopeItLacks(t *testing.T) {
	w := atClinic(t)
	sent := credentials(w)
	got := w.Call("POST", apitest.MessagesPath, apitest.HelloBody, "Authorization: Bearer "+sent["tools"])
	got.Problem(403, "this key lacks the scope messages; it has tools")
	require.Equal(t, `Bearer realm="earshot", error="insufficient_scope", scope="messages"`, got.Header.Get("WWW-Authenticate"))
	w.Call("GET", "/v1/apps/clinic/events", "", "Authorization: Bearer "+sent["tools"]).Problem(403, "the scope messages or triggers or messages:read or triggers:read; it has tools")
	w.Call("DELETE", "/v1/apps/clinic", "", "Authorization: Bearer "+sent["app"]).Problem(403, "the admin's alone is")
	for _, kind := range []string{"other app", "token"} {
		got := w.Call("GET", "/v1/apps/clinic/triggers", "", "Authorization: Bearer "+sent[kind])
		got.Problem(403, "this key or token does not permit this request")
		require.NotContains(t, string(got.Body)+got.Header.Get("WWW-Authenticate"), "triggers")
	}
}

func TestIDsAreComparedAsTheyAreMeant(t *testing.T) {
	w := atClinic(t)
	sent := credentials(w)
	for path, status := range map[string]int{
		"/v1/apps/cl%69nic/sessions/s1/messages": 200, "/v1/apps/clinic/sessions/s%31/messages": 200, "/v1/apps/clinic/sessions/s1%2F..%2Fs2/messages": 400,
		"/v1/apps/clinic%00/sessions/s1/messages": 400, "/v1/apps/Clinic/sessions/s1/messages": 403,
	} {
		request, err := http.NewRequest("GET", w.URL+path, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+sent["token"])
		require.Equal(t, status, w.Send(request).StatusCode, path)
	}
}

var openPaths = []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/asyncapi.json", "/docs/reference/api"}

func TestWithoutTheKeyNothingOfAnAppIsServed(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/v1/apps", "/v1/apps/clinic", apitest.MessagesPath, "/v1/apps/clinic/triggers", "/v1/nothing", "/v1"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "HEAD"} {
			got := s.Call(method, path, apitest.HelloBody, "Authorization: ")
			require.Equal(t, 401, got.StatusCode, method+path)
			require.Equal(t, `Bearer realm="earshot"`, got.Header.Get("WWW-Authenticate"))
		}
	}
	for _, path := range openPaths {
		s.Call("GET", path, "", "Authorization: ").Is(200, "")
	}
}

func TestAKeyThatIsNotRightIsRefused(t *testing.T) {
	s := start(t)
	for _, authorization := range []string{
		"Bearer wrong", "Bearer " + apitest.AdminKey + "x", "Bearer " + apitest.AdminKey[1:], "Bearer ", "bearer", "Basic " + apitest.AdminKey, apitest.AdminKey, "Bearer Bearer " + apitest.AdminKey,
	} {
		got := s.Call("GET", "/v1/apps", "", "Authorization: "+authorization)
		got.Problem(401)
		require.NotContains(t, string(got.Body)+s.Log.String(), apitest.AdminKey)
	}
	got := s.Call("GET", "/v1/apps", "", "Authorization: Bearer wrong")
	got.Problem(401, "not valid")
	require.Equal(t, `Bearer realm="earshot", error="invalid_token"`, got.Header.Get("WWW-Authenticate"))
	for _, scheme := range []string{"Bearer", "bearer", "BEARER", "Bearer "} { // it has no case
		s.Call("GET", "/v1/apps", "", "Authorization: "+scheme+" "+apitest.AdminKey).Is(200, "")
	}
}

func TestWithAnEmptyKeyNothingNeedsOne(t *testing.T) {
	s := start(t, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	s.Call("GET", "/v1/apps", "", "Authorization: ").Is(200, `{"items":[]}`)
	s.Call("GET", "/v1/apps", "", "Authorization: Bearer whatever").Is(200, `{"items":[]}`)
}

func TestACallerIsToldWhoItIs(t *testing.T) {
	w := atClinic(t)
	object := bodyOf[map[string]any]
	require.Equal(t, `{"admin":true}`+"\n", string(w.Call("GET", "/v1/whoami", "").Is(200, "").Body))
	key := object(w.Call("POST", "/v1/apps/clinic/keys", `{"name":"k","scopes":["messages"]}`).Is(201, ""))
	as := "Authorization: Bearer " + key["key"].(string)
	require.Equal(t, map[string]any{"admin": false, "appId": "clinic", "keyId": key["keyId"], "scopes": []any{"messages"}},
		object(w.Call("GET", "/v1/whoami", "", as).Is(200, "")))
	token := object(w.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", as).Is(201, ""))
	require.Equal(t, map[string]any{"admin": false, "appId": "clinic", "sessionId": "s1", "expiresAt": token["expiresAt"]},
		object(w.Call("GET", "/v1/whoami", "", "Authorization: Bearer "+token["token"].(string)).Is(200, "")))
}

func TestTheDescriptionSaysWhoMayCall(t *testing.T) {
	s := start(t)
	for operation := range s.Routes() {
		method, path, _ := strings.Cut(operation, " ")
		if !strings.HasPrefix(path, "/v1/") {
			continue
		}
		described := s.Description.At("/paths/" + apitest.Escape(path) + "/" + strings.ToLower(method))
		var roles []string
		for _, role := range described["security"].([]any)[0].(map[string]any)["key"].([]any) {
			roles = append(roles, role.(string))
		}
		var want []string
		for _, kind := range []string{"tools", "messages", "triggers", "app", "tools:read", "messages:read", "triggers:read", "app:read", "token"} {
			if lets(operation, kind) && permitted[operation] != "everybody" {
				want = append(want, strings.Replace(kind, "token", "session", 1))
			}
		}
		require.ElementsMatch(t, want, roles, operation)
	}
}

// accessTo signs an access token of the clinic's present life.
func accessTo(w apitest.World, token store.AccessToken) (text string, complete store.AccessToken) {
	var err error
	token.AppID = "clinic"
	token.Generation, err = w.Store.Generation(w.T.Context(), "clinic", "")
	require.NoError(w.T, err)
	signed, err := w.Sealer.SignAccess(token, "t1")
	require.NoError(w.T, err)
	return signed.Reveal(), token
}

func TestAccessTokenIsAKeyOfItsAppUntilItExpires(t *testing.T) {
	now := time.Now()
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Now = func() time.Time { return now } })
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/other", `{}`).Is(201, "")
	access, token := accessTo(s, store.AccessToken{
		ModuleID: "calendar", ClientID: "calendar", Lineage: "l1", Expires: now.Add(time.Minute),
		Scopes: []store.Permission{store.PermitTools, store.PermitMessages, store.PermitTriggers},
	})
	renewing, err := s.Sealer.SignRefresh(token, "t1")
	require.NoError(t, err)
	with := apitest.Bearer(access)
	s.Call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).Is(201, "")
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody, with).Is(200, "")
	s.Call("GET", "/v1/apps/clinic/triggers", "", with).Is(200, "")
	s.Call("GET", "/v1/apps/clinic", "", with).Problem(403, "lacks the scope app")
	s.Call("GET", "/v1/apps/other/repositories", "", with).Problem(403)
	s.Call("GET", "/v1/apps/clinic/triggers", "", "Authorization: Bearer "+renewing.Reveal()).Problem(401, "not valid")
	now = now.Add(time.Minute)
	s.Call("GET", "/v1/apps/clinic/triggers", "", with).Problem(401, "expired")
}

func TestAccessTokenEndsWithItsApp(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	access, _ := accessTo(s, store.AccessToken{ModuleID: "calendar", Expires: time.Now().Add(time.Minute), Scopes: []store.Permission{store.PermitTriggers}})
	with := apitest.Bearer(access)
	s.Call("GET", "/v1/apps/clinic/triggers", "", with).Is(200, "")
	s.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("GET", "/v1/apps/clinic/triggers", "", with).Problem(401, "ended because its app was deleted")
}

// Without an admin key, a token of ours still has only its own rights.
func TestForeignJWTIsNoKey(t *testing.T) {
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.AdminKey = secret.Secret{} })
	s.Call("GET", "/v1/apps", "", "Authorization: Bearer eyJhbGciOiJub25lIn0.e30.").Problem(401, "not valid")
}

// A module's token ends with the module and its secret, on every replica. So do its open streams and the
// front-end tokens made with it.
func TestAccessTokenEndsWithItsModule(t *testing.T) {
	for what, next := range map[string]string{"a module that is gone": `[]`, "another secret": `[{"moduleId":"avatar","secret":"another-secret-of-the-avatar"}]`} {
		t.Run(what, func(t *testing.T) {
			s := apitest.OnStage(t)
			other := s.Replica()
			s.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"first-secret-of-the-avatar"}]}`).Is(200, "")
			app, err := s.Store.App(t.Context(), "clinic")
			require.NoError(t, err)
			access, _ := accessTo(s.World, store.AccessToken{
				ModuleID: "avatar", ClientID: "avatar", Lineage: "l1", Expires: time.Now().Add(time.Hour),
				Scopes: []store.Permission{store.PermitTools, store.PermitMessages, store.PermitTriggers}, Grant: s.Sealer.Grant("clinic", app.Modules[0]),
			})
			with := apitest.Bearer(access)
			s.Call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).Is(201, "")
			other.Call("GET", "/v1/apps/clinic/triggers", "", with).Is(200, "")
			visitor := apitest.Bearer(s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", with).Made().Token)
			s.Call("GET", apitest.MessagesPath, "", visitor).Is(200, "")
			stream := open(s, appEvents, access)

			s.Call("PATCH", "/v1/apps/clinic", `{"modules":`+next+`}`).Is(200, "")
			for _, replica := range []*apitest.Service{s.Service, other.Service} {
				require.Eventually(t, func() bool { return replica.Ask("GET", "/v1/apps/clinic/triggers", "", with).StatusCode == 401 }, time.Minute, 10*time.Millisecond)
				replica.Call("PUT", "/v1/apps/clinic/repositories/booking", hoursBody, with).Problem(401, "ended because its module was deleted")
				replica.Call("GET", apitest.MessagesPath, "", visitor).Problem(401, "ended because its module was deleted")
			}
			stream.ends()
		})
	}
}

// A new module may be newer than a replica's cached app.
func TestAccessTokenOfANewModuleIsGoodAtOnce(t *testing.T) {
	s := atClinic(t)
	for _, key := range []string{"first-secret-of-the-avatar", "another-secret-of-the-avatar"} {
		s.Call("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"`+key+`"}]}`).Is(200, "")
		app, err := s.Store.App(t.Context(), "clinic")
		require.NoError(t, err)
		access, _ := accessTo(s, store.AccessToken{
			ModuleID: "avatar", Expires: time.Now().Add(time.Hour), Scopes: []store.Permission{store.PermitTriggers}, Grant: s.Sealer.Grant("clinic", app.Modules[0]),
		})
		s.Call("GET", "/v1/apps/clinic/triggers", "", apitest.Bearer(access)).Is(200, "")
	}
}

func TestAppSaysWhichSecretsAreTooShortToSignInWith(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	const modules = `[{"moduleId":"a","secret":"x1"},{"moduleId":"b","secret":"0123456789abcdef"},{"moduleId":"c","secret":"aaaaaaaaaaaaaaaaaaaaaaaa"}]`
	notes := func(got apitest.Answer) (list []string) {
		read := bodyOf[struct{ Notes []string }](got)
		require.NotContains(t, string(got.Body), "x1")
		return read.Notes
	}
	want := []string{`secret of module "a" is too short to sign in with: at least 16 characters`, `secret of module "c" is too easily guessed to sign in with: at least 16 characters, more than 3 of them different`}
	require.Equal(t, want, notes(s.Call("PUT", "/v1/apps/clinic", `{"modules":`+modules+`}`).Is(201, "")))
	require.Equal(t, want, notes(s.Call("PATCH", "/v1/apps/clinic", `{"name":"Clinic"}`).Is(200, "")))
	require.Empty(t, notes(s.Call("GET", "/v1/apps/clinic", "").Is(200, "")))
}
