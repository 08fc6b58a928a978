package main

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher/llm/llmtest"
)

func TestStoppingFinishesTheCallThatIsUnderWay(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	arrived, release := make(chan struct{}), make(chan struct{})
	sink := newEndpoint(t, func(out http.ResponseWriter, _ received) {
		close(arrived)
		<-release
		_, _ = io.WriteString(out, `"done"`)
	})
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`"}]}`)
	got := stopAmidst(t, w, arrived, release)
	require.Equal(t, http.StatusOK, got.Status, got.Body)
	found := read[posted](t, got).Matches[0]
	require.Equal(t, "delivered", found.Call.State)
	require.Equal(t, "published", found.Event.State)
	require.Len(t, w.events("tool.result.clinic.s1.book"), 1)
}

func TestStoppingFinishesTheMessageThatIsBeingMatched(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	arrived, release := make(chan struct{}), make(chan struct{})
	w.llm.Handle(func(request llmtest.Request) llmtest.Reply {
		close(arrived)
		<-release
		return obey(request)
	})
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	got := stopAmidst(t, w, arrived, release)
	require.Equal(t, http.StatusOK, got.Status, got.Body)
	require.Equal(t, "published", read[posted](t, got).Matches[0].Event.State)
}

// stopAmidst posts a message, stops the replica when that has arrived somewhere, and
// lets it go on from there when the replica takes no others any more.
func stopAmidst(t *testing.T, w *world, arrived <-chan struct{}, release chan<- struct{}) answer {
	r := w.replicas[0]
	answers := make(chan answer, 1)
	go func() { answers <- w.ask(r, "POST", messages("s1"), message("m1", "call book {}")) }()
	within(t, arrived)
	r.end()
	w.until("it takes no more requests", func() bool { return w.ask(r, "GET", "/healthz", "").Err != nil })
	select {
	case <-r.ended:
		t.Fatal("it ended while a message was under way")
	default:
	}
	close(release)
	require.Zero(t, r.wait())
	return within(t, answers)
}

// within waits for what a channel gives.
func within[T any](t *testing.T, channel <-chan T) T {
	t.Helper()
	select {
	case value := <-channel:
		return value
	case <-time.After(patience):
		t.Fatal("it did not happen")
		panic("unreachable")
	}
}

func TestWhatAReplicaLeavesBehindAnotherDelivers(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.rest()
	w.nats.Stop()
	require.Equal(t, "pending", w.say("s1", "m1", "call book {}").Matches[0].Event.State)
	require.Zero(t, w.replicas[0].stop(), "what is owed and cannot be done now holds no stop up")
	w.nats.Start()
	w.rest()
	require.Len(t, w.events("tool.trigger.clinic.s1.book"), 1)
}
