package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/auth"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/webhooks"
)

// faked is an API on doubles, for answers that a real store and engine cannot give on demand. They know messages, triggers and
// apps. What else is asked of them panics, which is a 500: a request that is refused in another way has asked for nothing.
type faked struct {
	*apitest.Service
	store  *storeDouble
	engine *engineDouble
}

func start(t testing.TB, change ...func(*api.Options)) faked {
	apps, engine := &storeDouble{}, &engineDouble{}
	return faked{apitest.Serve(t, append([]func(*api.Options){func(o *api.Options) {
		o.Keys, o.Store, o.Engine, o.NewID = keysOf{}, apps, engine, func() string { return "made-1" }
	}}, change...)...), apps, engine}
}

func atClinic(t *testing.T, change ...func(*api.Options)) apitest.World {
	w := apitest.Live(t, apitest.Everything, change...)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	return w
}

func bodyOf[T any](got apitest.Answer) (body T) {
	got.T.Helper()
	require.NoError(got.T, json.Unmarshal(got.Body, &body), string(got.Body))
	return body
}

type pageOf[T any] struct {
	Items []T
	Next  string
}

// keysOf wraps the keys of a real store, and creates none.
type keysOf struct {
	auth.Keys
	api.KeyKeeper
}

var _ api.KeyStore = keysOf{Keys: (*store.Store)(nil)}

// storeDouble knows apps.
type storeDouble struct {
	api.Store
	apps []*repositories.App
}

func (s *storeDouble) App(context.Context, string) (*repositories.App, error) {
	if len(s.apps) == 0 {
		return nil, repositories.ErrNotFound
	}
	return s.apps[0], nil
}

func (s *storeDouble) Apps(context.Context, string, int) ([]*repositories.App, string, error) {
	return s.apps, "", nil
}

func (*storeDouble) CachedGeneration(_ context.Context, appID, _ string) (store.Generation, error) {
	return store.Generation{App: appID}, nil
}

// engineDouble returns configured answers, and keeps what it was asked for last.
type engineDouble struct {
	api.Engine
	mu      sync.Mutex
	method  string
	asked   any
	err     error
	answer  json.RawMessage
	entries []query.Entry
	records []query.Record
	uses    []query.ToolUse
	panics  any // the value with which Post panics
}

func (e *engineDouble) took(method string, asked any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.method, e.asked = method, asked
	return e.err
}

func (e *engineDouble) posted() trigger.Message { return e.asked.(trigger.Message) }

func (e *engineDouble) Post(_ context.Context, message trigger.Message) (json.RawMessage, error) {
	err := e.took("Post", message)
	if e.panics != nil {
		panic(e.panics)
	}
	return e.answer, err
}

func (e *engineDouble) PostAsync(_ context.Context, message trigger.Message) (string, error) {
	return message.ID, e.took("PostAsync", message)
}

func (e *engineDouble) Draft(_ context.Context, message trigger.Message) (json.RawMessage, error) {
	return e.answer, e.took("Draft", message)
}

func (e *engineDouble) DryRun(_ context.Context, message trigger.Message) (query.Answer, explain.Explanation, error) {
	return query.Answer{MessageID: message.ID, Matches: []query.Match{}, Rejected: []query.Rejected{}}, explain.Explanation{}, e.took("DryRun", message)
}

func (e *engineDouble) Fire(_ context.Context, direct trigger.Direct) (json.RawMessage, error) {
	return e.answer, e.took("Fire", direct)
}

func (*engineDouble) Count(context.Context, string, string, ledger.Use) error { return nil }

func (e *engineDouble) Triggers(_ context.Context, query query.Triggers) ([]query.Record, string, error) {
	return e.records, "", e.took("Triggers", query)
}

func (e *engineDouble) History(_ context.Context, asked query.History) ([]query.Entry, string, error) {
	return e.entries, "", e.took("History", asked)
}

func (*engineDouble) FiredInSession(_ context.Context, _, sessionID, _ string) (bool, error) {
	return sessionID == "s1", nil
}

func (e *engineDouble) Usage(_ context.Context, appID string) ([]query.ToolUse, error) {
	return e.uses, e.took("Usage", appID)
}

// webhooksDouble has one webhook, of every app.
type webhooksDouble struct{ resent []string }

func (*webhooksDouble) List(context.Context, string) ([]webhooks.Webhook, error) {
	return []webhooks.Webhook{{Name: "desk", URL: "https://desk.example/earshot", Types: []string{}, State: "enabled"}}, nil
}

func (*webhooksDouble) Deliveries(_ context.Context, _, name, state string, page query.Page) ([]webhooks.Delivery, string, error) {
	if name != "desk" {
		return nil, "", &repositories.NotFoundError{Kind: "webhook", ID: name}
	}
	return []webhooks.Delivery{{EventID: "e1", Type: "tool.trigger", State: cmp.Or(state, "waiting"), Attempts: page.Limit}}, "7", nil
}

func (w *webhooksDouble) Resend(_ context.Context, appID, name string, since *time.Time) error {
	if name == "away" {
		return errors.New("nats: no servers")
	}
	w.resent = append(w.resent, fmt.Sprint(appID, " ", name, " ", since))
	return nil
}
