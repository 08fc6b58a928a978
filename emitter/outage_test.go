package emitter_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/trigger/effect"
)

func TestStartsWhileNATSIsDown(t *testing.T) {
	s := natstest.Run(t)
	s.Stop()
	e := connect(t, s.URL(), emitter.Options{})

	require.ErrorContains(t, e.Ready(t.Context()), "NATS is not connected")
	got := e.Deliver(t.Context(), event("e1", subject))
	require.Equal(t, effect.Retry, got.Verdict)
	require.True(t, got.Deferred)

	s.Start()
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	require.Equal(t, []string{"e1"}, ids(s))
}

func TestReturnsAtOnceWhileNATSIsDown(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: time.Minute})
	s.Stop()
	until(t, func() bool { return e.Ready(t.Context()) != nil })

	for range 100 { // an hour and more, were they to wait
		require.Equal(t, effect.Retry, e.Deliver(t.Context(), event("e1", subject)).Verdict)
	}
}

func TestDeliveryUnderWayEndsWithTheConnection(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	hanging := s.Connect()
	asked, err := hanging.SubscribeSync("$JS.API.>") // a JetStream that hangs
	require.NoError(t, err)
	require.NoError(t, hanging.Flush()) // the server knows of it
	e := connect(t, s.URL(), emitter.Options{Timeout: time.Hour})
	ended := make(chan effect.Outcome)
	go func() { ended <- e.Deliver(t.Context(), event("e1", subject)) }()
	_, err = asked.NextMsg(30 * time.Second)
	require.NoError(t, err)

	s.Stop()
	got := <-ended
	require.Equal(t, effect.Retry, got.Verdict)
	require.False(t, got.Deferred, "it may have arrived")
	require.Contains(t, got.Error, "was lost")
}

func TestNothingIsPublishedBehindOurBackAfterAReconnect(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	require.NoError(t, e.Ready(t.Context()))
	s.Stop()
	until(t, func() bool { return e.Ready(t.Context()) != nil })
	require.Equal(t, effect.Retry, e.Deliver(t.Context(), event("e1", subject)).Verdict)

	s.Start()
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Equal(t, done, e.Deliver(t.Context(), event("e2", subject)))
	require.Equal(t, []string{"e2"}, ids(s))
}

func TestTimesOutWhereTheServerDoesNotAnswer(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	hanging := s.Connect()
	_, err := hanging.SubscribeSync("$JS.API.>") // a JetStream that hangs
	require.NoError(t, err)
	require.NoError(t, hanging.Flush()) // the server knows of it
	e := connect(t, s.URL(), emitter.Options{Timeout: 50 * time.Millisecond})

	got := e.Deliver(t.Context(), event("e1", subject))
	require.Equal(t, effect.Retry, got.Verdict)
	require.False(t, got.Deferred, "it was tried")
	require.Contains(t, got.Error, "did not acknowledge the event in time")
}
