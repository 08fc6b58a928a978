package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/webhooks"
	"earshot/trigger/worker"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const signing = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// stage is a worker that serves webhooks, on a real NATS server and a Redis, with an endpoint for them.
type stage struct {
	t        *testing.T
	db       *keyspace.DB
	store    *store.Store
	nats     *natstest.Server
	emitter  *emitter.Emitter
	stream   jetstream.Stream
	webhooks *webhooks.Webhooks
	*endpoint
}

// each runs a test on each kind of Redis. The pauses of its webhooks last as pace says.
func each(t *testing.T, pace func(time.Duration) time.Duration, test func(t *testing.T, s *stage)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) { test(t, set(t, server, pace)) })
}

// set returns a stage on a Redis.
func set(t *testing.T, server *redistest.Server, pace func(time.Duration) time.Duration) *stage {
	t.Helper()
	s := &stage{t: t, endpoint: receives(t)}
	s.db = &keyspace.DB{UniversalClient: server.Connect(redis.UniversalOptions{ContextTimeoutEnabled: true}), Embedded: server.Embedded()}
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize)))
	require.NoError(t, err)
	s.store = store.New(s.db, store.Options{Sealer: sealer, SessionTTL: time.Hour})
	s.nats = natstest.Run(t)
	quiet := slog.New(slog.DiscardHandler)
	s.emitter = testbed.Got(emitter.Connect(s.nats.URL(), emitter.Options{Timeout: 10 * time.Second, Logger: quiet}))(t)
	t.Cleanup(s.emitter.Close)
	s.until("the stream is there", func() bool { return s.emitter.Ready(t.Context()) == nil })
	s.stream = streamOf(t, s.nats)
	s.serve(pace)
	return s
}

// streamOf returns the stream that the emitter makes.
func streamOf(t *testing.T, server *natstest.Server) (stream jetstream.Stream) {
	conn := testbed.Got(nats.Connect(server.URL()))(t)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream = testbed.Got(js.Stream(t.Context(), emitter.Stream))(t)
	return stream
}

// serve runs one more replica until the test ends.
func (s *stage) serve(pace func(time.Duration) time.Duration) {
	w := testbed.Got(worker.New(worker.Options{DB: s.db, Store: s.store, Poll: 20 * time.Millisecond, Jitter: pace}))(s.t)
	loopback := testbed.Got(guard.ParsePolicy("127.0.0.0/8"))(s.t)
	caller := httpcall.New(httpcall.Options{Apps: s.store, Policy: loopback, Logger: slog.New(slog.DiscardHandler)})
	hooks := webhooks.New(webhooks.Options{Worker: w, Apps: s.store, Events: s.emitter, Sender: caller})
	for _, lane := range keyspace.Lanes {
		switch lane {
		case keyspace.LaneOutboxes:
			w.Handle(lane, s.publishes(w))
		case keyspace.LaneWebhooks:
		default:
			w.Handle(lane, func(context.Context, string, string) error { return nil })
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	s.t.Cleanup(func() {
		stop()
		running.Wait()
		ending, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(s.t, w.Stop(ending))
	})
	s.webhooks = hooks
}

// publishes publishes the events of an outbox, as package delivery does.
func (s *stage) publishes(w *worker.Worker) func(context.Context, string, string) error {
	return func(ctx context.Context, app, box string) error {
		owed, err := w.Ledger.ClaimRun(ctx, app, box, w.Token())
		for _, one := range owed {
			var event effect.Event
			if err := json.Unmarshal([]byte(one.Body), &event); err != nil {
				return err
			}
			s.emitter.Deliver(ctx, effect.Effect{ID: one.ID, Kind: effect.KindEvent, AppID: app, Event: &event})
		}
		return err
	}
}

// quick makes all pauses short.
func quick(pause time.Duration) time.Duration { return pause / 500 }

// app writes the app clinic with webhooks.
func (s *stage) app(hooks string) {
	s.t.Helper()
	app := testbed.Got(repositories.DecodeApp("clinic", []byte(`{"signingSecret":"`+signing+`","settings":{"webhooks":[`+hooks+`]}}`)))(s.t)
	_, err := s.store.PutApp(s.t.Context(), app)
	require.NoError(s.t, err)
}

// leads returns a webhook to the endpoint, with more fields.
func (s *stage) leads(name, more string) string {
	return fmt.Sprintf(`{"name":%q,"url":%q%s}`, name, s.URL+"/"+name, more)
}

// publish publishes an event, with the hint.
func (s *stage) publish(subject, session, id string, data ...json.RawMessage) {
	s.t.Helper()
	if data == nil {
		data = []json.RawMessage{json.RawMessage(`{"id":"` + id + `","n":1.50}`)}
	}
	source := "/apps/clinic/sessions/" + keyspace.OrNone(session)
	outcome := s.emitter.Deliver(s.t.Context(), effect.Effect{ID: id, Kind: effect.KindEvent, AppID: "clinic", SessionID: session, Event: &effect.Event{
		Subject: subject, ID: "of " + id, Type: "earshot.x", Source: source, Time: time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC), Data: data[0],
	}})
	require.Equal(s.t, effect.Done, outcome.Verdict, outcome.Error)
	s.webhooks.Published("clinic")
}

func (s *stage) fires(session, id string, data ...json.RawMessage) {
	s.publish("tool.trigger.clinic."+keyspace.OrNone(session)+".book", session, id, data...)
}

func (s *stage) state() webhooks.Webhook {
	all := testbed.Got(s.webhooks.List(s.t.Context(), "clinic"))(s.t)
	return all[0]
}

func (s *stage) deliveries(state string) []webhooks.Delivery {
	all, _, err := s.webhooks.Deliveries(s.t.Context(), "clinic", "desk", state, query.Page{Limit: 200})
	require.NoError(s.t, err)
	return all
}

func (s *stage) until(what string, holds func() bool) {
	s.t.Helper()
	require.Eventually(s.t, holds, 2*time.Minute, 5*time.Millisecond, what)
}

// received is a request to the endpoint.
type received struct {
	path, id, attempt string
	header            http.Header
	body              []byte
}

// endpoint stores the requests that it receives, and answers by id as configured.
type endpoint struct {
	*httptest.Server
	mu      sync.Mutex
	all     []received
	answers func(received) int
}

func receives(t *testing.T) *endpoint {
	e := &endpoint{answers: func(received) int { return 200 }}
	e.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		got := received{request.URL.Path, request.Header.Get("Webhook-Id"), request.Header.Get("Earshot-Attempt"), request.Header.Clone(), body}
		e.mu.Lock()
		e.all = append(e.all, got)
		answers := e.answers
		e.mu.Unlock()
		out.WriteHeader(answers(got))
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) answering(answers func(received) int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers = answers
}

func (e *endpoint) requests() []received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// ids returns the ids of the requests so far.
func (e *endpoint) ids() (ids []string) {
	for _, one := range e.requests() {
		ids = append(ids, one.id)
	}
	return ids
}

func TestEventsArriveSignedAndThoseOfASessionInTheirOrder(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.fires("s1", "before it was there")
		s.app(s.leads("desk", `,"types":["tool.trigger","tool.result"]`) + `,` + s.leads("all", `,"secret":"whsec_`+strings.Repeat("A", 32)+`"`))
		s.webhooks.Published("clinic")
		for i := range 3 {
			for _, session := range []string{"s1", "s2", ""} {
				s.fires(session, fmt.Sprintf("%s.%d", session, i))
			}
		}
		s.publish("app.clinic.calendar.request", "s1", "emitter")
		s.publish("chat.message.clinic.s1", "s1", "chat")
		s.publish("tool.trigger.other.s1.book", "s1", "of another app")
		s.publish("tool.result.clinic.s1.book", "s1", "result")
		s.until("all have arrived", func() bool { return len(s.requests()) >= 10+11 })

		var order = map[string][]string{}
		for _, got := range s.requests() {
			order[got.path] = append(order[got.path], got.id)
			secret := signing
			if got.path == "/all" {
				secret = "whsec_" + strings.Repeat("A", 32)
			}
			verifier := testbed.Got(standardwebhooks.NewWebhook(secret))(t)
			require.NoError(t, verifier.Verify(got.body, got.header), "as receivers verify it")
			require.Equal(t, "1", got.attempt)
			if got.id == "s2.1" {
				require.Equal(t, `{"type":"tool.trigger","timestamp":"2026-12-01T08:30:00Z","data":{"id":"s2.1","n":1.50}}`, string(got.body))
			}
		}
		require.Len(t, order["/desk"], 10)
		require.Len(t, order["/all"], 11)
		require.Contains(t, order["/all"], "chat")
		require.NotContains(t, order["/desk"], "chat")
		for _, session := range []string{"s1", "s2"} {
			of := slices.DeleteFunc(order["/desk"], func(id string) bool { return !strings.HasPrefix(id, session) })
			require.True(t, slices.IsSorted(of), "%v", of)
		}
		s.until("it is written down", func() bool { return s.state().Delivered == 10 })
		require.Equal(t, "enabled", s.state().State)
		require.NotNil(t, s.state().LastDelivered)
	})
}

func TestWhatDoesNotArriveIsSentAgainAndHoldsNothingUp(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.answering(func(got received) int {
			if got.id == "second" && got.attempt != "4" {
				return 503
			}
			return 204
		})
		for _, id := range []string{"first", "second", "third"} {
			s.fires("s1", id)
		}
		s.until("all have arrived", func() bool { return s.state().Delivered == 3 })
		ids := s.ids()
		require.Equal(t, []string{"first", "second", "third"}, ids[:3], "of a session, in their order")
		require.Equal(t, []string{"second", "second", "second"}, ids[3:], "the same id each time")
		require.Empty(t, s.deliveries(""))
		require.Equal(t, "enabled", s.state().State)
	})
}

// slow shortens only the pause of an idle webhook.
func slow(pause time.Duration) time.Duration {
	if pause <= time.Second {
		return quick(pause)
	}
	return pause
}

func TestUndeliveredEventsAreListedAndResentOnRequest(t *testing.T) {
	each(t, slow, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.answering(func(got received) int {
			if got.id == "b" {
				return 500
			}
			return 200
		})
		for _, id := range []string{"a", "b", "c"} {
			s.fires("s1", id)
		}
		s.until("two have arrived", func() bool { return s.state().Delivered == 2 && s.state().Waiting == 1 })
		listed := s.deliveries(webhooks.DeliveryWaiting)
		require.Len(t, listed, 1)
		require.Equal(t, []any{"b", "tool.trigger", "s1", 1, 500}, []any{listed[0].EventID, listed[0].Type, listed[0].SessionID, listed[0].Attempts, listed[0].Status})
		require.NotNil(t, listed[0].Next)
		require.Empty(t, s.deliveries(webhooks.DeliveryFailed))
		s.answering(func(received) int { return 200 })
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", nil))
		s.until("it has arrived", func() bool { return s.state().Delivered == 3 })
		require.Equal(t, []string{"a", "b", "c", "b"}, slices.Compact(s.ids()))
		for _, name := range []string{"clinic/none", "none/desk"} {
			app, webhook, _ := strings.Cut(name, "/")
			require.ErrorIs(t, s.webhooks.Resend(t.Context(), app, webhook, nil), repositories.ErrNotFound)
		}
	})
}

func TestAServerThatIsDownIsTriedWithOneEventAtATime(t *testing.T) {
	each(t, slow, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.answering(func(received) int { return 502 })
		for i := range 40 {
			s.fires("s"+strconv.Itoa(i), "e"+strconv.Itoa(i))
		}
		s.until("it is taken for down", func() bool {
			return s.state().State == "failing" && s.state().Waiting >= ledger.WebhookProbeAfter
		})
		count := len(s.requests())
		require.Less(t, count, 20, "so many were under way at the same time at most")
		s.fires("s1", "more")
		require.Equal(t, count, len(s.requests()), "and nothing more is sent until its pause is over")
		s.answering(func(received) int { return 200 })
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", nil))
		s.until("all have arrived", func() bool { return s.state().Delivered == 41 })
		require.Equal(t, "enabled", s.state().State)
	})
}

// passes moves a webhook's recorded times into the past.
func (s *stage) passes(fields ...string) {
	k, _ := keyspace.Webhook(keyspace.KeysOf("clinic"), "desk")
	for _, field := range fields {
		require.NoError(s.t, s.db.HIncrBy(s.t.Context(), k, field, -(6*24*time.Hour).Milliseconds()).Err())
	}
}

func TestAFailingWebhookIsDisabledWithAnEvent(t *testing.T) {
	each(t, slow, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", `,"types":["tool.trigger"]`) + `,` + s.leads("watch", `,"types":["tool.webhook"]`))
		s.answering(func(got received) int {
			if got.path == "/desk" {
				return 500
			}
			return 200
		})
		s.fires("s1", "a")
		s.until("it fails", func() bool { return s.state().State == "failing" })
		s.passes("failing")
		s.fires("s1", "b")
		s.until("it is disabled", func() bool { return s.state().State == "disabled" })
		require.Equal(t, "nothing has arrived for five days", s.state().Reason)
		s.until("another webhook is told", func() bool {
			s.webhooks.Published("clinic")
			return slices.ContainsFunc(s.requests(), func(got received) bool {
				return got.path == "/watch" && strings.Contains(string(got.body), `"name":"desk","state":"disabled","reason":"nothing has arrived for five days","failingSince":"`)
			})
		})
		count := len(s.requests())
		s.fires("s1", "c")
		require.Equal(t, count, len(s.requests()))

		s.answering(func(received) int { return 200 })
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", nil))
		s.until("all have arrived", func() bool { return s.state().Delivered == 3 })
		require.Equal(t, "enabled", s.state().State)
		require.Empty(t, s.state().Reason)
	})
}

func TestAGoneWebhookIsDisabledUntilItsURLChanges(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", `,"types":["tool.trigger"]`))
		s.answering(func(got received) int {
			if got.path == "/desk" {
				return 410
			}
			return 200
		})
		s.fires("s1", "a")
		s.until("it is disabled", func() bool { return s.state().State == "disabled" })
		s.app(s.leads("desk", `,"types":["tool.trigger"]`))
		require.Equal(t, "disabled", s.state().State, "it leads where it did")
		s.app(strings.Replace(s.leads("desk", `,"types":["tool.trigger"]`), "/desk", "/other", 1))
		s.until("it has arrived there", func() bool { return s.state().Delivered == 1 })
	})
}

func TestAnEventIsGivenUpAfterThreeDays(t *testing.T) {
	each(t, slow, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.answering(func(received) int { return 400 })
		s.fires("s1", "a")
		s.until("it waits", func() bool { return s.state().Waiting == 1 })
		k := keyspace.KeysOf("clinic")
		webhook, resends := keyspace.Webhook(k, "desk")
		sequence := s.db.ZRange(t.Context(), resends, 0, -1).Val()[0]
		long := time.Now().Add(-73 * time.Hour).UnixMilli()
		require.NoError(t, s.db.HSet(t.Context(), webhook, "d:"+sequence, fmt.Sprint("7 ", long, " 400")).Err())
		require.NoError(t, s.db.ZAdd(t.Context(), resends, redis.Z{Score: 1, Member: sequence}).Err())
		require.NoError(t, s.db.ZAdd(t.Context(), k.Lane(keyspace.LaneWebhooks), redis.Z{Score: 1, Member: "desk"}).Err())
		require.NoError(t, s.db.ZAdd(t.Context(), k.Due(), redis.Z{Score: 1, Member: "webhooks/clinic"}).Err())
		s.until("it is given up", func() bool { return s.state().Failed == 1 && s.state().Waiting == 0 })
		listed := s.deliveries(webhooks.DeliveryFailed)
		require.Len(t, listed, 1)
		require.Equal(t, []any{"a", 8, 400}, []any{listed[0].EventID, listed[0].Attempts, listed[0].Status})
		require.Nil(t, listed[0].Next)
		s.answering(func(received) int { return 200 })
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", nil))
		s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
		require.Empty(t, s.deliveries(""))
	})
}

func TestEventsAreSentAgainFromAMomentOn(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.fires("s1", "a")
		s.fires("s1", "b")
		s.until("they have arrived", func() bool { return s.state().Delivered == 2 })
		stored := testbed.Got(s.stream.GetMsg(t.Context(), 2))(t)
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", &stored.Time))
		s.until("the second has come again", func() bool { return s.state().Delivered == 3 })
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", new(time.Now().Add(time.Hour))))
		s.fires("s1", "c")
		s.until("what comes next has arrived", func() bool { return s.state().Delivered == 4 })
		ids := s.ids()
		require.Equal(t, []string{"a", "b", "b"}, ids[:3])
		require.Equal(t, []string{"c"}, slices.Compact(ids[3:]), "twice, if it was on its way as all began anew")
	})
}

// An app's id may be used again, by another tenant.
func TestEventsOfAnEarlierAppAreNotSentAgain(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.fires("s1", "a")
		s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
		require.NoError(t, s.store.DeleteApp(t.Context(), "clinic"))
		s.app(s.leads("desk", ""))
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", &time.Time{}))
		s.fires("s1", "b")
		s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
		require.Equal(t, []string{"a", "b"}, slices.Compact(s.ids()))
	})
}

func TestADisabledWebhookContinuesAtItsPosition(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.fires("s1", "a")
		s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
		s.app(s.leads("desk", `,"state":"disabled"`))
		require.Equal(t, "disabled", s.state().State)
		s.fires("s1", "b")
		s.app(s.leads("desk", `,"state":"disabled"`) + "," + s.leads("other", ""))
		s.fires("s1", "c")
		s.until("another has it", func() bool { return slices.Contains(s.ids(), "c") })
		s.app(s.leads("desk", ""))
		s.until("all have arrived", func() bool { return s.state().Delivered == 3 })
		var desk []string
		for _, got := range s.requests() {
			if got.path == "/desk" {
				desk = append(desk, got.id)
			}
		}
		require.Equal(t, []string{"a", "b", "c"}, desk)
	})
}

func TestWhatTheStreamHasNoMoreIsSentNoMore(t *testing.T) {
	each(t, slow, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.answering(func(received) int { return 500 })
		s.fires("s1", "a")
		s.until("it waits", func() bool { return s.state().Waiting == 1 })
		require.NoError(t, s.emitter.Erase(t.Context(), "clinic", "s1"))
		require.Empty(t, s.deliveries(""), "nothing is said of it any more")
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", nil))
		s.until("it is dropped", func() bool { return s.state().Gone == 1 && s.state().Waiting == 0 })
		require.Equal(t, []string{"a"}, s.ids())
	})
}

func TestTwoReplicasServeEachWebhookOnce(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.serve(quick)
		s.app(s.leads("desk", ""))
		for i := range 200 {
			s.fires("s"+strconv.Itoa(i%7), "e"+strconv.Itoa(i))
		}
		s.until("all have arrived", func() bool { return s.state().Delivered == 200 })
		ids := s.ids()
		require.Len(t, ids, 200)
		slices.Sort(ids)
		require.Len(t, slices.Compact(ids), 200)
	})
}

// A process that dies between sending events and recording that holds the lease until it ends; then the events
// are sent again, and a late record of the dead process is ignored.
func TestEventsOfAProcessThatDiedAreSentAgain(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.fires("s1", "a")
		s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
		l := ledger.NewWebhooks(ledger.New(s.db))
		var dead *ledger.WebhookClaim
		s.until("another has the lease", func() bool {
			_, err := l.Resend(t.Context(), "clinic", "desk", nil, true)
			require.NoError(t, err)
			claim := testbed.Got(l.Claim(t.Context(), "clinic", "desk", "dead", 300*time.Millisecond, 1))(t)
			dead = claim
			return claim != nil
		})
		s.fires("s1", "b")
		s.until("the next holder sends it", func() bool { return s.state().Delivered == 2 })
		written, err := l.Report(t.Context(), ledger.WebhookReport{App: "clinic", Name: "desk", Token: "dead", Claim: dead, Position: 1, Positioned: true})
		require.NoError(t, err)
		require.False(t, written)
	})
}

func TestEventsBeyondTheResendsStayInTheStream(t *testing.T) {
	each(t, slow, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.fires("s1", "a")
		s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
		k := keyspace.KeysOf("clinic")
		_, resends := keyspace.Webhook(k, "desk")
		far, many := float64(time.Now().Add(time.Hour).UnixMilli()), make([]redis.Z, ledger.MostResends)
		for i := range many {
			many[i] = redis.Z{Score: far, Member: strconv.Itoa(1000 + i)}
		}
		require.NoError(t, s.db.ZAdd(t.Context(), resends, many...).Err())
		s.fires("s1", "b")
		require.NoError(t, s.db.ZRem(t.Context(), resends, "1000").Err())
		s.until("it has arrived", func() bool { s.webhooks.Published("clinic"); return s.state().Delivered == 2 })
	})
}

func TestARemovedWebhookLeavesNoData(t *testing.T) {
	each(t, slow, func(t *testing.T, s *stage) {
		s.answering(func(received) int { return 500 })
		keys := func() (names []string) {
			require.NoError(t, s.db.EachKey(t.Context(), func(some []string) error {
				for _, key := range some {
					if place, _ := keyspace.ParseKey(key); slices.Contains([]keyspace.Kind{keyspace.KindWebhook, keyspace.KindWebhooks, keyspace.KindResends}, place.Kind) {
						names = append(names, string(place.Kind))
					}
				}
				return nil
			}))
			slices.Sort(names)
			return slices.Compact(names)
		}
		for name, remove := range map[string]func(){
			"the webhook": func() { s.app("") }, "the app": func() { require.NoError(t, s.store.DeleteApp(t.Context(), "clinic")) },
		} {
			s.app(s.leads("desk", ""))
			s.fires("s1", name)
			s.until("it waits", func() bool { return s.state().Waiting == 1 })
			require.Equal(t, []string{"resends", "webhook", "webhooks"}, keys())
			remove()
			require.Empty(t, keys(), name)
		}
	})
}

func TestWebhooksGoOnWhenNATSIsBack(t *testing.T) {
	each(t, quick, func(t *testing.T, s *stage) {
		s.app(s.leads("desk", ""))
		s.fires("s1", "a")
		s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
		s.nats.Stop()
		require.Error(t, s.webhooks.Resend(t.Context(), "clinic", "desk", &time.Time{}))
		require.NoError(t, s.webhooks.Resend(t.Context(), "clinic", "desk", nil))
		s.nats.Start()
		s.until("it takes events", func() bool { return s.emitter.Ready(t.Context()) == nil })
		s.fires("s1", "b")
		s.until("it has arrived", func() bool { return s.state().Delivered == 2 })
		require.Equal(t, []string{"a", "b"}, slices.Compact(s.ids()))
	})
}

func TestAWebhookAddedDuringAnOutageBeginsWithLaterEvents(t *testing.T) {
	t.Parallel()
	s := set(t, redistest.Run(t), quick)
	s.fires("s1", "a")
	s.nats.Stop()
	s.app(s.leads("desk", ""))
	k := keyspace.KeysOf("clinic")
	first, looks := s.db.ZScore(t.Context(), k.Lane(keyspace.LaneWebhooks), "desk").Val(), map[float64]bool{}
	s.until("it was looked at in vain", func() bool {
		if at := s.db.ZScore(t.Context(), k.Lane(keyspace.LaneWebhooks), "desk").Val(); at != first {
			looks[at] = true
		}
		return len(looks) > 2
	})
	s.nats.Start()
	s.until("it takes events", func() bool { return s.emitter.Ready(t.Context()) == nil })
	s.fires("s1", "b")
	s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
	require.Equal(t, []string{"b"}, s.ids())
}

func TestLongEventsAreReadSomeAtATime(t *testing.T) {
	t.Parallel()
	s := set(t, redistest.Run(t), quick)
	s.app(s.leads("desk", ""))
	s.fires("s1", "first")
	s.until("it has arrived", func() bool { return s.state().Delivered == 1 })
	s.app(s.leads("desk", `,"state":"disabled"`))
	long := json.RawMessage(`{"text":"` + strings.Repeat("x", 900_000) + `"}`)
	for i := range 20 {
		s.fires("s"+strconv.Itoa(i), fmt.Sprintf("e%02d", i), long)
	}
	events, reached, more, err := s.emitter.After(t.Context(), "clinic", nil, 1, 64)
	require.NoError(t, err)
	require.True(t, more)
	require.Less(t, len(events), 17)
	require.Equal(t, events[len(events)-1].Sequence, reached)
	s.app(s.leads("desk", ""))
	s.until("all have arrived", func() bool { return s.state().Delivered == 21 })
}
