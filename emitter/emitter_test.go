package emitter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

const subject = "tool.trigger.clinic.s1.book"

func TestEventThatIsTooLargeIsDeadAndSaysTheSizes(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.MaxPayload = 4096 })
	e := connect(t, s.URL(), emitter.Options{})
	effecttest.Ended(t, e.Deliver(t.Context(), sized("e1", 3000)), effect.Done, "")
	got := e.Deliver(t.Context(), sized("e2", 5000))
	effecttest.Ended(t, got, effect.Dead, "")
	require.Regexp(t, `has 5\d\d\d bytes with its headers, and the NATS server's max_payload is 4096: raise it`, got.Error)

	config := s.StreamConfig(emitter.Stream)
	config.MaxMsgSize = 1000
	s.UpdateStream(config)
	effecttest.Ended(t, e.Deliver(t.Context(), sized("e3", 2000)), effect.Dead, "", "max_msg_size")
}

func TestEffectThatCanNeverBePublishedIsDead(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	for name, delivery := range map[string]effect.Effect{
		"a call":             {ID: "c", Kind: effect.KindCall, Call: &effect.Call{URL: "http://127.0.0.1"}},
		"no event":           {ID: "e", Kind: effect.KindEvent},
		"no id":              event("", subject),
		"no subject":         event("e", ""),
		"foreign subject":    event("e", "orders.new"),
		"unknown kind":       event("e", "tool.other.clinic.s1.book"),
		"wildcard":           event("e", "tool.trigger.*.s1.book"),
		"tail wildcard":      event("e", "tool.trigger.>"),
		"empty token":        event("e", "tool.trigger..s1.book"),
		"space":              event("e", "tool.trigger.clinic.s1.bo ok"),
		"line break":         event("e", "tool.trigger.clinic.s1.book\r\nPUB x 0"),
		"app of three":       event("e", "app.clinic.calendar"),
		"app of five":        event("e", "app.clinic.calendar.request.now"),
		"kind without scope": event("e", "tool.trigger"),
	} {
		t.Run(name, func(t *testing.T) {
			effecttest.Ended(t, e.Deliver(t.Context(), delivery), effect.Dead, "", " ")
		})
	}
	require.Empty(t, ids(s))
}

func TestHeaderValuesAreEscapedAsCloudEventsAsks(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	effect := event("e1", subject)
	effect.Event.Source = "/apps/Zoë \"50%\"\r\nce-id: forged"
	require.Equal(t, done, e.Deliver(t.Context(), effect))

	header := s.Stored(emitter.Stream, ">")[0].Header
	require.Equal(t, "/apps/Zo%C3%AB%20%2250%25%22%0D%0Ace-id:%20forged", header.Get("ce-source"))
	require.Equal(t, []string{"event-e1"}, header["ce-id"])
	require.NotContains(t, header, "traceparent", "an effect without a trace")
}

func TestClosedEmitterDefersDeliveries(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	e.Close()
	e.Close()

	got := e.Deliver(t.Context(), event("e2", subject))
	effecttest.Ended(t, got, effect.Retry, "", "the emitter is closed")
	require.True(t, got.Deferred)
	require.Error(t, e.Ready(t.Context()))
}

func TestCloseWaitsForDeliveriesUnderWay(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	require.NoError(t, e.Ready(t.Context()))
	var deliveries sync.WaitGroup
	outcomes := make(chan effect.Outcome, 64)
	for i := range cap(outcomes) {
		deliveries.Go(func() { outcomes <- e.Deliver(t.Context(), event(string(rune('A'+i)), subject)) })
	}
	first := <-outcomes
	e.Close()
	deliveries.Wait()
	close(outcomes)

	stored := map[bool]int{first.Verdict == effect.Done: 1}
	for got := range outcomes {
		stored[got.Verdict == effect.Done]++
		require.True(t, got.Verdict == effect.Done || got.Deferred, "one that was begun is done: %s", got.Error)
	}
	require.Len(t, ids(s), stored[true])
}

func TestReplicasThatThereCannotBeAreRefused(t *testing.T) {
	for _, replicas := range []int{6, -1} {
		_, err := emitter.Connect("nats://127.0.0.1:1", emitter.Options{Replicas: replicas})
		require.ErrorContains(t, err, fmt.Sprint(replicas, " replicas"))
	}
}

// sized makes an event of a size.
func sized(id string, size int) effect.Effect {
	delivery := event(id, subject)
	delivery.Event.Data = json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
	return delivery
}

const answered = "answer.clinic.t1"

// ledger stores answers, the first of a trigger after since, or fails.
type ledger struct {
	mu     sync.Mutex
	away   bool
	since  time.Time
	taken  map[string]string // by app and trigger
	offers int
}

func (l *ledger) take(_ context.Context, app, trigger string, given effect.Answer) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offers++
	if l.away {
		return false, errors.New("the store is not available")
	}
	if given.At.Before(l.since) {
		return false, nil
	}
	if l.taken == nil {
		l.taken = map[string]string{}
	}
	if _, had := l.taken[app+"/"+trigger]; !had {
		l.taken[app+"/"+trigger] = string(given.Result) + given.Error
	}
	return true, nil
}

// has returns the stored answers.
func (l *ledger) has() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.taken)
}

func (l *ledger) offered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.offers
}

func (l *ledger) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// replica is an intake that is not running.
func replica(t *testing.T, url string) (*emitter.Intake, *emitter.Emitter, *testbed.Lines) {
	t.Helper()
	lines := &testbed.Lines{}
	log := slog.New(slog.NewTextHandler(lines, nil))
	nats, err := emitter.Connect(url, emitter.Options{Logger: log})
	require.NoError(t, err)
	t.Cleanup(nats.Close)
	return nats.Intake(), nats, lines
}

// runIntake runs an intake until it is stopped, at the latest at the end of the test.
func runIntake(t *testing.T, i *emitter.Intake, into *ledger) (stop func()) {
	t.Helper()
	return testbed.Background(t, func(ctx context.Context) { i.Run(ctx, into.take) })
}

// answer publishes an answer, which the stream must store.
func answer(t *testing.T, s *natstest.Server, subject, body string) time.Time {
	t.Helper()
	_, err := natstest.JetStream(t, s.URL()).Publish(t.Context(), subject, []byte(body))
	require.NoError(t, err)
	stored := s.Stored(emitter.AnswerStream, subject)
	return stored[len(stored)-1].Time
}

// heard waits until all replicas together have acknowledged everything.
func heard(t *testing.T, s *natstest.Server) {
	t.Helper()
	js := natstest.JetStream(t, s.URL())
	until(t, func() bool {
		consumer, err := js.Consumer(t.Context(), emitter.AnswerStream, "earshot")
		if err != nil {
			return false
		}
		info := consumer.CachedInfo()
		return info.NumPending == 0 && info.NumAckPending == 0
	})
}

func TestAnswersThatArePublishedAreTakenAndTheFirstHolds(t *testing.T) {
	s := natstest.Run(t)
	into := &ledger{}
	first, _, lines := replica(t, s.URL())
	second, _, _ := replica(t, s.URL())
	stop := runIntake(t, first, into)
	heard(t, s)
	config := s.StreamConfig(emitter.AnswerStream)
	require.Equal(t, []string{"answer.*.*"}, config.Subjects)
	require.Equal(t, 25*time.Hour, config.MaxAge)

	malformed := []string{"", "yes", "{}", `{"ok":"true"}`, `{"ok":false}`, `{"ok":false,"error":7}`, "{\"ok\":true,\"result\":\"\xff\"}", "[]",
		`{"ok":true,"error":"it broke"}`, `{"OK":true}`, `{"ok":true,"ok":false,"error":"z"}`, `{"ok":true,"x":1}`, `{"ok":false,"error":"e","result":1}`}
	for _, text := range malformed {
		answer(t, s, answered, text)
	}
	answer(t, s, "answer.clin:ic.t1", `{"ok":true}`)
	heard(t, s)
	require.Equal(t, len(malformed)+1, strings.Count(lines.String(), "answer.ignored"))
	require.Zero(t, into.offered())

	runIntake(t, second, into)
	answer(t, s, answered, `{"ok":true,"result":{"n":9007199254740993}}`)
	answer(t, s, answered, `{"ok":false,"error":"no"}`)
	answer(t, s, "answer.clinic.t2", `{"ok":false,"error":"closed"}`)
	heard(t, s)
	require.Equal(t, map[string]string{"clinic/t1": `{"n":9007199254740993}`, "clinic/t2": "closed"}, into.has())

	stop()
	answer(t, s, "answer.clinic.t3", `{"ok":true,"result":3}`)
	until(t, func() bool { return into.has()["clinic/t3"] == "3" })
}

func TestAnswersWaitForTheLedgerAndForTheStream(t *testing.T) {
	s := natstest.Run(t)
	into := &ledger{away: true}
	i, _, _ := replica(t, s.URL())
	runIntake(t, i, into)
	heard(t, s)
	answer(t, s, answered, `{"ok":true,"result":1}`)
	until(t, func() bool { return into.offered() > 0 })
	into.set(func() { into.away = false })
	until(t, func() bool { return into.has()["clinic/t1"] == "1" })

	s.DeleteStream(emitter.AnswerStream)
	heard(t, s) // the stream is recreated
	answer(t, s, "answer.clinic.t2", `{"ok":true,"result":2}`)
	until(t, func() bool { return into.has()["clinic/t2"] == "2" })
}

func TestAnAnswerThatWasAskedForAgainIsOneGivenSince(t *testing.T) {
	s := natstest.Run(t)
	into := &ledger{}
	i, _, _ := replica(t, s.URL())
	stop := runIntake(t, i, into)
	heard(t, s)
	stop()
	answer(t, s, answered, `{"ok":false,"error":"before"}`)
	into.set(func() { into.since = answer(t, s, answered, `{"ok":true,"result":"since"}`) })
	answer(t, s, answered, `{"ok":true,"result":"later"}`)
	runIntake(t, i, into)
	heard(t, s)
	require.Equal(t, map[string]string{"clinic/t1": `"since"`}, into.has())
}

// asked returns the outcome of an effect that looks for an answer between two moments.
func asked(t *testing.T, i *emitter.Intake, since, until time.Time) effect.Outcome {
	t.Helper()
	return i.Deliver(t.Context(), effect.Effect{
		ID: "e1", Kind: effect.KindAnswer, Awaited: &effect.Awaited{Subject: answered, Since: since, Until: until},
	})
}

func TestTheFirstAnswerThatWasPublishedInTimeIsFound(t *testing.T) {
	s := natstest.Run(t)
	i, _, _ := replica(t, s.URL())
	until(t, func() bool { return asked(t, i, time.Time{}, time.Now()).Verdict == effect.Dead })
	stop := runIntake(t, i, &ledger{away: true})
	heard(t, s)
	stop()
	answer(t, s, "answer.clinic.t2", `{"ok":true,"result":"of another"}`)
	answer(t, s, answered, `neither`)
	first := answer(t, s, answered, `{"ok":true,"result":"first"}`)
	second := answer(t, s, answered, `{"ok":false,"error":"second"}`)

	found := asked(t, i, time.Time{}, second)
	require.Equal(t, effect.Outcome{Verdict: effect.Done, Result: []byte(`"first"`)}, found)
	require.Equal(t, effect.Unanswered(), asked(t, i, time.Time{}, first.Add(-time.Nanosecond)), "too late")
	require.Equal(t, effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "second"}, asked(t, i, second, second))
	require.Equal(t, effect.Unanswered(), asked(t, i, second.Add(time.Nanosecond), second.Add(time.Hour)))

	s.Stop()
	found = asked(t, i, time.Time{}, first)
	require.Equal(t, effect.Retry, found.Verdict, "it is not known")
	require.True(t, found.Deferred)
	s.Start()
	until(t, func() bool { return asked(t, i, time.Time{}, first).Verdict == effect.Done })
}

func TestAnswersThatNATSDeniesHoldUpNothing(t *testing.T) {
	_, _, url := denying(t, &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.*.EARSHOT_IN"}}})
	i, nats, lines := replica(t, url)
	runIntake(t, i, &ledger{})
	until(t, func() bool { return strings.Count(lines.String(), "answers.denied") > 0 })
	until(t, func() bool { return nats.Ready(t.Context()) == nil })
	require.Equal(t, effect.Unanswered(), asked(t, i, time.Time{}, time.Now()))
	require.Equal(t, effect.Unanswered(), asked(t, i, time.Time{}, time.Now()))
	require.NoError(t, nats.Ready(t.Context()))
	require.LessOrEqual(t, strings.Count(lines.String(), "answers.denied"), 2, "once for each thing that is denied")
}
