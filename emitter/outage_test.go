package emitter_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
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

// hanging is a server whose JetStream takes requests and hangs.
func hanging(t *testing.T) (*natstest.Server, *nats.Subscription) {
	s := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	conn := s.Connect()
	asked, err := conn.SubscribeSync("$JS.API.>")
	require.NoError(t, err)
	require.NoError(t, conn.Flush()) // the server knows of it
	return s, asked
}

func TestDeliveryUnderWayEndsWithTheConnection(t *testing.T) {
	s, asked := hanging(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: time.Hour})
	ended := make(chan effect.Outcome)
	go func() { ended <- e.Deliver(t.Context(), event("e1", subject)) }()
	_, err := asked.NextMsg(30 * time.Second)
	require.NoError(t, err)

	s.Stop()
	got := <-ended
	effecttest.Ended(t, got, effect.Retry, "", "was lost")
	require.False(t, got.Deferred, "it may have arrived")
}

func TestNothingIsPublishedBehindOurBackAfterAReconnect(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: time.Minute})
	require.NoError(t, e.Ready(t.Context()))
	s.Stop()
	until(t, func() bool { return e.Ready(t.Context()) != nil })
	for range 100 { // it returns at once: minutes, were they to wait
		require.Equal(t, effect.Retry, e.Deliver(t.Context(), event("e1", subject)).Verdict)
	}

	s.Start()
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Equal(t, done, e.Deliver(t.Context(), event("e2", subject)))
	require.Equal(t, []string{"e2"}, ids(s))
}

func TestTimesOutWhereTheServerDoesNotAnswer(t *testing.T) {
	s, _ := hanging(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: 50 * time.Millisecond})

	got := e.Deliver(t.Context(), event("e1", subject))
	effecttest.Ended(t, got, effect.Retry, "", "did not acknowledge the event in time")
	require.False(t, got.Deferred, "it was tried")
}
