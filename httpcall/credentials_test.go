package httpcall_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/httpcall"
	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

func (i *issuer) request() *repositories.Request { return &repositories.Request{Bearer: i.bearer()} }

func (i *issuer) bearer() *repositories.Bearer {
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
			e, r := newEndpoint(t, nil), newRig(t)
			r.apps["clinic"].Modules = []repositories.Module{
				{ID: "calendar", Secret: credential("mod-secret"), TokenURL: i.URL, Audience: "rooms", Scopes: []string{"book"}},
				{ID: "named", ClientID: "other-name", Secret: credential("mod-secret"), TokenURL: i.URL},
			}
			asked := len(i.requests())
			got := r.sent(e, e.URL, &test.request, nil)
			require.Equal(t, test.want, i.form(asked))
			require.Equal(t, "application/x-www-form-urlencoded", i.requests()[asked].header.Get("Content-Type"))
			require.Equal(t, fmt.Sprintf("Bearer tok-%d", asked+1), got.header.Get("Authorization"))
		})
	}
}

func TestBasicCredentialsFollowRFC7617(t *testing.T) {
	e := newEndpoint(t, nil)
	request := &repositories.Request{Basic: &repositories.Basic{Username: "Zoë", Password: credential("a:b c")}}
	user, password, ok := basicOf(newRig(t).sent(e, e.URL, request, nil))
	require.True(t, ok)
	require.Equal(t, []string{"Zoë", "a:b c"}, []string{user, password})
}

func TestEndpointThatTakesClientsByBasicAuthenticationOnly(t *testing.T) {
	i := newIssuer(t)
	i.answers(func(w http.ResponseWriter, r *http.Request) {
		if id, password, ok := r.BasicAuth(); ok && id == "cli" && password == "cli-secret" {
			i.issue(w)
			return
		}
		saysJSON(400, `{"error":"invalid_client"}`)(w, r)
	})
	e := newEndpoint(t, accepts("tok-2", "tok-3"))
	r := newRig(t)
	request := i.request()
	require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict)
	require.NotContains(t, i.form(1), "client_secret", "RFC 6749 2.3 forbids both ways in one request")

	refused := newEndpoint(t, accepts("tok-3"))
	require.Equal(t, effect.Done, r.call(refused.URL, request, nil).Verdict)
	require.Len(t, i.requests(), 3, "the way that worked is remembered")
}

func TestWhatIsMissingForAuthenticationMeansNoCall(t *testing.T) {
	i, e, r := newIssuer(t), newEndpoint(t, nil), newRig(t)
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
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonAuth)
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
		"redirect":               {http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect).ServeHTTP, effect.Dead, "redirects are not followed, so the tokenUrl must be the final one"},
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
			i, e := newIssuer(t), newEndpoint(t, nil)
			i.answer = test.answer
			outcome := newRig(t).call(e.URL, i.request(), nil)
			effecttest.Ended(t, outcome, test.verdict, effect.ReasonAuth, test.says)
			require.NotContains(t, outcome.Error, "cli-secret")
			require.Zero(t, outcome.Status)
			require.False(t, outcome.Deferred)
			require.Empty(t, e.requests())
		})
	}
}

func oauthError(status int, code string) http.HandlerFunc {
	return saysJSON(status, `{"error":"`+code+`","error_description":"cli-secret is wrong"}`)
}

// manyCalls are so many as are made together.
const manyCalls = 50

// together makes concurrent calls, which must all be delivered.
func (r *rig) together(url string, request *repositories.Request) {
	var done sync.WaitGroup
	outcomes := make(chan effect.Outcome, manyCalls)
	for range manyCalls {
		done.Go(func() { outcomes <- r.call(url, request, nil) })
	}
	done.Wait()
	close(outcomes)
	for outcome := range outcomes {
		require.Equal(r.t, effect.Done, outcome.Verdict, outcome.Error)
	}
}

func TestCallsAskForOneTokenTogether(t *testing.T) {
	i := newIssuer(t)
	old, renewed := newEndpoint(t, accepts("tok-1")), newEndpoint(t, accepts("tok-2"))
	r := newRig(t, func(o *httpcall.Options) { o.HostLimit = manyCalls })
	r.together(old.URL, i.request())
	require.Len(t, i.requests(), 1)
	require.Len(t, old.requests(), manyCalls)
	r.together(renewed.URL, i.request())
	require.Len(t, i.requests(), 2, "a token that is refused is renewed once for all")
}

func TestLateRefusalOfAnOldTokenKeepsTheNewOne(t *testing.T) {
	i := newIssuer(t)
	arrived, refuse := make(chan struct{}), make(chan struct{})
	e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer tok-1" {
			arrived <- struct{}{}
			<-refuse
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	r := newRig(t)
	outcomes := make(chan effect.Outcome, 2)
	for range 2 {
		go func() { outcomes <- r.call(e.URL, i.request(), nil) }()
	}
	<-arrived
	<-arrived
	for range 2 {
		refuse <- struct{}{}
		require.Equal(t, effect.Done, (<-outcomes).Verdict)
	}
	require.Len(t, i.requests(), 2, "the second refusal was of a token that is gone already")
}

func TestRefusalOfACredentialIsTheEnd(t *testing.T) {
	i, e, r := newIssuer(t), newEndpoint(t, says(401, "no")), newRig(t)
	outcome := r.call(e.URL, i.request(), nil)
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonAuth)
	require.Equal(t, 401, outcome.Status)
	require.Len(t, e.requests(), 2, "after a new token")
	require.Len(t, i.requests(), 2)

	i.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "12")
		w.WriteHeader(503)
	})
	outcome = r.call(e.URL, i.request(), nil)
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonAuth)
	require.Equal(t, 12*time.Second, outcome.After, "the pause of the token endpoint is passed on")
	require.True(t, outcome.Reached, "the endpoint has seen the call")
	require.NotNil(t, outcome.Sent)
	require.Len(t, e.requests(), 3, "a renewal that fails decides the call")

	i.answers(nil)
	once := i.request()
	once.Idempotent = new(false)
	for n := range 2 {
		effecttest.Ended(t, r.call(e.URL, once, nil), effect.Dead, effect.ReasonAuth)
		require.Len(t, e.requests(), 4+n, "a call that must not be made twice is not repeated")
		require.Len(t, i.requests(), 4+n, "the next call has another token")
	}
	for n, request := range []*repositories.Request{nil, {Basic: &repositories.Basic{Username: "u", Password: credential("p")}}} {
		effecttest.Ended(t, r.call(e.URL, request, nil), effect.Dead, effect.ReasonAuth)
		require.Len(t, e.requests(), 6+n, "a fixed credential is refused at once")
	}
}

func TestTokensAreNeverShared(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, nil)
	r := newRig(t)
	r.apps["school"] = &repositories.App{ID: "school"}
	variants := []func(*repositories.Bearer){
		func(*repositories.Bearer) {},
		func(b *repositories.Bearer) { b.ClientID = "other" },
		func(b *repositories.Bearer) { b.ClientSecret = credential("other") },
		func(b *repositories.Bearer) { b.ClientType = "password" },
		func(b *repositories.Bearer) { b.Username = "ann" },
		func(b *repositories.Bearer) { b.Password = credential("other") },
		func(b *repositories.Bearer) { b.TokenURL += "/other" },
		func(b *repositories.Bearer) { b.RefreshURL = i.URL },
		func(b *repositories.Bearer) { b.Audience = "other" },
		func(b *repositories.Bearer) { b.Scopes = []string{"a", "b"} },
		func(b *repositories.Bearer) { b.Scopes = []string{"a b"} },
		func(b *repositories.Bearer) { b.Scopes = []string{"a"}; b.Audience = "b" },
	}
	for _, app := range []string{"clinic", "school"} {
		for _, vary := range variants {
			request := i.request()
			vary(request.Bearer)
			delivery := effectOf(e.URL, request, nil)
			delivery.AppID = app
			require.Equal(t, effect.Done, r.Deliver(t.Context(), delivery).Verdict)
			require.Equal(t, effect.Done, r.Deliver(t.Context(), delivery).Verdict)
		}
	}
	require.Len(t, i.requests(), 2*len(variants))
}

func TestTokenIsRenewedBeforeItsEndWhileTheOldOneServes(t *testing.T) {
	i, e, r := newIssuer(t), newEndpoint(t, nil), newRig(t)
	call := func() string { return r.sent(e, e.URL, i.request(), nil).header.Get("Authorization") }
	require.Equal(t, "Bearer tok-1", call())
	r.clock.Advance(3600*time.Second - 31*time.Second)
	require.Equal(t, "Bearer tok-1", call())
	require.Len(t, i.requests(), 1, "31 s before its end there is no need yet")

	r.clock.Advance(2 * time.Second)
	asked, release := make(chan struct{}), make(chan struct{})
	i.answers(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-release
		i.issue(w)
	})
	require.Equal(t, "Bearer tok-1", call(), "nobody waits for a renewal")
	<-asked
	require.Equal(t, "Bearer tok-1", call())
	close(release)
	require.Eventually(t, func() bool { return call() == "Bearer tok-2" }, time.Minute, time.Millisecond)
	require.Len(t, i.requests(), 2)
}

func TestTokenThatEndedIsAskedForAgain(t *testing.T) {
	for name, test := range map[string]struct {
		life  int
		after time.Duration
	}{
		"said":        {60, 61 * time.Second},
		"not said":    {0, 5*time.Minute + time.Second},
		"in the past": {-5, 0},
	} {
		i, e, r := newIssuer(t), newEndpoint(t, nil), newRig(t)
		i.life = test.life
		r.sent(e, e.URL, i.request(), nil)
		r.clock.Advance(test.after)
		r.sent(e, e.URL, i.request(), nil)
		require.Len(t, i.requests(), 2, name)
	}
}

func TestRefreshTokenIsUsedWhereThereIsAnEndpointForIt(t *testing.T) {
	i, refresher := newIssuer(t), newIssuer(t)
	i.refresh, refresher.refresh = true, true
	e, r, request := newEndpoint(t, nil), newRig(t), i.request()
	request.Bearer.RefreshURL = refresher.URL + "/refresh"
	r.sent(e, e.URL, request, nil)
	for n, refresh := range []string{"refresh-1", "refresh-1", "refresh-2"} {
		r.clock.Advance(time.Hour + time.Second)
		r.sent(e, e.URL, request, nil)
		form := refresher.form(n)
		require.Equal(t, "refresh_token", form.Get("grant_type"))
		require.Equal(t, refresh, form.Get("refresh_token"), "the newest one")
		require.Equal(t, "cli", form.Get("client_id"))
	}
	require.Len(t, i.requests(), 1)
}

func TestRefreshThatFailsFallsBackToTheGrant(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"refused": oauthError(400, "invalid_grant"), "down": says(503, ""), "hangs": hang,
	} {
		i, refresher := newIssuer(t), newIssuer(t)
		i.refresh, refresher.answer = true, answer
		e, request := newEndpoint(t, nil), i.request()
		r := newRig(t, func(o *httpcall.Options) { o.TokenTimeout = 400 * time.Millisecond })
		request.Bearer.RefreshURL = refresher.URL
		r.sent(e, e.URL, request, nil)
		r.clock.Advance(2 * time.Hour)
		r.sent(e, e.URL, request, nil)
		require.Len(t, i.requests(), 2, name)
		require.NotEmpty(t, refresher.requests(), name)
	}
}

func TestWaiterThatLeavesDoesNotEndTheRequestOfOthers(t *testing.T) {
	i := newIssuer(t)
	asked, release := make(chan struct{}), make(chan struct{})
	i.answers(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-release
		i.issue(w)
	})
	e := newEndpoint(t, accepts("tok-1"))
	r := newRig(t)
	delivery := effectOf(e.URL, i.request(), nil)

	first, leave := context.WithCancel(t.Context())
	left := make(chan effect.Outcome, 1)
	go func() { left <- r.Deliver(first, delivery) }()
	<-asked
	stays := make(chan effect.Outcome, 1)
	go func() { stays <- r.Deliver(t.Context(), delivery) }()
	leave()
	effecttest.Ended(t, <-left, effect.Retry, effect.ReasonAuth)
	close(release)
	require.Equal(t, effect.Done, (<-stays).Verdict)
	require.Len(t, i.requests(), 1)
}

func TestTokenEndpointThatHangsIsLeftAtItsLimit(t *testing.T) {
	i, e := newIssuer(t), newEndpoint(t, nil)
	i.answers(hang)
	request := i.request()
	outcome := newRig(t, func(o *httpcall.Options) { o.TokenTimeout = 50 * time.Millisecond }).call(e.URL, request, nil)
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonAuth)
	request.Timeout = repositories.Duration(50 * time.Millisecond)
	outcome = newRig(t, func(o *httpcall.Options) { o.TokenTimeout = time.Second }).call(e.URL, request, nil)
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonAuth, "within the time of the call")
	require.Empty(t, e.requests())
}

func TestTokensAreBounded(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, nil)
	r := newRig(t, func(o *httpcall.Options) { o.Tokens = 1 })
	for _, id := range []string{"a", "b", "a"} {
		request := i.request()
		request.Bearer.ClientID = id
		r.sent(e, e.URL, request, nil)
	}
	require.Len(t, i.requests(), 3, "the third had lost its place to the second")
}
