package emitter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// tail runs a tail of the server's stream until the test ends.
func tail(t *testing.T, s *natstest.Server) (*emitter.Emitter, *emitter.Tail) {
	e := connect(t, s.URL(), emitter.Options{Timeout: 5 * time.Second})
	return e, running(t, e)
}

// running runs a tail until the test ends.
func running(t *testing.T, e *emitter.Emitter) *emitter.Tail {
	reader := e.Tail(50 * time.Millisecond)
	testbed.Background(t, reader.Run)
	return reader
}

// of makes an event of a session.
func of(id, subject, session string) effect.Effect {
	effect := event(id, subject)
	effect.Event.Source = "/apps/clinic/sessions/" + session
	return effect
}

func publish(t *testing.T, e *emitter.Emitter, effects ...effect.Effect) {
	t.Helper()
	for _, effect := range effects {
		require.Equal(t, done, e.Deliver(t.Context(), effect))
	}
}

func follow(t *testing.T, reader *emitter.Tail, session string, after uint64) <-chan effect.Published {
	t.Helper()
	events, err := reader.Follow(t.Context(), "clinic", session, after)
	require.NoError(t, err)
	return events
}

func now(t *testing.T, reader *emitter.Tail) uint64 {
	t.Helper()
	at, err := reader.Now(t.Context())
	require.NoError(t, err)
	return at
}

// next takes n events and returns their subjects.
func next(t *testing.T, events <-chan effect.Published, n int) (subjects []string, last uint64) {
	t.Helper()
	for range n {
		select {
		case got, open := <-events:
			require.True(t, open, "the stream was closed after %v", subjects)
			require.Greater(t, got.Sequence, last)
			subjects, last = append(subjects, got.Subject), got.Sequence
		case <-time.After(2 * time.Minute):
			require.Fail(t, "no event", "after %v", subjects)
		}
	}
	return subjects, last
}

func TestFollowersGetTheEventsOfTheirSessionAlone(t *testing.T) {
	s := natstest.Run(t)
	e, reader := tail(t, s)
	at := now(t, reader)
	mine, app := follow(t, reader, "s1", at), follow(t, reader, "", at)
	other, err := reader.Follow(t.Context(), "other", "s1", at)
	require.NoError(t, err)
	effects := []effect.Effect{
		of("1", "tool.trigger.clinic.s1.book", "s1"), of("2", "tool.trigger.clinic.s2.book", "s2"), of("3", "app.clinic.calendar.request", "s1"),
		of("4", "app.clinic.calendar.request", "s2"), of("5", "tool.changed.clinic.r", "s1"), of("6", "tool.changed.clinic.r", "_"),
		of("7", "tool.trigger.clinic._.book", "_"), of("8", "tool.notmatching.clinic.s1", "s1"), of("9", "tool.confirm.clinic.s1.book", "s1"),
		of("10", "chat.message.clinic.s1", "s1"), of("11", "chat.message.clinic.s2", "s2"), of("12", "chat.failed.clinic.s1", "s1"),
	}
	publish(t, e, effects...)
	publish(t, e, of("13", "tool.trigger.other.s1.book", "s1"))

	subjects := func(picked ...int) (list []string) {
		for _, i := range picked {
			list = append(list, effects[i-1].Event.Subject)
		}
		return list
	}
	got, _ := next(t, mine, 7)
	require.Equal(t, subjects(1, 3, 5, 8, 9, 10, 12), got)
	got, _ = next(t, app, 12)
	require.Equal(t, subjects(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), got)
	got, _ = next(t, other, 1)
	require.Equal(t, []string{"tool.trigger.other.s1.book"}, got)

	again, _ := next(t, follow(t, reader, "s1", at), 7)
	require.Equal(t, subjects(1, 3, 5, 8, 9, 10, 12), again, "what is stored is picked in the same way")
	again, _ = next(t, follow(t, reader, "", at), 12)
	require.Equal(t, subjects(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), again)
}

func TestFollowerResumesWithoutGapOrRepeatWhileEventsComeIn(t *testing.T) {
	s := natstest.Run(t)
	e, reader := tail(t, s)
	const all = 900 // more than a batch, and more than a follower's queue
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for i := range all {
			if e.Deliver(t.Context(), of(fmt.Sprint(i), "tool.trigger.clinic.s1.book", "s1")).Verdict != effect.Done {
				return
			}
		}
	})
	var got []uint64
	for round := 0; len(got) < all; round++ {
		ctx, stop := context.WithCancel(t.Context())
		after := uint64(0)
		if len(got) > 0 {
			after = got[len(got)-1]
		}
		events, err := reader.Follow(ctx, "clinic", "s1", after)
		require.NoError(t, err)
		for range 1 + round*7%100 {
			if one, open := <-events; open {
				got = append(got, one.Sequence)
			}
			if len(got) == all {
				break
			}
		}
		stop()
	}
	publishing.Wait()
	for i, sequence := range got {
		require.EqualValues(t, i+1, sequence)
	}
}

func TestSlowFollowerIsDroppedAndHoldsUpNobody(t *testing.T) {
	s := natstest.Run(t)
	e, reader := tail(t, s)
	at := now(t, reader)
	slow, quick := follow(t, reader, "s1", at), follow(t, reader, "s1", at)
	const all = 300
	var taken []string
	var taking sync.WaitGroup
	taking.Go(func() {
		for range all {
			if one, open := <-quick; open {
				taken = append(taken, one.Subject)
			}
		}
	})
	for i := range all {
		publish(t, e, of(fmt.Sprint(i), "tool.trigger.clinic.s1.book", "s1"))
	}
	taking.Wait()
	require.Len(t, taken, all)
	last := at
	for one := range slow { // until it is closed
		last = one.Sequence
	}
	require.Less(t, last, at+all)
	_, end := next(t, follow(t, reader, "s1", last), int(at+all-last))
	require.Equal(t, at+all, end, "it comes back and misses nothing")
}

func TestFollowersGoOnThroughAnOutage(t *testing.T) {
	s := natstest.Run(t)
	e, reader := tail(t, s)
	events := follow(t, reader, "s1", now(t, reader))
	publish(t, e, of("1", "tool.trigger.clinic.s1.book", "s1"))
	next(t, events, 1)
	s.Restart()
	until(t, func() bool {
		return e.Deliver(t.Context(), of("2", "tool.result.clinic.s1.book", "s1")).Verdict == effect.Done
	})
	got, _ := next(t, events, 1)
	require.Equal(t, []string{"tool.result.clinic.s1.book"}, got)
}

func TestStreamThatIsMadeAnewIsReadFromItsBeginning(t *testing.T) {
	s := natstest.Run(t)
	e, reader := tail(t, s)
	publish(t, e, of("1", "tool.trigger.clinic.s1.book", "s1"), of("2", "tool.trigger.clinic.s1.book", "s1"))
	events := follow(t, reader, "s1", 0)
	_, last := next(t, events, 2)
	s.DeleteStream(emitter.Stream)
	publish(t, e, of("3", "tool.result.clinic.s1.book", "s1"))
	_, open := <-events
	require.False(t, open, "the reader is told to come back")
	var got []string
	until(t, func() bool {
		events, err := reader.Follow(t.Context(), "clinic", "s1", last)
		if err != nil {
			return false
		}
		one := <-events
		got = append(got, one.Subject)
		return one.Sequence == 1
	})
	require.Contains(t, got, "tool.result.clinic.s1.book")
}

func TestThousandsOfFollowersHaveOneConsumer(t *testing.T) {
	s := natstest.Run(t)
	e, reader := tail(t, s)
	at := now(t, reader)
	const followers = 3000
	streams := make([]<-chan effect.Published, followers)
	for i := range streams {
		streams[i] = follow(t, reader, fmt.Sprintf("s%d", i%1000), at)
	}
	js := natstest.JetStream(t, s.URL())
	stream, err := js.Stream(t.Context(), emitter.Stream)
	require.NoError(t, err)
	require.Equal(t, 1, stream.CachedInfo().State.Consumers)
	for i := range 1000 {
		session := fmt.Sprintf("s%d", i)
		publish(t, e, of(session, "tool.trigger.clinic."+session+".book", session))
	}
	for i, events := range streams {
		got, _ := next(t, events, 1)
		require.Equal(t, []string{fmt.Sprintf("tool.trigger.clinic.s%d.book", i%1000)}, got)
	}
}

func TestNothingIsReadWhileNobodyFollows(t *testing.T) {
	s := natstest.Run(t)
	e, reader := tail(t, s)
	js := natstest.JetStream(t, s.URL())
	consumers := func() int {
		stream, err := js.Stream(t.Context(), emitter.Stream)
		if err != nil {
			return -1
		}
		return stream.CachedInfo().State.Consumers
	}
	until(t, func() bool { return consumers() == 0 }) // the stream itself exists
	publish(t, e, of("1", "tool.trigger.clinic.s1.book", "s1"))
	require.Zero(t, consumers())

	ctx, leave := context.WithCancel(t.Context())
	at := now(t, reader)
	require.EqualValues(t, 1, at, "where the stream ends, though nothing was read")
	events, err := reader.Follow(ctx, "clinic", "s1", at)
	require.NoError(t, err)
	require.Equal(t, 1, consumers())
	publish(t, e, of("2", "tool.trigger.clinic.s1.book", "s1"))
	next(t, events, 1)
	leave()
	until(t, func() bool { return consumers() == 0 })

	publish(t, e, of("3", "tool.trigger.clinic.s1.book", "s1"), of("4", "tool.result.clinic.s1.book", "s1"))
	require.EqualValues(t, 4, now(t, reader))
	got, _ := next(t, follow(t, reader, "s1", at), 3)
	require.Equal(t, "tool.result.clinic.s1.book", got[2], "who comes back misses nothing")
}

func TestNobodyCanFollowAStreamThatWasNeverReached(t *testing.T) {
	s := natstest.Run(t)
	s.Stop()
	e := connect(t, s.URL(), emitter.Options{Timeout: 50 * time.Millisecond})
	reader := e.Tail(0)
	_, err := reader.Follow(t.Context(), "clinic", "s1", 0)
	require.ErrorIs(t, err, emitter.ErrNotReading)
	_, err = reader.Now(t.Context())
	require.ErrorIs(t, err, emitter.ErrNotReading)
}

func TestFollowersAreLetGoWhenTheReadingEnds(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{Timeout: 5 * time.Second})
	reader := e.Tail(0)
	stop := testbed.Background(t, reader.Run)
	events := []<-chan effect.Published{follow(t, reader, "s1", now(t, reader)), follow(t, reader, "", 0)}
	stop()
	require.False(t, slices.ContainsFunc(events, func(one <-chan effect.Published) bool { _, open := <-one; return open }))
}

// held returns the live heap, in bytes.
func held() int64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

func TestFollowersThatDoNotReadHoldLittle(t *testing.T) {
	const followers, events, size = 80, 40, 64 << 10
	s := natstest.Run(t)
	e, reader := tail(t, s)
	at := now(t, reader)
	payload := json.RawMessage(`{"text":"` + strings.Repeat("x", size) + `"}`)
	large := func(i int, session string) effect.Effect {
		effect := of(fmt.Sprint(session, i), "tool.trigger.clinic."+session+".book", session)
		effect.Event.Data = payload
		return effect
	}
	for i := range events {
		publish(t, e, large(i, "s1"))
	}
	before := held()
	var all []<-chan effect.Published
	for range followers { // each reads the stored events itself
		all = append(all, follow(t, reader, "s1", at))
	}
	for _, events := range all {
		next(t, events, 1) // and has buffered the rest
	}
	const most, stored = followers * 512 << 10, followers * events * size
	require.Eventually(t, func() bool { return held()-before < most }, time.Minute, 10*time.Millisecond, // what is in transit comes and goes
		"more than %d MiB are held, of %d that are stored for them", most>>20, stored>>20)

	before = held()
	for i := range 4 { // new events are shared by all of them
		publish(t, e, large(100+i, "s1"))
	}
	live := follow(t, reader, "s2", now(t, reader))
	publish(t, e, large(0, "s2"))
	next(t, live, 1)
	require.Less(t, (held()-before)>>20, int64(32))
	for _, events := range all[:3] { // following again misses nothing
		next(t, events, 43)
	}
}

// TestAReaderWithoutFollowersTriesNothingAgain has a stream that takes no consumer of the reader.
func TestAReaderWithoutFollowersTriesNothingAgain(t *testing.T) {
	s := natstest.Run(t)
	var log testbed.Lines
	e := connect(t, s.URL(), emitter.Options{Timeout: time.Second, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	config := s.StreamConfig(emitter.Stream)
	config.MaxConsumers = 1
	s.DeleteStream(emitter.Stream)
	js := natstest.JetStream(t, s.URL())
	until(t, func() bool { // once the server has removed the files
		_, err := js.CreateStream(t.Context(), config)
		return err == nil
	})
	_, err := js.CreateConsumer(t.Context(), emitter.Stream, jetstream.ConsumerConfig{Durable: "theirs"})
	require.NoError(t, err)

	reader := running(t, e)
	_, err = reader.Now(t.Context())
	require.ErrorIs(t, err, emitter.ErrNotReading)
	log.Await(t, "level=WARN msg=tail.interrupted error=.*maximum consumers")
	log.Await(t, "level=INFO msg=tail.resumed")
}

func TestAnOutageOfTheReaderIsTwoLines(t *testing.T) {
	s := natstest.Run(t)
	var log testbed.Lines
	e := connect(t, s.URL(), emitter.Options{Timeout: time.Second, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	reader := running(t, e)
	now(t, reader)
	s.Stop()
	until(t, func() bool {
		_, err := reader.Now(t.Context())
		return err != nil && strings.Count(log.String(), "msg=tail.interrupted") >= 3
	})
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN msg=tail.interrupted"), "%s", log.String())
	s.Start()
	until(t, func() bool {
		_, err := reader.Now(t.Context())
		return err == nil
	})
	log.Await(t, "level=INFO msg=tail.resumed held=(\\d+)")
}

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
	var log testbed.Lines
	for _, want := range []emitter.Options{{MaxAge: time.Hour, MaxBytes: 1 << 20}, {MaxAge: time.Second, MaxBytes: 1 << 30}, {MaxAge: 200 * time.Hour, MaxBytes: 1 << 21}} {
		want.Logger = slog.New(slog.NewTextHandler(&log, nil))
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
	require.Contains(t, log.String(), "MaxBytes 5242880, asked for 2097152", "replicas with other settings change it in turn")
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
