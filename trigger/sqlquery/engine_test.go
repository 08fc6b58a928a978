package sqlquery_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/deploy/testbed/sqltest"
	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/sqlquery"
)

// stream takes events and keeps them.
type stream struct {
	mu     sync.Mutex
	events []effect.Event
}

func (s *stream) Deliver(_ context.Context, delivery effect.Effect) effect.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, *delivery.Event)
	return effect.Outcome{Verdict: effect.Done}
}

// payloads returns the payloads of the events of a subject.
func (s *stream) payloads(subject string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, event := range s.events {
		if event.Subject == subject {
			list = append(list, string(event.Data))
		}
	}
	return list
}

// service is an engine with a runner, on a store of its own.
type service struct {
	t      *testing.T
	store  *store.Store
	engine *trigger.Engine
	events *stream
}

func newService(t *testing.T, app *repositories.App, tools string) *service {
	server := redistest.Mini(t)
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize)))
	require.NoError(t, err)
	db := &keyspace.DB{UniversalClient: server.Client(), Embedded: true}
	s := &service{t: t, events: &stream{}, store: store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour})}
	runner := sqlquery.New(sqlquery.Options{Apps: s.store})
	s.engine, err = trigger.NewEngine(trigger.Options{
		DB: db, Store: s.store, Matcher: chain.New(llm.Options{}), Events: s.events, Calls: s.events, Statements: runner,
		Poll: 20 * time.Millisecond, Jitter: func(d time.Duration) time.Duration { return d / 20 },
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.engine.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.engine.Stop(ctx)
		runner.Close()
	})
	_, err = s.store.PutApp(t.Context(), app)
	require.NoError(t, err)
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "desk", []byte(tools))
	require.NoError(t, err)
	_, err = s.store.PutRepository(t.Context(), repository)
	require.NoError(t, err)
	return s
}

func TestStatementsAreEffectsOfTheLedger(t *testing.T) {
	server := sqltest.RunPostgres(t)
	server.Exec("create table flights (id bigint, airline text); insert into flights values (1, 'CY'), (9007199254740993, 'DL')")
	app := &repositories.App{ID: "clinic", Sources: []repositories.Source{server.Source("pg")}}
	s := newService(t, app, `{"tools":[
	  {"name":"list-flights","description":"List all flights","type":"postgres-sql","source":"pg","statement":"select * from flights order by id","examples":["show me all flights"],"returnDirect":true},
	  {"name":"find-flight","description":"Find a flight","type":"postgres-sql","source":"pg","statement":"select airline from flights where id = $1",
	   "parameters":[{"name":"id","type":"integer","description":"its number"}]},
	  {"name":"say-city","description":"Say a city again","type":"postgres-sql","source":"pg","statement":"select {{.city}} as v",
	   "templateParameters":[{"name":"city","type":"string","description":"its name","escape":"single-quotes"}]},
	  {"name":"broken","description":"Never works","type":"postgres-sql","source":"pg","statement":"select * from nowhere"}]}`)

	answer := s.say("m1", "show me all flights")
	const rows = `[{"id":1,"airline":"CY"},{"id":9007199254740993,"airline":"DL"}]`
	require.Len(t, answer.Matches, 1)
	require.Equal(t, "delivered", answer.Matches[0].Call.State, answer.Matches[0].Call.Error)
	require.Equal(t, rows, string(answer.Matches[0].Call.Result))
	require.Equal(t, rows, string(answer.Reply), "returnDirect")
	result := s.result("s1", "list-flights")
	require.Contains(t, result, `"ok":true`)
	require.Contains(t, result, `"result":`+rows)
	require.NotContains(t, strings.Join(s.events.payloads("tool.trigger.clinic.s1.list-flights"), ""), sqltest.Password)

	match := s.fire("find-flight", `{"id":9007199254740993}`)
	require.Equal(t, `[{"airline":"DL"}]`, string(match.Call.Result), match.Call.Error)
	match = s.fire("say-city", `{"city":"Cyprus"}`)
	require.Equal(t, `[{"v":"Cyprus"}]`, string(match.Call.Result), match.Call.Error)
	require.Equal(t, map[string]any{"city": "Cyprus"}, match.Values, "what was said, not how SQL quotes it")
	require.NotEmpty(t, s.result("s1", "say-city"))
	require.Contains(t, s.events.payloads("tool.trigger.clinic.s1.say-city")[0], `"values":{"city":"Cyprus"}`)
	match = s.fire("broken", `{}`)
	require.Equal(t, "failed", match.Call.State)
	require.Equal(t, effect.ReasonRequest, match.Call.Reason)
	require.Contains(t, s.result("s1", "broken"), `"ok":false`)
	require.Contains(t, s.result("s1", "broken"), `relation \"nowhere\" does not exist`)

	server.Stop()
	city := s.fire("say-city", `{"city":"Cyprus"}`)
	match = s.fire("find-flight", `{"id":1}`)
	require.Equal(t, "pending", match.Call.State, "a database that is down is a pending call")
	server.Start()
	require.Eventually(t, func() bool {
		record, err := s.engine.Trigger(t.Context(), "clinic", match.TriggerID)
		return err == nil && record.Call.State == "delivered" && string(record.Call.Result) == `[{"airline":"CY"}]`
	}, 30*time.Second, 20*time.Millisecond, "out of the ledger, with the tool as it was stored")
	require.Eventually(t, func() bool {
		record, err := s.engine.Trigger(t.Context(), "clinic", city.TriggerID)
		return err == nil && record.Call.State == "delivered" && string(record.Call.Result) == `[{"v":"Cyprus"}]`
	}, 30*time.Second, 20*time.Millisecond, "and with values that are quoted then")
}

// say posts a message in the session s1.
func (s *service) say(id, text string) (answer query.Answer) {
	s.t.Helper()
	raw, err := s.engine.Post(s.t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: id, Actor: matcher.ActorUser, Text: text})
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(raw, &answer))
	return answer
}

// fire fires a tool in the session s1.
func (s *service) fire(name, values string) (match query.Match) {
	s.t.Helper()
	given, err := parameters.DecodeValues([]byte(values))
	require.NoError(s.t, err)
	raw, err := s.engine.Fire(s.t.Context(), trigger.Direct{AppID: "clinic", SessionID: "s1", Name: name, Values: given, Source: query.SourceUI})
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(raw, &match))
	return match
}

// result waits for the tool.result of a tool.
func (s *service) result(session, name string) string {
	s.t.Helper()
	subject := "tool.result.clinic." + session + "." + name
	require.Eventually(s.t, func() bool { return len(s.events.payloads(subject)) > 0 }, time.Minute, 10*time.Millisecond)
	return s.events.payloads(subject)[0]
}
