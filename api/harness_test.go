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
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/trial"
	"earshot/trigger/webhooks"
)

type faked struct {
	*apitest.Service
	store  *storeDouble
	engine *engineDouble
}

func start(t testing.TB, change ...func(*api.Options)) faked {
	keys, engine := &storeDouble{}, &engineDouble{}
	return faked{apitest.Serve(t, append([]func(*api.Options){func(o *api.Options) {
		o.Keys, o.Store, o.Engine, o.NewID = keys, keys, engine, func() string { return "made-1" }
		o.Webhooks, o.Rehearser = &webhooksDouble{}, rehearserDouble{}
	}}, change...)...), keys, engine}
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

// asked is a call of a double.
type asked struct {
	Method string
	Args   []any
}

// double returns configured answers and records its calls.
type double struct {
	mu    sync.Mutex
	calls []asked

	err          error
	created      bool
	next         string
	apps         []*repositories.App
	repositories []*repositories.Repository
	answer       json.RawMessage
	entries      []query.Entry
	records      []query.Record
}

// took records a call, and returns the configured error.
func (d *double) took(method string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, asked{method, args})
	return d.err
}

// firstOf is the first of what is there, unless there is an error.
func firstOf[T any](list []T, err error) (first T, _ error) {
	if err != nil || len(list) == 0 {
		return first, cmp.Or(err, error(repositories.ErrNotFound))
	}
	return list[0], nil
}

func (d *double) last() asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.calls) == 0 {
		return asked{}
	}
	return d.calls[len(d.calls)-1]
}

func (d *double) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.calls)
}

// storeDouble replaces the store where a test needs an answer that a real one cannot give on demand.
type storeDouble struct {
	auth.Keys // has what no test asks for
	double
	versionsDouble
	testsDouble
}

// versionsDouble has one version of each repository.
type versionsDouble struct{}

func (versionsDouble) Versions(context.Context, string, string, int, int) ([]store.Version, int, error) {
	return []store.Version{{Number: 1, Operation: "created"}}, 0, nil
}

func (versionsDouble) Version(context.Context, string, string, int) (store.Version, *repositories.Repository, error) {
	return store.Version{Number: 1, Operation: "deleted"}, nil, nil
}

func (versionsDouble) RestoreChange(_ context.Context, appID, id string, _ int) (store.RepositoryChange, error) {
	return store.ReplaceChange(&repositories.Repository{AppID: appID, ID: id}), nil
}

func (versionsDouble) NextRepository(_ context.Context, change store.RepositoryChange) (*repositories.Repository, error) {
	return change.Next(&repositories.Repository{})
}

// testsDouble keeps one test, whatever its name.
type testsDouble struct{}

var someTest = &store.Test{Name: "t", Body: json.RawMessage(`{"chat":[{"user":"hello"}]}`)}

func (testsDouble) PutTest(context.Context, string, string, json.RawMessage) (*store.Test, bool, error) {
	return someTest, false, nil
}
func (testsDouble) Test(context.Context, string, string) (*store.Test, error) { return someTest, nil }
func (testsDouble) Tests(context.Context, string, string, int) ([]*store.Test, string, error) {
	return []*store.Test{someTest}, "", nil
}
func (testsDouble) DeleteTest(context.Context, string, string) error { return nil }

// rehearserDouble finds no difference.
type rehearserDouble struct{}

func (rehearserDouble) Rehearse(context.Context, trial.Change) (*trial.Outcome, error) {
	return &trial.Outcome{Differences: []trial.Difference{}, Tests: []trial.TestOutcome{}, Notes: []string{}}, nil
}

func (s *storeDouble) ChangeApp(_ context.Context, change store.AppChange) (*repositories.App, bool, error) {
	there := &repositories.App{ID: change.AppID}
	if !s.created {
		there.Revision = "before"
	}
	app, err := change.Next(there)
	return app, s.created, errors.Join(err, s.took("ChangeApp", app))
}

func (s *storeDouble) PutSession(_ context.Context, session *repositories.Session) (bool, error) {
	return s.created, s.took("PutSession", session)
}

func (s *storeDouble) CheckTemplates(context.Context, *repositories.Session) error { return nil }

func (s *storeDouble) Session(_ context.Context, appID, sessionID string) (*repositories.Session, error) {
	return &repositories.Session{AppID: appID, ID: sessionID}, s.took("Session", appID, sessionID)
}

func (s *storeDouble) Sessions(_ context.Context, asked store.SessionQuery) ([]*repositories.Session, string, error) {
	return nil, s.next, s.took("Sessions", asked)
}

func (s *storeDouble) SessionsOf(_ context.Context, appID, user, after string, limit int) ([]string, string, error) {
	return nil, s.next, s.took("SessionsOf", appID, user, after, limit)
}

func (s *storeDouble) ChatSettings(context.Context, string) (repositories.OpenAI, error) {
	return repositories.OpenAI{}, s.err
}

func (s *storeDouble) App(_ context.Context, appID string) (*repositories.App, error) {
	return firstOf(s.apps, s.took("App", appID))
}

func (s *storeDouble) Apps(_ context.Context, after string, limit int) ([]*repositories.App, string, error) {
	return s.apps, s.next, s.took("Apps", after, limit)
}

func (s *storeDouble) PreviewApp(_ context.Context, change store.AppChange, _ string) (string, error) {
	return store.WouldLeave, s.took("PreviewApp", change)
}

func (s *storeDouble) PreviewRepository(_ context.Context, change store.RepositoryChange, _ string) (string, error) {
	return store.WouldLeave, s.took("PreviewRepository", change)
}

func (s *storeDouble) SameNames(context.Context, repositories.Scope, string) ([]string, error) {
	return nil, s.err
}

func (s *storeDouble) DeleteApp(_ context.Context, appID string, _ ...store.Precondition) error {
	return s.took("DeleteApp", appID)
}

func (s *storeDouble) ChangeRepository(_ context.Context, change store.RepositoryChange) (*repositories.Repository, bool, error) {
	there := &repositories.Repository{AppID: change.Scope.AppID, SessionID: change.Scope.SessionID, ID: change.ID}
	if !s.created && len(s.repositories) > 0 {
		there.Revision, there.Tools = "before", s.repositories[0].Tools
	}
	repository, err := change.Next(there)
	return repository, s.created, errors.Join(err, s.took("ChangeRepository", repository))
}

func (s *storeDouble) Repository(_ context.Context, scope repositories.Scope, id string) (*repositories.Repository, error) {
	return firstOf(s.repositories, s.took("Repository", scope, id))
}

func (s *storeDouble) Repositories(_ context.Context, scope repositories.Scope, after string, limit int) ([]*repositories.Repository, string, error) {
	return s.repositories, s.next, s.took("Repositories", scope, after, limit)
}

func (s *storeDouble) DeleteRepository(_ context.Context, scope repositories.Scope, id string, _ ...store.Precondition) error {
	return s.took("DeleteRepository", scope, id)
}

func (s *storeDouble) CloseSession(_ context.Context, appID, sessionID string) error {
	return s.took("CloseSession", appID, sessionID)
}

// The double of the keys is part of the store's.

func (s *storeDouble) Generation(_ context.Context, appID, _ string) (store.Generation, error) {
	return store.Generation{App: appID}, s.err
}

func (s *storeDouble) CachedGeneration(_ context.Context, appID, _ string) (store.Generation, error) {
	return store.Generation{App: appID}, nil
}

func (s *storeDouble) LifeSince(context.Context, string, string) (time.Time, error) {
	return time.Time{}, nil
}

func (s *storeDouble) CreateKey(_ context.Context, appID string, asked store.NewKey) (store.AppKey, secret.Secret, error) {
	return store.AppKey{ID: "k1", Name: asked.Name, Scopes: asked.Scopes}, secret.New("ek_clinic.k1.x"), s.took("CreateKey", appID, asked)
}

func (s *storeDouble) AppKeys(_ context.Context, appID, after string, limit int) ([]store.AppKey, string, error) {
	return nil, s.next, s.took("AppKeys", appID, after, limit)
}

func (s *storeDouble) RevokeKey(_ context.Context, appID, keyID string) error {
	return s.took("RevokeKey", appID, keyID)
}

// engineDouble stands for the ledger in the same way.
type engineDouble struct {
	api.Engine // has what no test asks for
	double
	why  explain.Explanation
	uses []query.ToolUse
	// panics makes Post panic with this value.
	panics any
}

func (e *engineDouble) Post(_ context.Context, message trigger.Message) (json.RawMessage, error) {
	e.took("Post", message)
	if e.panics != nil {
		panic(e.panics)
	}
	return e.answer, e.err
}

func (e *engineDouble) PostAsync(_ context.Context, message trigger.Message) (string, error) {
	return message.ID, e.took("PostAsync", message)
}

func (e *engineDouble) Background(run func(context.Context)) { go run(context.Background()) }

func (e *engineDouble) History(_ context.Context, asked query.History) ([]query.Entry, string, error) {
	return e.entries, e.next, e.took("History", asked)
}

func (*engineDouble) Count(context.Context, string, string, ledger.Use) error { return nil }

func (e *engineDouble) DryRun(_ context.Context, message trigger.Message) (query.Answer, explain.Explanation, error) {
	return query.Answer{MessageID: message.ID, Matches: []query.Match{}, Rejected: []query.Rejected{}}, e.why, e.took("DryRun", message)
}

func (e *engineDouble) Draft(_ context.Context, message trigger.Message) (json.RawMessage, error) {
	return e.answer, e.took("Draft", message)
}

func (e *engineDouble) CommitDraft(_ context.Context, appID, sessionID, messageID string) (json.RawMessage, error) {
	return e.answer, e.took("CommitDraft", appID, sessionID, messageID)
}

func (e *engineDouble) CommitDraftAsync(_ context.Context, appID, sessionID, messageID string) error {
	return e.took("CommitDraftAsync", appID, sessionID, messageID)
}

func (e *engineDouble) WithdrawDraft(_ context.Context, appID, sessionID, messageID string) error {
	return e.took("WithdrawDraft", appID, sessionID, messageID)
}

func (e *engineDouble) ExplainDraft(_ context.Context, appID, sessionID, messageID string) (explain.Explanation, error) {
	return e.why, e.took("ExplainDraft", appID, sessionID, messageID)
}

func (e *engineDouble) Message(_ context.Context, appID, sessionID, messageID string) (query.Entry, error) {
	return firstOf(e.entries, e.took("Message", appID, sessionID, messageID))
}

func (e *engineDouble) Explain(_ context.Context, appID, sessionID, messageID string) (explain.Explanation, error) {
	return e.why, e.took("Explain", appID, sessionID, messageID)
}

func (e *engineDouble) Fire(_ context.Context, direct trigger.Direct) (json.RawMessage, error) {
	return e.answer, e.took("Fire", direct)
}

func (e *engineDouble) Backlog(_ context.Context, appID string) (query.Backlog, error) {
	return query.Backlog{}, e.took("Backlog", appID)
}

func (e *engineDouble) Open(_ context.Context, appID, sessionID string) ([]scope.OpenCall, error) {
	return []scope.OpenCall{}, e.took("Open", appID, sessionID)
}

func (e *engineDouble) Usage(_ context.Context, appID string) ([]query.ToolUse, error) {
	return e.uses, e.took("Usage", appID)
}

func (e *engineDouble) Tools(_ context.Context, appID, sessionID, name, after string, limit int) ([]scope.Tool, string, error) {
	return nil, e.next, e.took("Tools", appID, sessionID, name, query.Page{After: after, Limit: limit})
}

func (e *engineDouble) SearchTools(_ context.Context, appID, sessionID, text string, limit int) ([]scope.FoundTool, error) {
	return []scope.FoundTool{}, e.took("SearchTools", appID, sessionID, text, limit)
}

func (e *engineDouble) Examples(context.Context, repositories.Scope, string) []string { return nil }

func (e *engineDouble) Triggers(_ context.Context, query query.Triggers) ([]query.Record, string, error) {
	return e.records, e.next, e.took("Triggers", query)
}

func (e *engineDouble) Trigger(_ context.Context, appID, triggerID string) (query.Record, error) {
	return firstOf(e.records, e.took("Trigger", appID, triggerID))
}

func (e *engineDouble) FiredInSession(_ context.Context, appID, sessionID, triggerID string) (bool, error) {
	return len(e.records) > 0 && e.records[0].SessionID == sessionID, e.took("FiredInSession", appID, sessionID, triggerID)
}

func (e *engineDouble) Answer(_ context.Context, appID, triggerID string, given effect.Answer) (query.Record, error) {
	return firstOf(e.records, e.took("Answer", appID, triggerID, given))
}

func (e *engineDouble) Confirm(_ context.Context, appID, triggerID, digest, by string) (query.Record, error) {
	return firstOf(e.records, e.took("Confirm", appID, triggerID, digest, by))
}

func (e *engineDouble) Deny(_ context.Context, appID, triggerID, digest, by string) (query.Record, error) {
	return firstOf(e.records, e.took("Deny", appID, triggerID, digest, by))
}

func (e *engineDouble) Cancel(_ context.Context, appID, triggerID, by string) (query.Record, error) {
	return firstOf(e.records, e.took("Cancel", appID, triggerID, by))
}

func (e *engineDouble) Remove(_ context.Context, appID, triggerID string) error {
	return e.took("Remove", appID, triggerID)
}

func (e *engineDouble) RetryAll(_ context.Context, query query.Triggers, by string) (int, error) {
	return 3, e.took("RetryAll", query, by)
}

func (e *engineDouble) CountFailed(_ context.Context, query query.Triggers) (int, error) {
	return 4, e.took("CountFailed", query)
}

func (e *engineDouble) Purge(_ context.Context, query query.Triggers) (int, error) {
	return 2, e.took("Purge", query)
}

func (e *engineDouble) Retry(_ context.Context, appID, triggerID, by string) error {
	return e.took("Retry", appID, triggerID, by)
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
