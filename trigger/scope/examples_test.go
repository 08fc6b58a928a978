package scope_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger"
)

// tripping is a matcher that panics at a text.
type tripping struct{ matcher.Matcher }

func (tripping) Match(_ context.Context, request matcher.Request) (matcher.Result, error) {
	if request.Text == "trip" {
		panic(request.Text)
	}
	return matcher.Result{}, nil
}

func TestAPanicOverExamplesIsKeptFromTheWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Mini(t))
	w.Put("", "r", `{"tools":[{"name":"a","examples":["trip"]}]}`)
	w.Put("s1", "s", `{"tools":[{"name":"b","examples":["say nothing"]}]}`)
	var log bytes.Buffer
	engine, err := trigger.NewEngine(trigger.Options{
		DB: &keyspace.DB{UniversalClient: w.Server.Connect(redis.UniversalOptions{}), Embedded: w.Server.Embedded()}, Store: w.Store,
		Matcher: w.Matcher, Words: tripping{}, Events: w.Events, Calls: w.Calls, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	app := repositories.Scope{AppID: "clinic"}
	require.Empty(t, engine.Examples(t.Context(), app, "r"))
	require.Contains(t, log.String(), "panic.caught")
	require.NotContains(t, log.String(), "trip\"", "what was said stays out of the log")
	require.Len(t, engine.Examples(t.Context(), repositories.Scope{AppID: "clinic", SessionID: "s1"}, "s"), 1)
	require.Empty(t, engine.Examples(t.Context(), repositories.Scope{AppID: "nobody"}, "s"))
}
