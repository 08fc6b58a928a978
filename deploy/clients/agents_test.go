//go:build nightly

package clients

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

const clinic = `{"tools":[
	{"name":"book","description":"Book an appointment","url":"%URL%/book","schema":[
		{"parameter":"day","type":"string","description":"wished day","required":true,"ask":"On which day?","allowedValues":["Monday","Friday"]}]},
	{"name":"cancel","description":"Cancel an appointment","url":"%URL%/cancel","confirm":"always","schema":[
		{"parameter":"day","type":"string","description":"its day","required":true,"allowedValues":["Monday","Friday"]}]}]}`

const ofUsers = `{"tools":[{"name":"my-appointments","description":"List the user's appointments","url":"%URL%/mine","schema":[
	{"parameter":"who","type":"string","authServices":[{"name":"corp","field":"email"}],"required":true}]}]}`

const asTasks = `{"tools":[
	{"name":"report","url":"%URL%/report","request":{"timeout":"1m"}},
	{"name":"measure","answer":{"within":"1h"}},
	{"name":"cancel","url":"%URL%/cancel","confirm":"always","schema":[{"parameter":"day","type":"string","required":true}]},
	{"name":"move","url":"%URL%/move","schema":[
		{"parameter":"day","type":"string","required":true,"ask":"To which day?"},{"parameter":"hour","type":"integer","required":true,"ask":"At what hour?"}]}]}`

type agents struct {
	*service
	app, key, idToken, endpoint, issuer string
}

func forAgents(t *testing.T) agents {
	t.Helper()
	released := make(chan struct{})
	endpoint := testbed.Serve(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/release" {
			released <- struct{}{}
			return
		}
		var event struct{ Values map[string]any }
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &event)
		}
		if r.URL.Path == "/report" {
			select {
			case <-released:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{strings.Trim(r.URL.Path, "/"): event.Values, "bad": err != nil})
	}))
	issuer, idToken := corp(t)
	s := dev(t)
	s.Call("PUT", "/v1/apps/clinic", `{"authServices":[{"name":"corp","type":"oidc","issuer":"`+issuer+`","audience":"clinic","agents":"`+s.URL+`"}]}`)
	s.Call("PUT", "/v1/apps/clinic/sessions/s1", `{"user":"anna"}`)
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", strings.ReplaceAll(clinic, "%URL%", endpoint))
	s.Call("PUT", "/v1/apps/clinic/sessions/s1/repositories/own", strings.ReplaceAll(ofUsers, "%URL%", endpoint))
	s.Call("PUT", "/v1/apps/clinic/sessions/s2/repositories/own", strings.ReplaceAll(asTasks, "%URL%", endpoint))
	var made struct{ Key string }
	require.NoError(t, json.Unmarshal(s.Call("POST", "/v1/apps/clinic/keys", `{"scopes":["triggers"]}`), &made))
	return agents{s, s.URL + "/v1/apps/clinic", made.Key, idToken, endpoint, issuer}
}

// corp is an issuer that gives each client access tokens of anna, for what they ask for.
func corp(t *testing.T) (issuer, idToken string) {
	t.Helper()
	key := testbed.Got(rsa.GenerateKey(rand.Reader, 2048))(t)
	signer := testbed.Got(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil))(t)
	tokenFor := func(audience string) (string, error) {
		claims, err := json.Marshal(map[string]any{"iss": issuer, "aud": audience, "sub": "anna", "email": "anna@example.org", "exp": time.Now().Add(time.Hour).Unix()})
		if err != nil {
			return "", err
		}
		signed, err := signer.Sign(claims)
		if err != nil {
			return "", err
		}
		return signed.CompactSerialize()
	}
	issuer = testbed.Serve(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}}
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known"):
			answer = map[string]any{
				"issuer": issuer, "jwks_uri": issuer + "/keys", "token_endpoint": issuer + "/token", "authorization_endpoint": issuer + "/authorize",
				"response_types_supported": []string{"code"}, "token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
			}
		case r.URL.Path == "/token":
			token, err := tokenFor(r.PostFormValue("resource"))
			answer = map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "bad": err != nil}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	idToken = testbed.Got(tokenFor("clinic"))(t)
	return issuer, idToken
}

// node22 is the one that the newest of the clients need.
func node22(folder string) string { return filepath.Join(folder, "node_modules/node/bin/node") }

// TestAgentsOfOthersWorkWithTheTools runs each client beside which there is a file with what it prints.
func TestAgentsOfOthersWorkWithTheTools(t *testing.T) {
	folder := withPackages(t, "agents")
	clients := testbed.Got(filepath.Glob("agents/*.txt"))(t)
	require.Len(t, clients, 7)
	for _, prints := range clients {
		client, want := strings.TrimSuffix(filepath.Base(prints), ".txt"), testbed.Got(os.ReadFile(prints))(t)
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			s := forAgents(t)
			arguments := map[string][]string{
				"toolbox":   {s.app + "/sessions/s1", s.key, s.idToken},
				"oauth":     {s.app + "/sessions/s1/mcp", s.issuer, "agent", "secret"},
				"mcp":       {s.app, "sessions/s1", s.key, testbed.AdminKey},
				"mcp-tasks": {s.app, "sessions/s2", s.key, s.endpoint + "/release"},
			}[client]
			if arguments == nil {
				arguments = []string{s.app + "/sessions/s1/mcp", s.key}
			}
			got := run(t, folder, node22(folder), append([]string{client + ".mjs"}, arguments...)...)
			require.Regexp(t, "^"+anything(string(want))+"$", got)
		})
	}
}

func anything(text string) string {
	parts := strings.Split(text, "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return strings.Join(parts, ".*")
}
