package httpcall_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/trigger/effect"
)

func clientGrant(i *issuer) *repositories.Bearer {
	return &repositories.Bearer{
		ClientType: "client_credentials", ClientID: "cli", ClientSecret: credential("cli-secret"), TokenURL: i.URL + "/token",
	}
}

func TestGrantsAreAskedForInFormEncoding(t *testing.T) {
	i := newIssuer(t)
	for name, test := range map[string]struct {
		request repositories.Request
		want    url.Values
	}{
		"client credentials": {
			repositories.Request{Auth: "bearer", Bearer: &repositories.Bearer{
				ClientType: "client_credentials", ClientID: "cli", ClientSecret: credential("cli-secret"),
				TokenURL: i.URL, Audience: "calendar", Scopes: []string{"read", "write"},
			}},
			url.Values{
				"grant_type": {"client_credentials"}, "client_id": {"cli"}, "client_secret": {"cli-secret"},
				"audience": {"calendar"}, "scope": {"read write"},
			},
		},
		"password": {
			repositories.Request{Bearer: &repositories.Bearer{
				ClientType: "password", Username: "ann", Password: credential("pass&word"), TokenURL: i.URL, Audience: "calendar",
			}},
			url.Values{"grant_type": {"password"}, "username": {"ann"}, "password": {"pass&word"}, "audience": {"calendar"}},
		},
		"password of a client": {
			repositories.Request{Bearer: &repositories.Bearer{
				ClientType: "password", ClientID: "cli", ClientSecret: credential("cli-secret"),
				Username: "ann", Password: credential("pass"), TokenURL: i.URL,
			}},
			url.Values{
				"grant_type": {"password"}, "username": {"ann"}, "password": {"pass"},
				"client_id": {"cli"}, "client_secret": {"cli-secret"},
			},
		},
		"module": {
			repositories.Request{Auth: "module", ModuleID: "calendar"},
			url.Values{
				"grant_type": {"client_credentials"}, "client_id": {"calendar"}, "client_secret": {"mod-secret"},
				"audience": {"rooms"}, "scope": {"book"},
			},
		},
		"module by its id alone": {
			repositories.Request{ModuleID: "named"},
			url.Values{"grant_type": {"client_credentials"}, "client_id": {"other-name"}, "client_secret": {"mod-secret"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, nil)
			r := newRig(t)
			r.apps["clinic"].Modules = []repositories.Module{
				{ID: "calendar", Secret: credential("mod-secret"), TokenURL: i.URL, Audience: "rooms", Scopes: []string{"book"}},
				{ID: "named", ClientID: "other-name", Secret: credential("mod-secret"), TokenURL: i.URL},
			}
			asked := len(i.requests())
			require.Equal(t, effect.Done, r.call(e.URL, &test.request, nil).Verdict)
			require.Equal(t, test.want, i.form(asked))
			require.Equal(t, "application/x-www-form-urlencoded", i.requests()[asked].header.Get("Content-Type"))
			require.Equal(t, fmt.Sprintf("Bearer tok-%d", asked+1), e.only(t).header.Get("Authorization"))
		})
	}
}

func TestBasicCredentialsFollowRFC7617(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	request := &repositories.Request{Basic: &repositories.Basic{Username: "Zoë", Password: credential("a:b c")}}
	require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict)
	user, password, ok := basicOf(e.only(t))
	require.True(t, ok)
	require.Equal(t, []string{"Zoë", "a:b c"}, []string{user, password})
}

func TestEndpointThatTakesClientsByBasicAuthenticationOnly(t *testing.T) {
	i := newIssuer(t)
	i.answer = func(w http.ResponseWriter, r *http.Request) {
		if id, password, ok := r.BasicAuth(); ok && id == "cli" && password == "cli-secret" {
			i.issue(w)
			return
		}
		saysJSON(400, `{"error":"invalid_client"}`)(w, r)
	}
	e := newEndpoint(t, accepts("tok-2", "tok-3"))
	r := newRig(t)
	request := &repositories.Request{Bearer: clientGrant(i)}
	require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict)
	require.NotContains(t, i.form(1), "client_secret", "RFC 6749 2.3 forbids both ways in one request")

	refused := newEndpoint(t, accepts("tok-3"))
	require.Equal(t, effect.Done, r.call(refused.URL, request, nil).Verdict)
	require.Len(t, i.requests(), 3, "the way that worked is remembered")
}

func TestWhatIsMissingForAuthenticationMeansNoCall(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, nil)
	r := newRig(t)
	for name, request := range map[string]repositories.Request{
		"unknown way":        {Auth: "digest"},
		"basic without":      {Auth: "basic"},
		"basic with a colon": {Basic: &repositories.Basic{Username: "a:b", Password: credential("p")}},
		"bearer without":     {Auth: "bearer"},
		"unknown grant":      {Bearer: &repositories.Bearer{ClientType: "implicit", TokenURL: i.URL}},
		"no token endpoint":  {Bearer: &repositories.Bearer{ClientType: "password"}},
		"relative endpoint":  {Bearer: &repositories.Bearer{ClientType: "password", TokenURL: "/token"}},
		"relative refresh":   {Bearer: &repositories.Bearer{ClientType: "password", TokenURL: i.URL, RefreshURL: "token"}},
		"module without id":  {Auth: "module"},
		"unknown module":     {ModuleID: "nobody"},
	} {
		outcome := r.call(e.URL, &request, nil)
		require.Equal(t, effect.Dead, outcome.Verdict, name)
		require.Equal(t, effect.ReasonAuth, outcome.Reason, name)
		require.NotEmpty(t, outcome.Error, name)
	}
	require.Empty(t, e.requests())
	require.Empty(t, i.requests())
}

func TestTokenThatCannotBeHadMeansNoCall(t *testing.T) {
	for name, test := range map[string]struct {
		answer  http.HandlerFunc
		verdict effect.Verdict
		says    string
	}{
		"refused":                {oauthError(400, "invalid_grant"), effect.Dead, "400 Bad Request (invalid_grant)"},
		"refused as 401":         {oauthError(401, "invalid_client"), effect.Dead, "(invalid_client)"},
		"forbidden":              {says(403, "no"), effect.Dead, "403"},
		"not there":              {says(404, "no"), effect.Dead, "404"},
		"refused with 200":       {oauthError(200, "invalid_scope"), effect.Dead, "(invalid_scope)"},
		"redirect":               {redirect("/elsewhere"), effect.Dead, "redirects are not followed"},
		"busy":                   {says(429, ""), effect.Retry, "429"},
		"down":                   {says(503, "<html>"), effect.Retry, "503"},
		"a page":                 {says(200, "<html>"), effect.Retry, "no usable access_token"},
		"no token in it":         {saysJSON(200, "{}"), effect.Retry, "no usable access_token"},
		"a token of two lines":   {saysJSON(200, `{"access_token":"a\r\nb: c"}`), effect.Retry, "no usable access_token"},
		"breaks off":             {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, effect.Retry, "no token from http://127.0.0.1"},
		"an error code made up":  {oauthError(400, "cli-secret"), effect.Dead, "400 Bad Request"},
		"gigabyte of white text": {gigabyte, effect.Retry, "no usable access_token"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.answer = test.answer
			e := newEndpoint(t, nil)
			outcome := newRig(t).call(e.URL, &repositories.Request{Bearer: clientGrant(i)}, nil)
			require.Equal(t, test.verdict, outcome.Verdict, outcome.Error)
			require.Equal(t, effect.ReasonAuth, outcome.Reason)
			require.Contains(t, outcome.Error, test.says)
			require.NotContains(t, outcome.Error, "cli-secret")
			require.Zero(t, outcome.Status)
			require.False(t, outcome.Deferred)
			require.Empty(t, e.requests())
		})
	}
}

func oauthError(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		saysJSON(status, `{"error":"`+code+`","error_description":"cli-secret is wrong"}`)(w, r)
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }
}
