package trigger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// A message that a matcher finds a tool for fires it once: the same message posted again
// gets the same answer and fires nothing.
func ExampleEngine_Post() {
	engine, stop := startEngine()
	defer stop()
	message := trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: "please ring the bell"}
	for range 2 {
		raw, err := engine.Post(context.Background(), message)
		if err != nil {
			log.Fatal(err)
		}
		var answer query.Answer
		if err := json.Unmarshal(raw, &answer); err != nil {
			log.Fatal(err)
		}
		match := answer.Matches[0]
		fmt.Println(match.Name, match.Values, match.Event.Subject, match.Event.State)
	}
	records, _, err := engine.Triggers(context.Background(), query.Triggers{AppID: "clinic", Page: query.Page{Limit: 10}})
	fmt.Println(len(records), err)
	// Output:
	// delivered tool.trigger.clinic.s1.ring
	// ring map[times:1] tool.trigger.clinic.s1.ring published
	// ring map[times:1] tool.trigger.clinic.s1.ring published
	// 1 <nil>
}

// A program fires a tool without a matcher. Its values are taken strictly, and the
// record of the trigger tells how delivery went.
func ExampleEngine_Fire() {
	engine, stop := startEngine()
	defer stop()
	ctx := context.Background()

	ring := trigger.Direct{AppID: "clinic", SessionID: "s1", Name: "ring", Source: query.SourceAgent, TriggerID: "t1"}
	ring.Values = map[string]any{"times": "twice"}
	_, err := engine.Fire(ctx, ring)
	fmt.Println(err)

	ring.Values = map[string]any{"times": json.Number("2")}
	_, err = engine.Fire(ctx, ring)
	fmt.Println(err)
	record, err := engine.Trigger(ctx, "clinic", "t1")
	fmt.Println(record.Name, record.Values, record.State, err)
	// Output:
	// the values for tool "ring" are not valid: times "twice" is not an integer
	// delivered tool.trigger.clinic.s1.ring
	// <nil>
	// ring map[times:2] delivered <nil>
}

// bell is a matcher for which every message calls for the first tool in scope.
type bell struct{}

func (bell) Match(_ context.Context, request matcher.Request) (matcher.Result, error) {
	first := request.Candidates[0]
	reading := first.Tool.Params().Read(nil) // defaults
	return matcher.Result{Stage: matcher.StageOffline, Matches: []matcher.Match{{Candidate: first, Values: reading.Values}}}, nil
}

func (bell) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "", nil
}

// printed delivers events by printing their subjects.
type printed struct{}

func (printed) Deliver(_ context.Context, due effect.Effect) effect.Outcome {
	fmt.Println("delivered", due.Event.Subject)
	return effect.Outcome{Verdict: effect.Done}
}

// startEngine starts an engine on a Redis server inside this process, with an app that
// has one tool. A service also runs Engine.Run, which delivers what was left over.
func startEngine() (engine *trigger.Engine, stop func()) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true) // keys expire by the clock
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	db := &keyspace.DB{UniversalClient: redis.NewClient(&redis.Options{Addr: server.Addr()}), Embedded: true}
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize))) // EARSHOT_SECRET_KEY
	if err != nil {
		log.Fatal(err)
	}
	apps := store.New(db, store.Options{Sealer: sealer, SessionTTL: 24 * time.Hour})
	engine, err = trigger.NewEngine(trigger.Options{DB: db, Store: apps, Matcher: bell{}, Events: printed{}, Calls: printed{}})
	if err != nil {
		log.Fatal(err)
	}
	registerBell(apps)
	return engine, func() {
		_ = engine.Stop(context.Background())
		_ = db.Close()
		server.Close()
	}
}

func registerBell(apps *store.Store) {
	app, err := repositories.DecodeApp("clinic", []byte(`{}`))
	if err == nil {
		_, err = apps.PutApp(context.Background(), app)
	}
	if err != nil {
		log.Fatal(err)
	}
	desk, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "desk", []byte(`{"tools": [{"name": "ring",
		"description": "Ring the bell", "schema": [{"parameter": "times", "type": "integer", "default": 1}]}]}`))
	if err == nil {
		_, err = apps.PutRepository(context.Background(), desk)
	}
	if err != nil {
		log.Fatal(err)
	}
}
