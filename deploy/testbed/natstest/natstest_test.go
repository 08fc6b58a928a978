package natstest_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/natstest"
)

func publish(t *testing.T, conn *nats.Conn, subject, text string) {
	t.Helper()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = js.Publish(ctx, subject, []byte(text))
	require.NoError(t, err)
}

func TestServerKeepsItsURLAndMessagesOverRestart(t *testing.T) {
	s := natstest.Run(t)
	s.CreateStream(jetstream.StreamConfig{Name: "S", Subjects: []string{"a.*"}})
	publish(t, s.Connect(), "a.b", "one")
	url := s.URL()

	s.Stop()
	_, err := nats.Connect(url)
	require.ErrorIs(t, err, nats.ErrNoServers)

	s.Start()
	require.Equal(t, url, s.URL())
	stored := s.Stored("S", ">")
	require.Len(t, stored, 1)
	require.Equal(t, "one", string(stored[0].Data))
}

func TestStoredFiltersBySubjectInOrder(t *testing.T) {
	s := natstest.Run(t)
	s.CreateStream(jetstream.StreamConfig{Name: "S", Subjects: []string{"a.*"}})
	conn := s.Connect()
	for _, subject := range []string{"a.x", "a.y", "a.x"} {
		publish(t, conn, subject, subject)
	}
	stored := s.Stored("S", "a.x")
	require.Len(t, stored, 2)
	require.Less(t, stored[0].Sequence, stored[1].Sequence)
	require.Len(t, s.Stored("S", ">"), 3)

	s.Purge("S")
	require.Empty(t, s.Stored("S", ">"))
	s.DeleteStream("S")
	require.Empty(t, s.Stored("S", ">"), "a stream that is missing holds nothing")
}

func TestServerTakesOptions(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.Username, o.Password = "ann", "secret" })
	_, err := nats.Connect(s.URL())
	require.ErrorIs(t, err, nats.ErrAuthorization)
	require.True(t, s.Connect().IsConnected())
}
