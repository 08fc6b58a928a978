// Package effecttest is what the tests of adapters share: apps to find, and effects of the
// app "clinic" to deliver.
package effecttest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/trigger/effect"
)

// Apps is a store of apps by their ids.
type Apps map[string]*repositories.App

// App returns the app of an id.
func (a Apps) App(_ context.Context, id string) (*repositories.App, error) {
	if app, ok := a[id]; ok {
		return app, nil
	}
	return nil, fmt.Errorf("app %q: %w", id, repositories.ErrNotFound)
}

// UnreachableApps is a store that does not answer.
type UnreachableApps struct{}

// App returns an error of the connection.
func (UnreachableApps) App(context.Context, string) (*repositories.App, error) {
	return nil, errors.New("redis: connection refused")
}

// Call returns the effect of a call, in its first attempt.
func Call(call *effect.Call) effect.Effect {
	return effect.Effect{
		ID: "e1", Kind: effect.KindCall, AppID: "clinic", SessionID: "s1", TriggerID: "t1", Attempt: 1, Call: call,
	}
}

// Tool decodes a tool from the fields of its definition beside its name.
func Tool(t testing.TB, fields string) *repositories.Tool {
	t.Helper()
	body := `{"tools":[{"name":"t",` + fields + `}]}`
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(body))
	require.NoError(t, err)
	return &repository.Tools[0]
}

// Fired returns the effect of a tool that a program has fired with values, given as JSON.
func Fired(t testing.TB, tool *repositories.Tool, values string) effect.Effect {
	t.Helper()
	given, err := parameters.DecodeValues([]byte(values))
	require.NoError(t, err)
	checked, faults := tool.Params().Check(given)
	require.Empty(t, faults)
	return Call(effect.CallOf(tool, checked, nil))
}
