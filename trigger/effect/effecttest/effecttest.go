// Package effecttest has what the tests of adapters share: apps to find, and effects of the app "clinic" to
// deliver.
package effecttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/trigger/effect"
)

// Apps is a store of apps by id.
type Apps map[string]*repositories.App

// App returns the app with an id.
func (a Apps) App(_ context.Context, id string) (*repositories.App, error) {
	if app, ok := a[id]; ok {
		return app, nil
	}
	return nil, &repositories.NotFoundError{Kind: "app", ID: id}
}

// unreachableApps is a store that does not answer.
type unreachableApps struct{}

// App returns an error of the connection.
func (unreachableApps) App(context.Context, string) (*repositories.App, error) {
	return nil, errors.New("redis: connection refused")
}

// Call returns the effect of a call in its first attempt.
func Call(call *effect.Call) effect.Effect {
	return effect.Effect{
		ID: "e1", Kind: effect.KindCall, AppID: "clinic", SessionID: "s1", TriggerID: "t1", Attempt: 1, Call: call,
	}
}

// Tool decodes a tool from the fields of its definition other than its name.
func Tool(t testing.TB, fields string) *repositories.Tool {
	t.Helper()
	body := `{"tools":[{"name":"t",` + fields + `}]}`
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(body))
	require.NoError(t, err)
	return &repository.Tools[0]
}

// Fired returns the effect of a tool fired by a program with values, given as JSON.
func Fired(t testing.TB, tool *repositories.Tool, values string) effect.Effect {
	t.Helper()
	given, err := parameters.DecodeValues([]byte(values))
	require.NoError(t, err)
	checked, faults := tool.Params().Check(given)
	require.Empty(t, faults)
	return Call(effect.CallOf(tool, checked, nil))
}

// Ended checks the outcome of an attempt, and that its error contains some texts.
func Ended(t testing.TB, got effect.Outcome, verdict effect.Verdict, reason effect.Reason, texts ...string) {
	t.Helper()
	require.Equal(t, verdict, got.Verdict, got.Error)
	require.Equal(t, reason, got.Reason, got.Error)
	for _, text := range texts {
		require.Contains(t, got.Error, text)
	}
}

// Conformance tests the contract of a Deliverer: good is an effect that it delivers, and seen counts those that
// arrived. For calls, open returns a Deliverer with another store of apps.
func Conformance(t *testing.T, deliverer effect.Deliverer, good effect.Effect, seen func() int, open func(effect.Apps) effect.Deliverer) {
	none := good
	none.Event, none.Call, none.Awaited = nil, nil, nil
	got := deliverer.Deliver(t.Context(), none)
	require.Equal(t, effect.Dead, got.Verdict, "an effect that holds nothing")
	require.Contains(t, got.Error, good.ID)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	got = deliverer.Deliver(ended, good)
	require.Equal(t, effect.Retry, got.Verdict, "the context has ended")
	require.NotEmpty(t, got.Error)
	got = deliverer.Deliver(late{t.Context()}, good)
	require.Equal(t, effect.Retry, got.Verdict, "the time is over, and nothing in the process knows yet")
	require.Zero(t, seen())

	if open != nil {
		gone, away := open(Apps{}).Deliver(t.Context(), good), open(unreachableApps{}).Deliver(t.Context(), good)
		Ended(t, gone, effect.Dead, effect.ReasonRequest, `app "clinic" was deleted`)
		require.Equal(t, effect.Retry, away.Verdict)
		require.True(t, away.Deferred, "a store that is away uses up no budget")
		require.Zero(t, seen())
	}
	require.Equal(t, effect.Done, deliverer.Deliver(t.Context(), good).Verdict)
	require.Equal(t, 1, seen())
}

// late is the context of a process that was frozen.
type late struct{ context.Context }

// Deadline is in the past.
func (late) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }
