package httpcall_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/httpcall"
	"earshot/repositories"
	"earshot/trigger/effect"
)

func TestFiftyCallsAskForOneToken(t *testing.T) {
	const calls = 50
	i := newIssuer(t)
	e := newEndpoint(t, accepts("tok-1"))
	r := newRig(t, func(o *httpcall.Options) { o.HostLimit = calls })
	var done sync.WaitGroup
	outcomes := make(chan effect.Outcome, calls)
	for range calls {
		done.Go(func() { outcomes <- r.call(e.URL, &repositories.Request{Bearer: clientGrant(i)}, nil) })
	}
	done.Wait()
	close(outcomes)
	for outcome := range outcomes {
		require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	}
	require.Len(t, i.requests(), 1)
	require.Len(t, e.requests(), calls)
}

func TestRefusedTokenIsRenewedOnceForAll(t *testing.T) {
	const calls = 20
	i := newIssuer(t)
	old, renewed := newEndpoint(t, accepts("tok-1")), newEndpoint(t, accepts("tok-2"))
	r := newRig(t, func(o *httpcall.Options) { o.HostLimit = calls })
	request := &repositories.Request{Bearer: clientGrant(i)}
	require.Equal(t, effect.Done, r.call(old.URL, request, nil).Verdict)
	var done sync.WaitGroup
	outcomes := make(chan effect.Outcome, calls)
	for range calls {
		done.Go(func() { outcomes <- r.call(renewed.URL, request, nil) })
	}
	done.Wait()
	close(outcomes)
	for outcome := range outcomes {
		require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	}
	require.Len(t, i.requests(), 2)
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
		go func() { outcomes <- r.call(e.URL, &repositories.Request{Bearer: clientGrant(i)}, nil) }()
	}
	<-arrived
	<-arrived
	for range 2 {
		refuse <- struct{}{}
		require.Equal(t, effect.Done, (<-outcomes).Verdict)
	}
	require.Len(t, i.requests(), 2, "the second refusal was of a token that is gone already")
}

func TestSecondRefusalOfATokenIsTheEnd(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, says(401, "no"))
	outcome := newRig(t).call(e.URL, &repositories.Request{Bearer: clientGrant(i)}, nil)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Equal(t, effect.ReasonAuth, outcome.Reason)
	require.Equal(t, 401, outcome.Status)
	require.Len(t, e.requests(), 2)
	require.Len(t, i.requests(), 2)
}

func TestRefusalOfATokenEndsACallThatMustNotBeMadeTwice(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, says(401, "no"))
	r := newRig(t)
	for sent := range 2 {
		outcome := r.call(e.URL, &repositories.Request{Bearer: clientGrant(i), Idempotent: ref(false)}, nil)
		require.Equal(t, effect.Dead, outcome.Verdict)
		require.Equal(t, effect.ReasonAuth, outcome.Reason)
		require.Len(t, e.requests(), sent+1)
		require.Len(t, i.requests(), sent+1, "the next call has another token")
	}
}

func TestRefusalOfAFixedCredentialIsTheEndAtOnce(t *testing.T) {
	for name, request := range map[string]*repositories.Request{
		"none":  nil,
		"basic": {Basic: &repositories.Basic{Username: "u", Password: credential("p")}},
	} {
		e := newEndpoint(t, says(401, "no"))
		outcome := newRig(t).call(e.URL, request, nil)
		require.Equal(t, effect.Dead, outcome.Verdict, name)
		require.Equal(t, effect.ReasonAuth, outcome.Reason, name)
		require.Len(t, e.requests(), 1, name)
	}
}

func TestRenewalThatFailsDecidesTheCall(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, says(401, "no"))
	r := newRig(t)
	request := &repositories.Request{Bearer: clientGrant(i)}
	r.call(e.URL, request, nil)
	i.answer = says(503, "")
	outcome := r.call(e.URL, request, nil)
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.Equal(t, effect.ReasonAuth, outcome.Reason)
	require.True(t, outcome.Reached, "the endpoint has seen the call")
	require.NotNil(t, outcome.Sent)
	require.Len(t, e.requests(), 3)
}

func TestTokensAreNeverShared(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, nil)
	r := newRig(t)
	r.apps["school"] = &repositories.App{ID: "school"}
	base := *clientGrant(i)
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
			bearer := base
			vary(&bearer)
			delivery := effectOf(e.URL, &repositories.Request{Bearer: &bearer}, nil)
			delivery.AppID = app
			require.Equal(t, effect.Done, r.Deliver(t.Context(), delivery).Verdict)
			require.Equal(t, effect.Done, r.Deliver(t.Context(), delivery).Verdict)
		}
	}
	require.Len(t, i.requests(), 2*len(variants))
}

func TestTokenIsRenewedBeforeItsEndWhileTheOldOneServes(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, nil)
	r := newRig(t)
	request := &repositories.Request{Bearer: clientGrant(i)}
	call := func() string {
		before := len(e.requests())
		require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict)
		return e.requests()[before].header.Get("Authorization")
	}
	require.Equal(t, "Bearer tok-1", call())
	r.clock.Advance(3600*time.Second - 31*time.Second)
	require.Equal(t, "Bearer tok-1", call())
	require.Len(t, i.requests(), 1, "31 s before its end there is no need yet")

	r.clock.Advance(2 * time.Second)
	asked, release := make(chan struct{}), make(chan struct{})
	i.answer = func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-release
		i.issue(w)
	}
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
		i := newIssuer(t)
		i.life = test.life
		e := newEndpoint(t, nil)
		r := newRig(t)
		request := &repositories.Request{Bearer: clientGrant(i)}
		require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict, name)
		r.clock.Advance(test.after)
		require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict, name)
		require.Len(t, i.requests(), 2, name)
	}
}

func TestRefreshTokenIsUsedWhereThereIsAnEndpointForIt(t *testing.T) {
	i, refresher := newIssuer(t), newIssuer(t)
	i.refresh, refresher.refresh = true, true
	e := newEndpoint(t, nil)
	r := newRig(t)
	bearer := clientGrant(i)
	bearer.RefreshURL = refresher.URL + "/refresh"
	request := &repositories.Request{Bearer: bearer}
	require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict)
	for n, refresh := range []string{"refresh-1", "refresh-1", "refresh-2"} {
		r.clock.Advance(time.Hour + time.Second)
		require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict)
		form := refresher.form(n)
		require.Equal(t, "refresh_token", form.Get("grant_type"))
		require.Equal(t, refresh, form.Get("refresh_token"), "the newest one")
		require.Equal(t, "cli", form.Get("client_id"))
	}
	require.Len(t, i.requests(), 1)
}

func TestRefreshThatFailsFallsBackToTheGrant(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, answer := range map[string]http.HandlerFunc{
		"refused": oauthError(400, "invalid_grant"),
		"down":    says(503, ""),
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		},
	} {
		i, refresher := newIssuer(t), newIssuer(t)
		i.refresh, refresher.answer = true, answer
		e := newEndpoint(t, nil)
		r := newRig(t, func(o *httpcall.Options) { o.TokenTimeout = 400 * time.Millisecond })
		bearer := clientGrant(i)
		bearer.RefreshURL = refresher.URL
		request := &repositories.Request{Bearer: bearer}
		require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict, name)
		r.clock.Advance(2 * time.Hour)
		require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict, name)
		require.Len(t, i.requests(), 2, name)
		require.NotEmpty(t, refresher.requests(), name)
	}
}

func TestWaiterThatLeavesDoesNotEndTheRequestOfOthers(t *testing.T) {
	i := newIssuer(t)
	asked, release := make(chan struct{}), make(chan struct{})
	i.answer = func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-release
		i.issue(w)
	}
	e := newEndpoint(t, accepts("tok-1"))
	r := newRig(t)
	delivery := effectOf(e.URL, &repositories.Request{Bearer: clientGrant(i)}, nil)

	first, leave := context.WithCancel(t.Context())
	left := make(chan effect.Outcome, 1)
	go func() { left <- r.Deliver(first, delivery) }()
	<-asked
	stays := make(chan effect.Outcome, 1)
	go func() { stays <- r.Deliver(t.Context(), delivery) }()
	leave()
	outcome := <-left
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.Equal(t, effect.ReasonAuth, outcome.Reason)
	close(release)
	require.Equal(t, effect.Done, (<-stays).Verdict)
	require.Len(t, i.requests(), 1)
}

func TestTokenEndpointThatHangsIsLeftAtItsLimit(t *testing.T) {
	i := newIssuer(t)
	i.answer = hang
	e := newEndpoint(t, nil)
	request := &repositories.Request{Bearer: clientGrant(i)}

	outcome := newRig(t, func(o *httpcall.Options) { o.TokenTimeout = 50 * time.Millisecond }).call(e.URL, request, nil)
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.Equal(t, effect.ReasonAuth, outcome.Reason)

	request.Timeout = repositories.Duration(50 * time.Millisecond)
	outcome = newRig(t, func(o *httpcall.Options) { o.TokenTimeout = time.Second }).call(e.URL, request, nil)
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.Contains(t, outcome.Error, "within the time of the call")
	require.Empty(t, e.requests())
}

func TestTokensAreBounded(t *testing.T) {
	i := newIssuer(t)
	e := newEndpoint(t, nil)
	r := newRig(t, func(o *httpcall.Options) { o.Tokens = 1 })
	for _, id := range []string{"a", "b", "a"} {
		bearer := clientGrant(i)
		bearer.ClientID = id
		require.Equal(t, effect.Done, r.call(e.URL, &repositories.Request{Bearer: bearer}, nil).Verdict)
	}
	require.Len(t, i.requests(), 3, "the third had lost its place to the second")
}

func TestTokenEndpointsPauseIsPassedOn(t *testing.T) {
	i := newIssuer(t)
	i.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "12")
		w.WriteHeader(503)
	}
	outcome := newRig(t).call("http://127.0.0.1:9/", &repositories.Request{Bearer: clientGrant(i)}, nil)
	require.Equal(t, 12*time.Second, outcome.After)
}
