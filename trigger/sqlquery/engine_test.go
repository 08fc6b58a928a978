package sqlquery_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
	"earshot/trigger/query"
	"earshot/trigger/sqlquery"
)

// stream keeps events by their subjects.
type stream struct {
	mu     sync.Mutex
	events map[string]string
}

func (s *stream) Deliver(_ context.Context, delivery effect.Effect) effect.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[delivery.Event.Subject] += string(delivery.Event.Data)
	return effect.Outcome{Verdict: effect.Done}
}

func (s *stream) of(subject string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[subject+".clinic.s1.say-city"]
}

// newEngine returns an engine with a runner whose app has a SQLite source, on a store of its own.
func newEngine(t *testing.T, dir, tools string, events effect.Deliverer) *trigger.Engine {
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize)))
	require.NoError(t, err)
	db := &keyspace.DB{UniversalClient: redistest.Mini(t).Client(), Embedded: true}
	kept := store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour})
	runner := sqlquery.New(sqlquery.Options{Apps: kept, SQLiteDir: dir})
	engine, err := trigger.NewEngine(trigger.Options{
		DB: db, Store: kept, Matcher: chain.New(llm.Options{}), Events: events, Calls: events, Statements: runner,
		Poll: 20 * time.Millisecond, Jitter: func(d time.Duration) time.Duration { return d / 20 },
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { engine.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = engine.Stop(ctx)
		runner.Close()
	})
	_, err = kept.PutApp(t.Context(), &repositories.App{ID: "clinic", Sources: []repositories.Source{{Name: "db", Type: repositories.SourceSQLite, Database: "clinic.db"}}})
	require.NoError(t, err)
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "desk", []byte(tools))
	require.NoError(t, err)
	_, err = kept.PutRepository(t.Context(), repository)
	require.NoError(t, err)
	return engine
}

func TestStatementsAreEffectsOfTheLedger(t *testing.T) {
	dir, events := t.TempDir(), &stream{events: map[string]string{}}
	engine := newEngine(t, dir, `{"tools":[
	  {"name":"list-flights","description":"List all flights","type":"sqlite-sql","source":"db","statement":"select id, airline from flights order by id","examples":["show me all flights"],"returnDirect":true},
	  {"name":"say-city","description":"Say a city again","type":"sqlite-sql","source":"db","statement":"select {{.city}} as v",
	   "templateParameters":[{"name":"city","type":"string","description":"its name","escape":"single-quotes"}]}]}`, events)
	fire := func() (match query.Match) {
		raw, err := engine.Fire(t.Context(), trigger.Direct{AppID: "clinic", SessionID: "s1", Name: "say-city", Values: map[string]any{"city": "Cyprus"}, Source: query.SourceUI})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &match))
		return match
	}
	match := fire()
	require.Equal(t, "pending", match.Call.State, "a database that is away is a pending call")
	require.EqualValues(t, map[string]any{"city": "Cyprus"}, match.Values, "what was said, not how SQL quotes it")
	require.Contains(t, events.of("tool.trigger"), `"values":{"city":"Cyprus"}`)

	require.NoError(t, os.Rename(filepath.Join(newFile(t, flights), "clinic.db"), filepath.Join(dir, "clinic.db")))
	require.Eventually(t, func() bool {
		record, err := engine.Trigger(t.Context(), "clinic", match.TriggerID)
		return err == nil && record.Call.State == "delivered" && string(record.Call.Result) == `[{"v":"Cyprus"}]`
	}, time.Minute, 20*time.Millisecond, "out of the ledger, with the tool as it was stored and with values that are quoted then")
	require.Eventually(t, func() bool { return strings.Contains(events.of("tool.result"), `"result":[{"v":"Cyprus"}]`) }, time.Minute, 10*time.Millisecond)
	require.Equal(t, `[{"v":"Cyprus"}]`, string(fire().Call.Result))

	raw, err := engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: "show me all flights"})
	require.NoError(t, err)
	var answer query.Answer
	require.NoError(t, json.Unmarshal(raw, &answer))
	require.Equal(t, `[{"id":1,"airline":"CY"},{"id":2,"airline":"DL"}]`, string(answer.Matches[0].Call.Result), answer.Matches[0].Call.Error)
	require.Equal(t, `[{"id":1,"airline":"CY"},{"id":2,"airline":"DL"}]`, string(answer.Reply), "returnDirect")
}

// TestSlowServersOfAnAppLeaveRoomForOthers uses all databases that an app may open, on a server that says nothing.
func TestSlowServersOfAnAppLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	begun := make(chan net.Conn, 8)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			begun <- conn
		}
	}()
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	apps := effecttest.Apps{}
	for _, id := range []string{"clinic", "rival"} {
		app := &repositories.App{ID: id}
		for _, name := range []string{"a", "b", "c"} {
			app.Sources = append(app.Sources, repositories.Source{Name: name, Type: repositories.SourcePostgres, Host: host, Port: port, User: "u", Database: "d"})
		}
		apps[id] = app
	}
	runner := sqlquery.New(sqlquery.Options{Apps: apps, Databases: 4})
	t.Cleanup(runner.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	defer slow.Wait()
	defer cancel()
	deliver := func(app, source string) effect.Outcome {
		call := effectOf(effecttest.Tool(t, `"type":"postgres-sql","source":"`+source+`","statement":"select 1"`), nil)
		call.AppID = app
		return runner.Deliver(ctx, call)
	}
	for _, source := range []string{"a", "b"} {
		slow.Go(func() { deliver("rival", source) })
		<-begun
	}
	outcome := deliver("rival", "c")
	require.True(t, outcome.Deferred)
	require.Contains(t, outcome.Error, "2 databases of this app are open, and all of them are in use")
	slow.Go(func() { deliver("clinic", "a") })
	<-begun // it has a database
}
