package emitter_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

func TestServerWithoutJetStreamSaysSo(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	e := connect(t, s.URL(), emitter.Options{})
	got := e.Deliver(t.Context(), event("e1", subject))
	effecttest.Ended(t, got, effect.Retry, "", "no JetStream")
	require.ErrorContains(t, e.Ready(t.Context()), "no JetStream")
}

func TestFullStreamRefusesAndKeepsWhatItHas(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{MaxBytes: 2000})
	require.Equal(t, done, e.Deliver(t.Context(), sized("e1", 1200)))
	second := sized("e2", 1200)
	got := e.Deliver(t.Context(), second)
	effecttest.Ended(t, got, effect.Retry, "", "stream EARSHOT takes no more")
	require.Equal(t, []string{"e1"}, ids(s))

	s.Purge(emitter.Stream)
	require.Equal(t, done, e.Deliver(t.Context(), second))
}

func TestAnotherStreamOnOurSubjectsIsAClearError(t *testing.T) {
	s := natstest.Run(t)
	s.CreateStream(jetstream.StreamConfig{Name: "THEIRS", Subjects: []string{"app.>"}})
	e := connect(t, s.URL(), emitter.Options{})

	got := e.Deliver(t.Context(), event("e1", "app.clinic.calendar.request"))
	effecttest.Ended(t, got, effect.Retry, "", "another stream holds some of them")
	require.ErrorContains(t, e.Ready(t.Context()), "another stream holds some of them")
	require.Empty(t, s.Stored("THEIRS", ">"))

	// The server removes a stream's folder asynchronously, and sometimes the new stream comes too early.
	s.DeleteStream("THEIRS")
	deliver(t, e, event("e1", "app.clinic.calendar.request"))
	require.Equal(t, []string{"e1"}, ids(s))
}

// A program that used subjects under chat before must not block other events.
func TestAStreamUnderChatOfAnotherProgramStopsChatEventsAlone(t *testing.T) {
	for name, before := range map[string][]string{"new": nil, "grown": {"tool.>", "app.*.*.*"}} {
		t.Run(name, func(t *testing.T) {
			s := natstest.Run(t)
			s.CreateStream(jetstream.StreamConfig{Name: "THEIRS", Subjects: []string{"chat.>"}})
			if before != nil {
				s.CreateStream(jetstream.StreamConfig{Name: emitter.Stream, Subjects: before})
			}
			var log testbed.Lines
			e := connect(t, s.URL(), emitter.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, e.Ready(t.Context()))
			require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
			got := e.Deliver(t.Context(), event("e2", "chat.message.clinic.s1"))
			effecttest.Ended(t, got, effect.Retry, "", "another stream than EARSHOT holds the subject")
			require.Empty(t, s.Stored("THEIRS", ">"))
			require.Equal(t, 1, strings.Count(log.String(), "stream.chat"))

			s.DeleteStream("THEIRS")
			require.Equal(t, done, e.Deliver(t.Context(), event("e2", "chat.message.clinic.s1")))
			require.Equal(t, emitter.Subjects(), s.StreamConfig(emitter.Stream).Subjects)
			require.Equal(t, []string{"e1", "e2"}, ids(s))
		})
	}
}

func TestStreamThatTookOverOurSubjectsAcknowledgesNothing(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	s.DeleteStream(emitter.Stream)
	s.CreateStream(jetstream.StreamConfig{Name: "THEIRS", Subjects: []string{"tool.>"}})

	got := e.Deliver(t.Context(), event("e2", subject))
	effecttest.Ended(t, got, effect.Retry, "", "another stream holds some of them")
	require.Empty(t, s.Stored("THEIRS", ">"))
}

func TestStreamThatCannotBeRepairedIsAClearError(t *testing.T) {
	s := natstest.Run(t)
	s.CreateStream(jetstream.StreamConfig{Name: emitter.Stream, Subjects: emitter.Subjects(), Storage: jetstream.MemoryStorage})
	e := connect(t, s.URL(), emitter.Options{})
	got := e.Deliver(t.Context(), event("e1", subject))
	effecttest.Ended(t, got, effect.Retry, "", "stream EARSHOT cannot be changed to what Earshot needs")
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

func TestStreamThatIsGoneIsMadeAnewThoughOthersListen(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: 200 * time.Millisecond})
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	listening := s.Connect()
	for _, answer := range []string{"", "heard"} { // one listens, another answers
		_, err := listening.Subscribe("tool.>", func(m *nats.Msg) {
			if answer != "" {
				_ = m.Respond([]byte(answer))
			}
		})
		require.NoError(t, err)
		require.NoError(t, listening.Flush())
		s.DeleteStream(emitter.Stream)
		until(t, func() bool { e.Deliver(t.Context(), event("e2", subject)); return len(ids(s)) == 1 })
	}
}

func TestFullStreamIsSeenAndGoesOnWhenThereIsRoom(t *testing.T) {
	s := natstest.Run(t)
	var log testbed.Lines
	e := connect(t, s.URL(), emitter.Options{MaxBytes: 8000, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, e.Ready(t.Context()))
	metric := func(full float64) {
		t.Helper()
		require.InDelta(t, full, gauge(t, e, "earshot_stream_full"), 0)
	}
	metric(0)
	big := func(id string) effect.Effect { return sized(id, 3000) }
	for round := range 2 {
		require.Equal(t, done, e.Deliver(t.Context(), big(fmt.Sprint(round, "a"))))
		require.Equal(t, done, e.Deliver(t.Context(), big(fmt.Sprint(round, "b"))))
		for range 3 {
			require.Equal(t, effect.Retry, e.Deliver(t.Context(), big(fmt.Sprint(round, "c"))).Verdict)
			require.ErrorContains(t, e.Ready(t.Context()), "stream EARSHOT is full: raise EARSHOT_STREAM_MAX_BYTES")
		}
		metric(1)
		require.Equal(t, done, e.Deliver(t.Context(), event(fmt.Sprint(round, "small"), subject)), "what fits goes on")
		require.Error(t, e.Ready(t.Context()), "and says nothing of what does not")
		require.Equal(t, round+1, strings.Count(log.String(), "stream.full"), "said once a time: %s", &log)
		s.Purge(emitter.Stream)
		if round == 0 {
			require.NoError(t, e.Ready(t.Context()))
		} else {
			require.Equal(t, done, e.Deliver(t.Context(), big("1c")))
		}
		require.Equal(t, round+1, strings.Count(log.String(), "stream.room"))
		metric(0)
	}
}

func TestStreamThatIsNearlyFullIsNotReady(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{MaxBytes: 4000})
	require.Equal(t, done, e.Deliver(t.Context(), sized("e1", 3200)))
	require.ErrorContains(t, connect(t, s.URL(), emitter.Options{}).Ready(t.Context()), "is full", "another replica finds it so")
}

func TestLimitsOfTheStreamFollowTheOptions(t *testing.T) {
	s := natstest.Run(t)
	limits := func() (time.Duration, time.Duration, int64) {
		config := s.StreamConfig(emitter.Stream)
		return config.MaxAge, config.Duplicates, config.MaxBytes
	}
	for _, want := range []emitter.Options{{MaxAge: time.Hour, MaxBytes: 1 << 20}, {MaxAge: time.Second, MaxBytes: 1 << 30}, {MaxAge: 200 * time.Hour, MaxBytes: 1 << 21}} {
		e := connect(t, s.URL(), want)
		require.NoError(t, e.Ready(t.Context()))
		age, window, bytes := limits()
		require.Equal(t, want.MaxAge, age)
		require.Equal(t, min(want.MaxAge, emitter.DuplicateWindow), window)
		require.Equal(t, want.MaxBytes, bytes)
		require.Equal(t, jetstream.DiscardNew, s.StreamConfig(emitter.Stream).Discard)

		byHand := s.StreamConfig(emitter.Stream)
		byHand.MaxBytes = 5 << 20
		s.UpdateStream(byHand)
		require.NoError(t, e.Ready(t.Context()))
		_, _, bytes = limits()
		require.EqualValues(t, 5<<20, bytes, "room that an operator makes is left until the next start")
	}
}

func TestServerWithLessRoomThanTheStreamMayTakeSaysSo(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.JetStreamMaxStore = 10 << 20 })
	e := connect(t, s.URL(), emitter.Options{MaxBytes: 1 << 30})
	require.ErrorContains(t, e.Ready(t.Context()), "EARSHOT_STREAM_MAX_BYTES (--stream-max-bytes) less")
	require.Contains(t, e.Deliver(t.Context(), event("e1", subject)).Error, "NATS has no room")

	require.NoError(t, connect(t, s.URL(), emitter.Options{MaxBytes: 1 << 20}).Ready(t.Context()))
	again := connect(t, s.URL(), emitter.Options{MaxBytes: 1 << 30})
	require.NoError(t, again.Ready(t.Context()), "a stream that is there takes events")
	require.Equal(t, done, again.Deliver(t.Context(), event("e1", subject)))
	require.EqualValues(t, 1<<20, s.StreamConfig(emitter.Stream).MaxBytes)
}

func TestRoomIsWhatTheStreamHoldsAndMay(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{MaxBytes: 5000})
	_, _, err := e.Usage(t.Context())
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
	require.Equal(t, done, e.Deliver(t.Context(), sized("e1", 1200)))
	used, limit, err := e.Usage(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(5000), limit)
	require.Greater(t, used, int64(1200))
	require.Less(t, used, int64(2400))
	s.Stop()
	_, _, err = e.Usage(t.Context())
	require.Error(t, err)
}
