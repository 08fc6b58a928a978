// Package api is the HTTP server of Earshot: the REST API, its event streams, and the
// probes that operators need.
//
// It decides nothing. A handler reads a request, untrusted and bounded, names every
// fault in it at once, asks the store or the engine, and writes what they answer.
// Every error of theirs becomes a problem (RFC 9457) in one function, answer.ProblemOf.
//
// A request goes one way: the middleware that New lists, the table of routes, a handler.
// Each group of routes is in its own file and lists them in the table; the middleware
// reads the table as well, so that a route cannot forget to check its key, its ids or its
// query parameters.
package api

import (
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
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// Options are what New needs. Store, Engine, Keys and Tokens must be given; what else is missing has the
// default that its field names.
type Options struct {
	Store  Store
	Engine Engine
	// AdminKey is the bearer key that may do everything. Empty: no key is needed, on loopback only; those
	// that are sent are honoured.
	AdminKey secret.Secret
	Keys     KeyStore    // of apps
	Tokens   auth.Tokens // of sessions
	// Origins knows which pages may call. Missing: none.
	Origins Origins
	// Identities verifies ID tokens. Missing: no user is ever verified.
	Identities Identities
	// Models knows which models can be asked. Missing: settings may name any.
	Models Models
	// Model is what chats are relayed to. Missing: their endpoint says so.
	Model gateway.Model
	// Events is read by event streams. Missing: they answer 503.
	Events Events
	// Memory erases and exports sessions. Missing: they answer 503.
	Memory Memory
	// Audit keeps who did what. Missing: nothing does, and its list is empty.
	Audit Audit
	// Usage tells what apps have used. Missing: nothing.
	Usage Usage
	// Asked keeps calls of agents that lack values. Missing: they are faults.
	Asked Asked
	// Rehearser says what a change of tools would do. Missing: its route answers 503.
	Rehearser Rehearser
	// Webhooks tells how the webhooks of apps fare. Missing: its routes answer 503.
	Webhooks Webhooks
	// SERMAS turns /mqtt on. Off: its clients read how to turn it on.
	SERMAS bool
	// Filters is how many filters the clients of MQTT may have here for one app, and half of what all may
	// have. Missing: 32,768.
	Filters int
	// Lineages knows until when access tokens were renewed. Missing: none was.
	Lineages mqtt.Lineages
	// TaskAfter is how long a call by MCP may take before it is a task. Missing: 2 s.
	TaskAfter time.Duration
	// Kept is how long the record of a trigger stays after it was done. Missing: a week.
	Kept time.Duration
	// Streams is how many event streams an app may have open here. Missing: 10,000.
	Streams int
	// Walls bound what is under work and what its bodies take. Missing: those of this handler alone.
	Walls *ratelimit.Walls
	// WriteTime is how long a client of HTTP/2 may take nothing of its answer. Missing: 30 s.
	WriteTime time.Duration
	// NATSURL is where callers on the same machine find the events. All may read it: it holds no password.
	NATSURL string
	// Closing ends the event streams when it is closed. Missing: only their clients do.
	Closing <-chan struct{}
	// Ready lists what must answer before the service can work. Missing: nothing.
	Ready []Check
	// Manual has the documents, the contents in README.md. Missing: there are none.
	Manual fs.FS
	// Logger gets one line for each request. Missing: slog.Default().
	Logger *slog.Logger
	// Metrics is shown at /metrics. Missing: a registry of its own.
	Metrics *prometheus.Registry
	// NewID makes the ids of messages and repositories. Missing: 26 random letters and digits.
	NewID   func() string
	Reach   Reach           // looks at the sources of apps; nil: they are not looked at
	Prepare Prepare         // looks at statements of tools that are written; nil: they are not looked at
	Offer   Offer           // reads the tools of MCP servers; nil: they are read later
	Tracer  *tracing.Tracer // begins the spans of requests; nil: none
	// SignIns slows down clients that guess credentials. Missing: that of this handler alone.
	SignIns *signin.Guard
	// Now is the clock of log lines and of what expires. Missing: time.Now.
	Now func() time.Time

	rest http.Handler // that of New, which sockets ask
}

// New returns the handler of every route. It is safe for concurrent use.
func New(options Options) http.Handler {
	options = options.withDefaults()
	router := echo.New()
	router.HTTPErrorHandler, options.rest = options.fail, router
	router.Pre(unslashed)
	table, open, long := options.routes(), map[string]bool{}, map[string]int64{}
	for _, endpoint := range table {
		if endpoint.open {
			open[endpoint.path] = true
		}
		if endpoint.most > 0 {
			long[endpoint.path] = endpoint.most
		}
	}
	around := []echo.MiddlewareFunc{
		traced(options.Tracer),
		logged(options.Logger, options.Now),
		counted(options.Metrics),
		answered,
		recovered,
		hardened(options.WriteTime, long),
		crossOrigin(options.Origins),
	}
	if options.AdminKey.Empty() {
		around = append(around, auth.Guarded(open))
	}
	around = append(around, auth.Authenticated(options.authenticator(), open))
	// Chained once, and not by echo for each request.
	handle := chained(around...)(func(c echo.Context) error { return c.Handler()(c) })
	router.Use(func(echo.HandlerFunc) echo.HandlerFunc { return handle })
	may := accessTable()
	for _, endpoint := range table {
		endpoint.register(router, may[endpoint.method+" "+endpoint.path], options.Walls, acts{options.Audit, options.NewID})
	}
	return router
}

// Doors lists the ways in over HTTP that are no page and no path of SERMAS.
func Doors() (all []ratelimit.Needs) {
	may := accessTable()
	for _, r := range (Options{SERMAS: true}).withDefaults().routes() {
		all = append(all, r.needs(may[r.method+" "+r.path]))
	}
	return all
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	if o.Walls == nil {
		o.Walls = ratelimit.New(admission.Bounds{}, o.Metrics, nil)
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SignIns == nil {
		o.SignIns = signin.New(nil, o.Metrics)
	}
	if o.WriteTime == 0 {
		o.WriteTime = server.DefaultWriteTime
	}
	if o.Audit == nil {
		o.Audit = unaudited{}
	}
	if o.Usage == nil {
		o.Usage = unused{}
	}
	if o.Kept == 0 {
		o.Kept = store.DefaultRetention
	}
	return o
}

// Store is what the API needs of the definitions. Every method returns an error that
// is repositories.ErrNotFound where the app or the thing itself is missing.
type Store interface {
	AppStore
	RepositoryReader
	RepositoryWriter
	VersionStore
	TestStore
	Previewer
	SameNamer
	SessionStore
	gateway.Settings
}

// AppStore keeps apps.
type AppStore interface {
	ChangeApp(ctx context.Context, change store.AppChange) (app *repositories.App, created bool, err error)
	App(ctx context.Context, appID string) (*repositories.App, error)
	Apps(ctx context.Context, after string, limit int) (items []*repositories.App, next string, err error)
	DeleteApp(ctx context.Context, appID string, on ...store.Condition) error
}

// appReader reads an app.
type appReader interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// RepositoryReader reads the repositories of one scope.
type RepositoryReader interface {
	Repository(ctx context.Context, scope repositories.Scope, id string) (*repositories.Repository, error)
	Repositories(ctx context.Context, scope repositories.Scope, after string, limit int) (items []*repositories.Repository, next string, err error)
}

// RepositoryWriter changes repositories, and returns them as they are stored. What does not
// fit the app, such as a module that it lacks, comes back as fault.List.
type RepositoryWriter interface {
	ChangeRepository(ctx context.Context, change store.RepositoryChange) (repository *repositories.Repository, created bool, err error)
	DeleteRepository(ctx context.Context, scope repositories.Scope, id string, on ...store.Condition) error
}

// Previewer says what a change would do, one of store.WouldCreate, WouldUpdate and WouldLeave, and fails as
// the change would, or with a *store.CompareError. by is the root of the caller's key, empty for the admin.
type Previewer interface {
	PreviewApp(ctx context.Context, change store.AppChange, by string) (operation string, err error)
	PreviewRepository(ctx context.Context, change store.RepositoryChange, by string) (operation string, err error)
}

// SessionStore keeps what is known of sessions in advance, lists them and ends them.
type SessionStore interface {
	PutSession(ctx context.Context, session *repositories.Session) (created bool, err error)
	Session(ctx context.Context, appID, sessionID string) (*repositories.Session, error)
	Sessions(ctx context.Context, asked store.SessionQuery) (items []*repositories.Session, next string, err error)
	// SessionsOf lists the sessions of a user, those that have ended as well.
	SessionsOf(ctx context.Context, appID, user, after string, limit int) (ids []string, next string, err error)
	CloseSession(ctx context.Context, appID, sessionID string) error
}

// Models says why messages of an app whose settings name a model so cannot be matched; nil
// where they can.
type Models interface{ CheckModel(named string) error }

// Engine is what the API needs of the ledger.
type Engine interface {
	Messages
	Triggers
	Tools
	gateway.Engine
	mcp.Engine
	// Open lists the calls of a session that lack values.
	Open(ctx context.Context, appID, sessionID string) ([]scope.OpenCall, error)
	// SessionsIn are the sessions with triggers that are pending, confirming or failed; nil stands for all.
	SessionsIn(ctx context.Context, appID, state string) (map[string]bool, error)
	// Said finds what was said in sessions with a text, or last by the user.
	Said(ctx context.Context, appID string, sessions []string, text string) (map[string]query.Said, error)
}

// Messages takes chat messages and tells what came of them.
type Messages interface {
	// Post returns the stored JSON of a query.Answer, the same bytes for every repeat of the message.
	Post(ctx context.Context, message trigger.Message) (json.RawMessage, error)
	// PostAsync returns as soon as the message is stored.
	PostAsync(ctx context.Context, message trigger.Message) (messageID string, err error)
	// Draft matches a message that may still change; CommitDraft decides it as Post does a message,
	// CommitDraftAsync as PostAsync. WithdrawDraft fails with *trigger.PostedError once it is a message.
	Draft(ctx context.Context, message trigger.Message) (json.RawMessage, error)
	CommitDraft(ctx context.Context, appID, sessionID, messageID string) (json.RawMessage, error)
	CommitDraftAsync(ctx context.Context, appID, sessionID, messageID string) error
	WithdrawDraft(ctx context.Context, appID, sessionID, messageID string) error
	ExplainDraft(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error)
	// Count counts a use against the limits of a minute, and fails with a *ledger.RateError.
	Count(ctx context.Context, appID, sessionID string, use ledger.Use) error
	// DryRun leaves no trace.
	DryRun(ctx context.Context, message trigger.Message) (query.Answer, explain.Explanation, error)
	History(ctx context.Context, asked query.History) (items []query.Entry, next string, err error)
	Message(ctx context.Context, appID, sessionID, messageID string) (query.Entry, error)
	// Explain fails with query.ErrUnexplained where nothing is kept that explains the message.
	Explain(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error)
}

// Triggers fires tools without the matcher and reads the records of what has fired.
type Triggers interface {
	// Fire returns the JSON of a query.Match.
	Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error)
	Triggers(ctx context.Context, query query.Triggers) (items []query.Record, next string, err error)
	Trigger(ctx context.Context, appID, triggerID string) (query.Record, error)
	// Backlog counts the pending and the failed triggers of an app.
	Backlog(ctx context.Context, appID string) (query.Backlog, error)
	// Answer gives the answer to a trigger that waits for one; the first holds.
	Answer(ctx context.Context, appID, triggerID string, given effect.Answer) (query.Record, error)
	// Confirm lets a waiting trigger go, Deny ends it, and Cancel ends one whose effects are deferred; by
	// comes into the record. The digest names the question; an empty one denies any. They fail with
	// query.ErrEnded when it is too late, and with trigger.ErrDigest for another digest.
	Confirm(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)
	Deny(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)
	Cancel(ctx context.Context, appID, triggerID, by string) (query.Record, error)
	// Retry makes what has failed of a trigger due again.
	Retry(ctx context.Context, appID, triggerID, by string) error
	// Remove removes the record of a trigger; trigger.ErrOwes where it owes something.
	Remove(ctx context.Context, appID, triggerID string) error
	DeadLetters
}

// DeadLetters counts, retries or removes all failed triggers that match a query, and returns their number.
type DeadLetters interface {
	CountFailed(ctx context.Context, query query.Triggers) (int, error)
	RetryAll(ctx context.Context, query query.Triggers, by string) (int, error)
	Purge(ctx context.Context, query query.Triggers) (int, error)
}
