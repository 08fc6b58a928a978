package emitter_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/emitter"
	"earshot/emitter/natstest"
	"earshot/trigger"
)

func TestServerWithoutJetStreamSaysSo(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	e := connect(t, s.URL(), emitter.Options{})
	got := e.Deliver(t.Context(), event("e1", subject))
	require.Equal(t, trigger.Retry, got.Verdict)
	require.Contains(t, got.Error, "no JetStream")
	require.ErrorContains(t, e.Ready(t.Context()), "no JetStream")
}

func TestFullStreamRefusesAndKeepsWhatItHas(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{MaxBytes: 2000})
	first := event("e1", subject)
	first.Event.Data = large(1200)
	require.Equal(t, done, e.Deliver(t.Context(), first))

	second := event("e2", subject)
	second.Event.Data = large(1200)
	got := e.Deliver(t.Context(), second)
	require.Equal(t, trigger.Retry, got.Verdict)
	require.Contains(t, got.Error, "stream EARSHOT takes no more")
	require.Equal(t, []string{"e1"}, ids(s))

	s.Purge(emitter.Stream)
	require.Equal(t, done, e.Deliver(t.Context(), second))
}

func TestAnotherStreamOnOurSubjectsIsAClearError(t *testing.T) {
	s := natstest.Run(t)
	s.CreateStream(jetstream.StreamConfig{Name: "THEIRS", Subjects: []string{"app.>"}})
	e := connect(t, s.URL(), emitter.Options{})

	got := e.Deliver(t.Context(), event("e1", "app.clinic.calendar.request"))
	require.Equal(t, trigger.Retry, got.Verdict)
	require.Contains(t, got.Error, "another stream holds some of them")
	require.ErrorContains(t, e.Ready(t.Context()), "another stream holds some of them")
	require.Empty(t, s.Stored("THEIRS", ">"))

	s.DeleteStream("THEIRS")
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", "app.clinic.calendar.request")))
}

func TestStreamThatTookOverOurSubjectsAcknowledgesNothing(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	s.DeleteStream(emitter.Stream)
	s.CreateStream(jetstream.StreamConfig{Name: "THEIRS", Subjects: []string{"tool.>"}})

	got := e.Deliver(t.Context(), event("e2", subject))
	require.Equal(t, trigger.Retry, got.Verdict)
	require.Contains(t, got.Error, "another stream holds some of them")
	require.Empty(t, s.Stored("THEIRS", ">"))
}

func TestStreamThatCannotBeRepairedIsAClearError(t *testing.T) {
	s := natstest.Run(t)
	s.CreateStream(jetstream.StreamConfig{Name: emitter.Stream, Subjects: emitter.Subjects(), Storage: jetstream.MemoryStorage})
	e := connect(t, s.URL(), emitter.Options{})
	got := e.Deliver(t.Context(), event("e1", subject))
	require.Equal(t, trigger.Retry, got.Verdict)
	require.Contains(t, got.Error, "stream EARSHOT cannot be changed to what Earshot needs")
	require.Empty(t, ids(s))
}

func TestOperatorsOwnSettingsOfTheStreamAreLeft(t *testing.T) {
	s := natstest.Run(t)
	s.CreateStream(jetstream.StreamConfig{
		Name: emitter.Stream, Subjects: []string{"tool.>"}, MaxBytes: 1 << 20, Compression: jetstream.S2Compression,
	})
	e := connect(t, s.URL(), emitter.Options{MaxAge: time.Hour})
	require.NoError(t, e.Ready(t.Context()))

	config := s.StreamConfig(emitter.Stream)
	require.EqualValues(t, 1<<20, config.MaxBytes)
	require.Equal(t, jetstream.S2Compression, config.Compression)
	require.Equal(t, emitter.Subjects(), config.Subjects)
	require.Equal(t, time.Hour, config.MaxAge)
}
