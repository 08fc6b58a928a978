package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	unvalued "earshot/trigger/pendingcalls"
	"earshot/trigger/query"
)

// These tests run the API over the real store and the real engine on miniredis. Only
// what is outside of Earshot is scripted: the matcher, and where effects are sent.

// scripted matches as it is told.
type scripted func(matcher.Request) (matcher.Result, error)

func (s scripted) Match(_ context.Context, request matcher.Request) (matcher.Result, error) {
	return s(request)
}

func (scripted) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "", nil
}

// everything calls for every candidate with the text as its one value.
func everything(request matcher.Request) (matcher.Result, error) {
	result := matcher.Result{Stage: matcher.StageLLM}
	for _, candidate := range request.Candidates {
		result.Matches = append(result.Matches, matcher.Match{Candidate: candidate, Values: map[string]any{"date": request.Text}})
	}
	return result, nil
}

// sink takes every effect as delivered, or calls as it is told, and keeps the events.
type sink struct {
	mu     sync.Mutex
	events []effect.Event
	calls  func(effect.Effect) effect.Outcome
	// passes is who gets it as well.
	passes *sink
}

func (s *sink) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	if s.passes != nil {
		return s.passes.Deliver(ctx, delivery)
	}
	s.mu.Lock()
	calls := s.calls
	if delivery.Event != nil {
		s.events = append(s.events, *delivery.Event)
	}
	s.mu.Unlock()
	if delivery.Event == nil && calls != nil {
		return calls(delivery)
	}
	return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`{"ok":true}`)}
}

// answers has calls end so.
func (s *sink) answers(calls func(effect.Effect) effect.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = calls
}

func (s *sink) all() []effect.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// world is a service with what is outside of it.
type world struct {
	*service
	redis *redistest.Server
	sink  *sink
	store *store.Store
}

// live starts the API over the real thing.
func live(t *testing.T, match scripted, change ...func(*api.Options)) world {
	return liveOn(t, redistest.Mini(t), match, change...)
}

func liveOn(t testing.TB, server *redistest.Server, match matcher.Matcher, change ...func(*api.Options)) world {
	out := &sink{}
	// A client that gives up at once, so that a test of an outage need not wait.
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1})
	db := &keyspace.DB{UniversalClient: client, Embedded: server.Embedded()}
	w := world{redis: server, sink: out}
	w.service = serve(t, func(o *api.Options) {
		w.store = store.New(db, store.Options{Sealer: o.Tokens.(*store.Sealer), SessionTTL: time.Hour})
		engine, err := trigger.NewEngine(trigger.Options{
			DB: db, Store: w.store, Matcher: match, Events: out, Calls: out, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		w.store.OnChange(engine.Wake)
		running, end := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { engine.Run(running) })
		t.Cleanup(func() {
			end()
			run.Wait()
			require.NoError(t, engine.Stop(context.Background()))
			require.NoError(t, client.Close())
		})
		o.Store, o.Engine, o.Keys, o.Origins, o.Memory = w.store, engine, w.store, w.store, memoryDouble{}
		o.Asked = unvalued.New(db, time.Now)
		o.Ready = []api.Check{{Name: "redis", Ready: func(ctx context.Context) error { return db.Shards(ctx)[0].Err }}}
		for _, alter := range change {
			alter(o)
		}
	})
	return w
}

// replica is another replica over the same Redis and with the same endpoints, with an engine of
// its own.
func (w world) replica(change ...func(*api.Options)) world {
	other := liveOn(w.t, w.redis, scripted(everything), change...)
	other.sink.calls, other.sink.passes = w.sink.calls, w.sink
	return world{other.service, w.redis, w.sink, other.store}
}

const (
	clinicBody  = `{"name":"Clinic","signingSecret":"whsec_plantedA","modules":[{"moduleId":"calendar","secret":"planted-and-long-enough","tokenUrl":"https://id.example.org/token"}]}`
	bookingBody = `{"tools":[{"name":"book","description":"User needs an appointment",
		"schema":[{"parameter":"date","type":"string","required":true}],
		"url":"https://example.org/book","request":{"auth":"module","moduleId":"calendar","headers":{"X-Api-Key":"planted"}}}]}`
	bookingPath = "/v1/apps/clinic/sessions/s1/repositories/booking"
)

func TestAToolIsRegisteredMatchedFiredAndRead(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(200, "")
	s.call("PUT", bookingPath, bookingBody).is(201, "")

	first := s.call("POST", messagesPath, hello).is(200, "")
	again := s.call("POST", messagesPath, hello).is(200, "")
	require.Equal(t, string(first.body), string(again.body))
	var posted query.Answer
	require.NoError(t, json.Unmarshal(first.body, &posted))
	require.Len(t, posted.Matches, 1)
	require.Equal(t, "delivered", posted.Matches[0].Call.State)

	var history struct{ Items []query.Entry }
	require.NoError(t, json.Unmarshal(s.call("GET", messagesPath, "").is(200, "").body, &history))
	require.Equal(t, "hello", history.Items[0].Text)
	require.Equal(t, posted.Matches[0].TriggerID, history.Items[0].Triggers[0].TriggerID)

	record := "/v1/apps/clinic/triggers/" + posted.Matches[0].TriggerID
	require.Contains(t, string(s.call("GET", record, "").is(200, "").body), `"state":"delivered"`)
	s.call("DELETE", "/v1/apps/clinic/sessions/s1", "").is(204, "")
	s.call("GET", messagesPath, "").is(200, `{"items":[]}`)
	s.call("GET", bookingPath, "").problem(404, "booking")
	s.call("DELETE", "/v1/apps/clinic", "").is(204, "")
	s.call("GET", "/v1/apps", "").is(200, `{"items":[]}`)
}

func TestRepositoriesLiveInTheirScope(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", bookingPath, bookingBody).problem(404, `app "clinic"`)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	for _, owner := range []string{"/v1/apps/clinic", "/v1/apps/clinic/sessions/s1"} {
		made := s.call("POST", owner+"/repositories", bookingBody).is(201, "").Header.Get("Location")
		require.Regexp(t, "^"+owner+"/repositories/[A-Z2-7]{26}$", made)
		s.call("GET", made, "").is(200, "")
		s.call("PATCH", owner+"/repositories/patched", hoursBody).is(201, "")
		s.call("PATCH", owner+"/repositories/patched", `{"options":{"exclusive":true}}`).is(200, "")
		got := s.call("GET", owner+"/repositories?limit=1", "").is(200, "")
		require.Contains(t, string(got.body), `"next"`)
		s.call("DELETE", made, "").is(204, "")
		got = s.call("GET", owner+"/repositories", "").is(200, "")
		require.Contains(t, string(got.body), `"exclusive":true`)
		require.Contains(t, string(got.body), `"created"`)
		require.NotContains(t, string(got.body), `"next"`)
	}
}

func TestExamplesWithMarksAreReadAsGivenAndRefusedWithTheirPlace(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	tools := func(example string) string {
		return `{"tools":[{"name":"a","examples":["a table","` + example + `"],"schema":[{"parameter":"people","type":"integer","maxValue":9}]}]}`
	}
	s.call("PUT", bookingPath, tools("a table for [two](people)")).is(201, "")
	require.Contains(t, string(s.call("GET", bookingPath, "").is(200, "").body), `"examples":["a table","a table for [two](people)"]`)
	faults := s.call("PUT", bookingPath, tools("[ten](people) at [noon](time)")).problem(400)
	require.Contains(t, faults["/tools/0/examples/1"], `"noon" is marked as "time", which is no parameter`)
}

func TestADefinitionThatCannotWorkIsRefusedWithAllItsFaults(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", `{"nam":"x"}`).problem(400)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	faults := s.call("PUT", bookingPath, `{"appId":"other","tools":[{"name":"a b","url":"ftp://x","schema":[{"parameter":"d","type":"strin"}]}]}`).problem(400)
	for _, pointer := range []string{"/appId", "/tools/0/name", "/tools/0/url", "/tools/0/schema/0/type"} {
		require.Contains(t, faults, pointer)
	}
	faults = s.call("PUT", bookingPath, `{"tools":[{"name":"a","url":"https://example.org","request":{"auth":"module","moduleId":"absent"}}]}`).problem(400)
	require.Contains(t, faults, "/tools/0/request/moduleId")
	faults = s.call("PATCH", bookingPath, `{"tool":[]}`).problem(400)
	require.Contains(t, faults["/tool"], `did you mean "tools"?`)
}

func TestADirectTriggerFiresTheToolInScope(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", bookingPath, bookingBody).is(201, "")
	path := "/v1/apps/clinic/sessions/s1/triggers"
	body := `{"name":"book","values":{"date":"2026-12-01"},"source":"ui","triggerId":"click-1"}`
	first := s.call("POST", path, body).is(201, "")
	require.Equal(t, "/v1/apps/clinic/triggers/click-1", first.Header.Get("Location"))
	require.JSONEq(t, string(first.body), string(s.call("POST", path, body).is(201, "").body))

	faults := s.call("POST", path, `{"name":"book","values":{"day":1},"source":"ui"}`).problem(422)
	require.Contains(t, faults, "/values/date")
	require.Contains(t, faults, "/values/day")
	s.call("POST", path, `{"name":"absent","source":"ui"}`).problem(404, "absent")
	s.call("POST", "/v1/apps/clinic/triggers", `{"name":"book","values":{"date":"x"},"source":"ui"}`).problem(404)
	s.call("POST", "/v1/apps/absent/triggers", `{"name":"book","source":"ui"}`).problem(404, "absent")

	for _, query := range []string{"", "?state=delivered", "?limit=1"} {
		require.Contains(t, string(s.call("GET", path+query, "").is(200, "").body), `"click-1"`)
	}
	s.call("GET", path+"?state=failed", "").is(200, `{"items":[]}`)
	s.call("POST", "/v1/apps/clinic/triggers/absent/retry", "").problem(404)
	s.call("GET", "/v1/apps/clinic/triggers/absent", "").problem(404)
}

func TestACursorThatNoListGaveIsRefused(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	for _, cursor := range []string{"*", "YWJzZW50"} {
		s.call("GET", messagesPath+"?after="+cursor, "").problem(400, "after is not a cursor")
		s.call("GET", "/v1/apps/clinic/triggers?after="+cursor, "").problem(400, "after is not a cursor")
	}
}

func TestAnUndecidedMessageIsKeptAndTriedAgain(t *testing.T) {
	broken := true
	s := live(t, func(request matcher.Request) (matcher.Result, error) {
		if broken {
			return matcher.Result{}, &matcher.Unavailable{Reason: "it answered 500"}
		}
		return everything(request)
	})
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", bookingPath, bookingBody).is(201, "")
	s.call("POST", messagesPath, hello).problem(502, "it answered 500")
	require.Contains(t, string(s.call("GET", messagesPath, "").is(200, "").body), `"state":"failed"`)
	broken = false
	require.Contains(t, string(s.call("POST", messagesPath, hello).is(200, "").body), `"delivered"`)
}

func TestWithoutRedisEverythingIs503AndHeals(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.redis.Stop()
	for _, got := range []answer{
		s.call("GET", "/v1/apps", ""), s.call("GET", "/v1/apps/clinic", ""), s.call("GET", messagesPath, ""),
		s.call("POST", messagesPath, hello), s.call("PUT", bookingPath, bookingBody), s.call("GET", "/v1/apps/clinic/triggers", ""),
	} {
		got.problem(503, "send the request again")
		require.Equal(t, "1", got.Header.Get("Retry-After"))
	}
	s.call("GET", "/readyz", "").problem(503, "no answer from redis")
	s.call("GET", "/healthz", "").is(200, "")
	s.redis.Start()
	require.Eventually(t, func() bool { return s.call("GET", "/readyz", "").StatusCode == 200 }, time.Minute, 20*time.Millisecond)
	s.call("GET", "/v1/apps/clinic", "").is(200, "")
}

func TestNoAnswerAndNoLogLineHasACredential(t *testing.T) {
	s := live(t, everything)
	for _, got := range []answer{
		s.call("PUT", "/v1/apps/clinic", clinicBody), s.call("PUT", bookingPath, bookingBody),
		s.call("PATCH", bookingPath, bookingBody), s.call("POST", "/v1/apps/clinic/repositories", bookingBody),
		s.call("GET", "/v1/apps", ""), s.call("GET", "/v1/apps/clinic", ""), s.call("GET", bookingPath, ""),
		s.call("GET", "/v1/apps/clinic/repositories", ""), s.call("POST", messagesPath, hello), s.call("GET", "/v1/apps/clinic/triggers", ""),
	} {
		require.Less(t, got.StatusCode, 300, string(got.body))
		require.NotContains(t, string(got.body), "planted")
	}
	require.NotContains(t, s.log.String(), "planted")
}

func TestPostsOfOneMessageAtTheSameTimeAreOneMessage(t *testing.T) {
	s := live(t, everything)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PUT", bookingPath, bookingBody).is(201, "")
	answers := make([]string, 16)
	var posting sync.WaitGroup
	for i := range answers {
		posting.Go(func() { answers[i] = string(s.posts(messagesPath, hello, adminKey).body) })
	}
	posting.Wait()
	require.Contains(t, answers[0], `"delivered"`)
	for _, answer := range answers {
		require.Equal(t, answers[0], answer)
	}
}
