package httpcall_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/trigger/effect"
)

func TestOneHostTakesNoMoreThanItsShare(t *testing.T) {
	const limit = 3
	entered, release := make(chan struct{}, 10), make(chan struct{})
	slow := newEndpoint(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	other := newEndpoint(t, nil)
	r := newRig(t, func(o *httpcall.Options) { o.HostLimit, o.SlotWait = limit, 20*time.Millisecond })
	r.apps["school"] = &repositories.App{ID: "school"}
	var done sync.WaitGroup
	for range limit {
		done.Go(func() { r.call(slow.URL, nil, nil) })
	}
	for range limit {
		<-entered
	}

	outcome := r.call(slow.URL, nil, nil)
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.True(t, outcome.Deferred, "it was not an attempt")
	require.Equal(t, 20*time.Millisecond, outcome.After)
	require.Len(t, slow.requests(), limit)

	require.Equal(t, effect.Done, r.call(other.URL, nil, nil).Verdict, "another host is not concerned")
	foreign := make(chan effect.Outcome, 1)
	delivery := effectOf(slow.URL, nil, nil)
	delivery.AppID = "school"
	go func() { foreign <- r.Deliver(t.Context(), delivery) }()
	<-entered // another app is not concerned
	close(release)
	done.Wait()
	require.Equal(t, effect.Done, (<-foreign).Verdict)
	require.Equal(t, effect.Done, r.call(slow.URL, nil, nil).Verdict, "slots come back")
}

func TestCallThatWaitsGetsTheSlotThatIsLeft(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	e := newEndpoint(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	r := newRig(t, func(o *httpcall.Options) { o.HostLimit, o.SlotWait = 1, time.Minute })
	outcomes := make(chan effect.Outcome, 2)
	for range 2 {
		go func() { outcomes <- r.call(e.URL, nil, nil) }()
	}
	<-entered
	close(release)
	for range 2 {
		require.Equal(t, effect.Done, (<-outcomes).Verdict)
	}
}

func TestHostThatFailsInARowIsClosedOff(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"5xx":      says(500, ""),
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		bad, good := newEndpoint(t, answer), newEndpoint(t, nil)
		r := newRig(t)
		r.apps["school"] = &repositories.App{ID: "school"}
		for range 10 {
			require.False(t, r.call(bad.URL, nil, nil).Deferred, name)
		}
		asked := len(bad.requests())
		for range 3 {
			outcome := r.call(bad.URL+"/another/tool", nil, nil)
			require.Equal(t, effect.Retry, outcome.Verdict, name)
			require.True(t, outcome.Deferred, name)
			require.Equal(t, 30*time.Second, outcome.After, name)
			require.Contains(t, outcome.Error, "closed off after 10 failures")
		}
		require.Len(t, bad.requests(), asked, name)
		require.Equal(t, effect.Done, r.call(good.URL, nil, nil).Verdict, name)
		delivery := effectOf(bad.URL, nil, nil)
		delivery.AppID = "school"
		require.False(t, r.Deliver(t.Context(), delivery).Deferred, "another app has its own count")
	}
}

func TestAnswersThatAreNoFailureKeepAHostOpen(t *testing.T) {
	for _, status := range []int{200, 302, 400, 404, 408, 410, 425, 429} {
		e := newEndpoint(t, says(status, ""))
		r := newRig(t, func(o *httpcall.Options) { o.BreakAfter = 2 })
		for range 5 {
			require.False(t, r.call(e.URL, nil, nil).Deferred, status)
		}
	}
	var n int
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		if n++; n%3 != 0 { // one success breaks the row
			w.WriteHeader(500)
		}
	})
	r := newRig(t, func(o *httpcall.Options) { o.BreakAfter = 3 })
	for range 12 {
		require.False(t, r.call(e.URL, nil, nil).Deferred)
	}
	r = newRig(t, func(o *httpcall.Options) { o.BreakAfter, o.Policy = 1, guard.Policy{} })
	for range 3 { // a call that is blocked says nothing about the host
		require.Equal(t, effect.ReasonBlocked, r.call("http://127.0.0.1:9", nil, nil).Reason)
	}
}
