// Package api is the HTTP server of Earshot: the REST API, its event streams, and the
// probes that operators need.
//
// Handlers decide nothing. A handler reads a bounded, untrusted request, reports all of its faults at once,
// asks the store or the engine, and writes their answer. answer.ProblemOf turns every error into a problem
// (RFC 9457).
//
// A request passes the middleware that New lists, then the table of routes, then a handler. Each group of
// routes has its own file and adds its routes to the table. The middleware reads the same table, so that no
// route can skip the check of its key, ids or query parameters.
package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api/admission"
	"earshot/api/auth"
	"earshot/api/gateway"
	"earshot/api/mcp"
	"earshot/api/mqtt"
	"earshot/api/ratelimit"
	"earshot/api/server"
	"earshot/api/signin"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/repositories/tracing"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// Options configures New. Store, Engine, Keys and Tokens are required; each other field names its default.
type Options struct {
	Store  Store
	Engine Engine
	// AdminKey is the bearer key that may do everything. Empty: no key is needed and the service listens on
	// loopback only; a key that is sent is still checked.
	AdminKey secret.Secret
	Keys     KeyStore    // of apps
	Tokens   auth.Tokens // of sessions
	// Origins decides which pages may call. Missing: none.
	Origins Origins
	// Identities verifies ID tokens. Missing: no user is ever verified.
	Identities Identities
	// Models checks the models that settings name. Missing: settings may name any.
	Models Models
	// Model is the upstream of relayed chats. Missing: their endpoint answers with a problem.
	Model gateway.Model
	// Events is read by event streams. Missing: they answer 503.
	Events Events
	// Memory erases and exports sessions. Missing: they answer 503.
	Memory Memory
	// Audit is the audit log. Missing: nothing is recorded and the log is empty.
	Audit Audit
	// Usage returns the usage of apps. Missing: it is empty.
	Usage Usage
	// PendingCalls keeps calls of agents that lack values. Missing: such calls are faults.
	PendingCalls PendingCalls
	// Rehearser evaluates a change of tools. Missing: its route answers 404.
	Rehearser Rehearser
	// Webhooks returns the state of webhooks. Missing: its routes answer 503.
	Webhooks Webhooks
	// SERMAS turns /mqtt on. Off: /mqtt answers how to turn it on.
	SERMAS bool
	// Filters is how many filters the MQTT clients of one app may have on this replica; all apps together
	// may have twice as many. Missing: 32,768.
	Filters int
	// Lineages returns until when an access token was renewed. Missing: none was.
	Lineages mqtt.Lineages
	// TaskAfter is how long a call by MCP may take before it becomes a task. Missing: 2 s.
	TaskAfter time.Duration
	// Retention is how long the record of a finished trigger is kept. Missing: a week.
	Retention time.Duration
	// Streams is how many event streams an app may have open on this replica. Missing: 10,000.
	Streams int
	// Walls bounds the work in progress and the memory of its bodies. Missing: this handler gets its own.
	Walls *ratelimit.Walls
	// WriteTime is how long an HTTP/2 client may stall while it reads an answer. Missing: 30 s.
	WriteTime time.Duration
	// NATSURL is the address of NATS for callers on the same machine. It is public and holds no password.
	NATSURL string
	// Closing ends the event streams when it is closed. Missing: only clients end them.
	Closing <-chan struct{}
	// Ready lists the backing services that must be ready. Missing: none.
	Ready []Check
	// Manual holds the documents, with the contents in README.md. Missing: none.
	Manual fs.FS
	// Logger gets one line per request. Missing: slog.Default().
	Logger *slog.Logger
	// Metrics is served at /metrics. Missing: a registry of its own.
	Metrics *prometheus.Registry
	// NewID generates the ids of messages and repositories. Missing: 26 random letters and digits.
	NewID   func() string
	Reach   Reach           // checks that the sources of apps are reachable; nil: they are not checked
	Prepare Prepare         // checks the SQL statements of written tools; nil: they are not checked
	Offer   Offer           // reads the tools of MCP servers on a write; nil: they are read later
	Tracer  *tracing.Tracer // begins the spans of requests; nil: none
	// SignIns slows down clients that guess credentials. Missing: this handler gets its own.
	SignIns *signin.Guard
	// Now is the clock for logs and expiry. Missing: time.Now.
	Now func() time.Time

	rest    http.Handler           // the router of New, which serves the requests of sockets
	streams *admission.StreamLimit // of Streams, for all protocols together
}

// New returns the handler of all routes. It is safe for concurrent use.
func New(options Options) http.Handler {
	options = options.withDefaults()
	router := echo.New()
	router.HTTPErrorHandler, options.rest = options.fail, router
	router.Pre(trimSlash)
	routes, openPaths, bodyLimits := options.routes(), map[string]bool{}, map[string]int64{}
	for _, endpoint := range routes {
		if endpoint.open {
			openPaths[endpoint.path] = true
		}
		if endpoint.bodyLimit > 0 {
			bodyLimits[endpoint.path] = endpoint.bodyLimit
		}
	}
	middleware := []echo.MiddlewareFunc{
		traceRequests(options.Tracer),
		logRequests(options.Logger, options.Now),
		countRequests(options.Metrics),
		answerErrors,
		recoverPanics,
		limitBodies(options.WriteTime, bodyLimits),
		crossOrigin(options.Origins),
	}
	if options.AdminKey.Empty() {
		middleware = append(middleware, auth.Guarded(openPaths))
	}
	middleware = append(middleware, auth.Authenticated(options.authenticator(), openPaths), missingApp(options.Store))
	// Chained once; echo would chain them again for each request.
	handle := chain(middleware...)(func(c echo.Context) error { return c.Handler()(c) })
	router.Use(func(echo.HandlerFunc) echo.HandlerFunc { return handle })
	for _, endpoint := range routes {
		endpoint.register(router, options.Walls, acts{options.Audit, options.NewID})
	}
	return router
}

// Endpoints lists the requirements of all HTTP operations except pages and the paths of SERMAS.
func Endpoints() (needs []ratelimit.Needs) {
	for _, r := range (Options{SERMAS: true}).withDefaults().routes() {
		needs = append(needs, r.limits())
	}
	return needs
}

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.WriteTime = cmp.Or(o.WriteTime, server.DefaultWriteTime)
	o.Retention = cmp.Or(o.Retention, store.DefaultRetention)
	o.Metrics = cmp.Or(o.Metrics, prometheus.NewRegistry())
	o.Audit, o.Usage = cmp.Or[Audit](o.Audit, unaudited{}), cmp.Or[Usage](o.Usage, unused{})
	o.streams = admission.NewStreamLimit(o.Streams)
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Walls == nil {
		o.Walls = ratelimit.New(admission.Bounds{}, o.Metrics, o.Now)
	}
	if o.SignIns == nil {
		o.SignIns = signin.New(o.Now, o.Metrics)
	}
	return o
}

// Store holds the definitions. Every method returns repositories.ErrNotFound if the app or the object is
// missing.
type Store interface {
	gateway.Settings
	ChangeApp(ctx context.Context, change store.AppChange) (app *repositories.App, created bool, err error)
	App(ctx context.Context, appID string) (*repositories.App, error)
	Apps(ctx context.Context, after string, limit int) (items []*repositories.App, next string, err error)
	DeleteApp(ctx context.Context, appID string, on ...store.Precondition) error
	// ChangeRepository returns a repository as stored. It returns a fault.List if the change does not fit the app, such
	// as a module that the app lacks.
	ChangeRepository(ctx context.Context, change store.RepositoryChange) (repository *repositories.Repository, created bool, err error)
	Repository(ctx context.Context, scope repositories.Scope, id string) (*repositories.Repository, error)
	Repositories(ctx context.Context, scope repositories.Scope, after string, limit int) (items []*repositories.Repository, next string, err error)
	DeleteRepository(ctx context.Context, scope repositories.Scope, id string, on ...store.Precondition) error
	// SameNames reports which of several tools with the same name in a scope applies: for one repository, or for all if
	// repositoryID is empty.
	SameNames(ctx context.Context, scope repositories.Scope, repositoryID string) ([]string, error)
	// PreviewApp and PreviewRepository return what a change would do: store.WouldCreate, WouldUpdate or WouldLeave. They
	// fail as the change would, or with a *store.CompareError. by is the root of the caller's key, empty for the admin.
	PreviewApp(ctx context.Context, change store.AppChange, by string) (operation string, err error)
	PreviewRepository(ctx context.Context, change store.RepositoryChange, by string) (operation string, err error)

	Versions(ctx context.Context, appID, repositoryID string, before, limit int) (items []store.Version, next int, err error)
	// Version returns a version with its definition; nil if that write removed the repository.
	Version(ctx context.Context, appID, repositoryID string, number int) (store.Version, *repositories.Repository, error)
	// RestoreChange returns the change that restores a version; store.ErrDeleted if it has no definition.
	RestoreChange(ctx context.Context, appID, repositoryID string, number int) (store.RepositoryChange, error)
	// NextRepository returns what a change would write, or why it cannot.
	NextRepository(ctx context.Context, change store.RepositoryChange) (*repositories.Repository, error)

	PutTest(ctx context.Context, appID, name string, body json.RawMessage) (test *store.Test, created bool, err error)
	Test(ctx context.Context, appID, name string) (*store.Test, error)
	Tests(ctx context.Context, appID, after string, limit int) (items []*store.Test, next string, err error)
	DeleteTest(ctx context.Context, appID, name string) error

	PutSession(ctx context.Context, session *repositories.Session) (created bool, err error)
	// CheckTemplates makes a part of PutSession's checks, for a body that has other faults.
	CheckTemplates(ctx context.Context, session *repositories.Session) error
	Session(ctx context.Context, appID, sessionID string) (*repositories.Session, error)
	Sessions(ctx context.Context, asked store.SessionQuery) (items []*repositories.Session, next string, err error)
	// SessionsOf lists the sessions of a user, including ended ones.
	SessionsOf(ctx context.Context, appID, user, after string, limit int) (ids []string, next string, err error)
	CloseSession(ctx context.Context, appID, sessionID string) error
	// LifeSince is that of auth.Lives.
	LifeSince(ctx context.Context, appID, sessionID string) (time.Time, error)
}

// Models checks a model that the settings of an app name. It returns nil if the model can be asked.
type Models interface{ CheckModel(named string) error }

// Engine fires, matches and reads triggers and messages, for chats and agents as well.
type Engine interface {
	gateway.Engine
	mcp.Engine

	// Draft matches a message that may still change. CommitDraft decides it as Post does, CommitDraftAsync
	// as PostAsync. WithdrawDraft fails with *trigger.PostedError after the commit.
	Draft(ctx context.Context, message trigger.Message) (json.RawMessage, error)
	CommitDraft(ctx context.Context, appID, sessionID, messageID string) (json.RawMessage, error)
	CommitDraftAsync(ctx context.Context, appID, sessionID, messageID string) error
	WithdrawDraft(ctx context.Context, appID, sessionID, messageID string) error
	ExplainDraft(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error)
	// DryRun stores nothing.
	DryRun(ctx context.Context, message trigger.Message) (query.Answer, explain.Explanation, error)
	Message(ctx context.Context, appID, sessionID, messageID string) (query.Entry, error)
	// Explain fails with query.ErrUnexplained if no explanation of the message is kept.
	Explain(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error)
	// LatestMessages finds the messages with a text in sessions, or with an empty text the last of the user.
	LatestMessages(ctx context.Context, appID string, sessions []string, text string) (map[string]query.MessageExcerpt, error)

	// SearchTools lists the tools nearest to a text, the nearest first.
	SearchTools(ctx context.Context, appID, sessionID, text string, limit int) ([]scope.FoundTool, error)
	// Backlog counts the pending and the failed triggers of an app.
	Backlog(ctx context.Context, appID string) (query.Backlog, error)
	// Open lists the calls of a session that lack values.
	Open(ctx context.Context, appID, sessionID string) ([]scope.OpenCall, error)
	// SessionsIn returns the sessions with triggers that are pending, confirming or failed; nil if there
	// are too many to list.
	SessionsIn(ctx context.Context, appID, state string) (map[string]bool, error)
	// Retry makes the failed effects of a trigger due again.
	Retry(ctx context.Context, appID, triggerID, by string) error
	// Remove deletes the record of a trigger; it fails with trigger.ErrOwes if work is left to do.
	Remove(ctx context.Context, appID, triggerID string) error
	// CountFailed counts, RetryAll retries and Purge removes all failed triggers that match a query; they return the number.
	CountFailed(ctx context.Context, query query.Triggers) (int, error)
	RetryAll(ctx context.Context, query query.Triggers, by string) (int, error)
	Purge(ctx context.Context, query query.Triggers) (int, error)

	Tools(ctx context.Context, appID, sessionID, name, after string, limit int) (items []scope.Tool, next string, err error)
	// Examples reports which examples of a written repository do not set off their tool.
	Examples(ctx context.Context, scope repositories.Scope, repositoryID string) []string
	// Usage returns the uses of each tool, by name.
	Usage(ctx context.Context, appID string) ([]query.ToolUse, error)
}
