package natstest_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/natstest"
)

func TestServerKeepsItsURLAndMessagesOverRestart(t *testing.T) {
	s := natstest.Run(t)
	s.CreateStream(jetstream.StreamConfig{Name: "S", Subjects: []string{"a.*"}})
	url := s.URL()
	_, err := natstest.JetStream(t, url).Publish(t.Context(), "a.b", []byte("one"))
	require.NoError(t, err)

	s.Stop()
	_, err = nats.Connect(url)
	require.ErrorIs(t, err, nats.ErrNoServers)

	s.Start()
	require.Equal(t, url, s.URL())
	stored := s.Stored("S", ">")
	require.Len(t, stored, 1)
	require.Equal(t, "one", string(stored[0].Data))
}
