package httpcall

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"earshot/httpcall/guard"
	"earshot/httpcall/mcpclient"
	"earshot/repositories"
	"earshot/repositories/failpoint"
	"earshot/repositories/version"
	"earshot/trigger/effect"
)

// Apps finds the app that a call belongs to. Its errors wrap repositories.ErrNotFound
// if there is none. It is asked once for every attempt.
type Apps interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// Options of a Caller. Only Apps is needed; what is zero has the default that stands
// with it.
type Options struct {
	Apps Apps
	// Policy says which addresses that are not public may be called; none.
	Policy guard.Policy
	// Resolver looks up the names of endpoints; the system's.
	Resolver *net.Resolver
	// UserAgent is "earshot/" and the version. A tool's own header overrides it.
	UserAgent string
	// TokenTimeout bounds one token request; 10 s. Calls that wait for the token do
	// not wait longer than their own time.
	TokenTimeout time.Duration
	// Tokens is how many tokens are kept; 4096.
	Tokens int
	// HostLimit is how many calls of one app may be under way to one host; 8.
	HostLimit int
	// SlotWait is how long a call waits for one of these; 1 s.
	SlotWait time.Duration
	// BreakAfter is the number of failures in a row that close a host off; 10.
	BreakAfter int
	// BreakFor is how long it stays closed off before one call probes it; 30 s.
	BreakFor time.Duration
	// Now is time.Now. Time limits of requests and the pauses of closed-off hosts run
	// on the machine's clock.
	Now func() time.Time
	// Jitter spreads the pauses of deferred calls; by up to a fifth either way.
	Jitter func(time.Duration) time.Duration
	// Logger gets one line for every attempt, at debug level; slog.Default().
	Logger *slog.Logger
}

// Caller is the HTTP client that makes the calls of all apps. It is safe for concurrent use.
type Caller struct {
	apps      Apps
	client    *http.Client // its connections are used again
	unpooled  *http.Client // a new connection for each call
	tokens    *tokenCache
	hosts     *hostLimiter
	mcp       *mcpclient.Client
	userAgent string
	now       func() time.Time
	log       *slog.Logger
}

// New returns a Caller. It panics without Apps, which is a fault of the program.
func New(options Options) *Caller {
	if options.Apps == nil {
		panic("httpcall.New: Options.Apps is missing")
	}
	o := options.withDefaults()
	shared, fresh := guard.Transport(o.Policy, o.Resolver), guard.Transport(o.Policy, o.Resolver)
	// net/http sends a request again by itself when a connection that it used before
	// breaks, which must not happen to a call that is not idempotent.
	fresh.DisableKeepAlives = true
	client := newClient(shared)
	return &Caller{
		apps:      o.Apps,
		client:    client,
		unpooled:  newClient(fresh),
		tokens:    newTokenCache(client, o),
		hosts:     newHostLimiter(o),
		mcp:       mcpclient.New(mcpclient.Options{Idle: mcpIdle}),
		userAgent: o.UserAgent,
		now:       o.Now,
		log:       o.Logger,
	}
}

// newClient returns a client that hands redirects out as they are.
func newClient(transport *http.Transport) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// CloseIdleConnections closes the connections, and the sessions with MCP servers, that no call
// uses at the moment.
func (c *Caller) CloseIdleConnections() {
	c.mcp.CloseIdle()
	c.client.CloseIdleConnections()
}

func (o Options) withDefaults() Options {
	o.UserAgent = or(o.UserAgent, version.Product())
	o.TokenTimeout = or(o.TokenTimeout, 10*time.Second)
	o.Tokens = or(o.Tokens, 4096)
	o.HostLimit = or(o.HostLimit, 8)
	o.SlotWait = or(o.SlotWait, time.Second)
	o.BreakAfter = or(o.BreakAfter, 10)
	o.BreakFor = or(o.BreakFor, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jitter == nil {
		o.Jitter = jitterByAFifth
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func or[T comparable](given, fallback T) T {
	var zero T
	if given == zero {
		return fallback
	}
	return given
}

// jitterByAFifth returns a pause between four and six fifths of the given one.
func jitterByAFifth(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}

var _ effect.Deliverer = (*Caller)(nil)

// Deliver makes one attempt of a call. It repeats the request only after a 401 to
// a token, at once and with a new one; a call that must not be made twice is not repeated,
// whatever the answer. It ends with ctx or with the call's own time
// for one attempt, whichever is first.
func (c *Caller) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	started := c.now()
	outcome := c.deliver(ctx, delivery)
	c.log.DebugContext(ctx, "call.attempted",
		"app", delivery.AppID, "session", delivery.SessionID, "trigger", delivery.TriggerID, "attempt", delivery.Attempt,
		"done", outcome.Verdict == effect.Done, "dead", outcome.Verdict == effect.Dead, "deferred", outcome.Deferred,
		"status", outcome.Status, "reason", outcome.Reason, "error", outcome.Error, "took", c.now().Sub(started))
	return outcome
}

func (c *Caller) deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	if delivery.Call == nil {
		return effect.OutcomeOf(effect.Permanent(effect.ReasonRequest, "effect %q of kind %q holds no call", delivery.ID, delivery.Kind))
	}
	app, err := c.app(ctx, delivery)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeOf(app, delivery.Call))
	defer cancel()
	call, err := c.prepare(app, delivery)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	var outcome effect.Outcome
	if call.remote() {
		outcome = c.performRemote(ctx, app, call)
	} else {
		outcome = c.perform(ctx, call)
	}
	outcome = call.redactor.redactOutcome(outcome)
	if call.hideErrorBody && outcome.Verdict != effect.Done {
		outcome.Result, outcome.Truncated = nil, false
	}
	return outcome
}

// timeOf is the timeout of one attempt.
func timeOf(app *repositories.App, call *effect.Call) time.Duration {
	if call.Tool != nil {
		return app.AttemptTimeout(call.Tool)
	}
	return call.Request.AttemptTimeout()
}

// app returns the app of a call, from the effect or from the store. A deleted app is a
// permanent failure; a store that does not answer puts the call off.
func (c *Caller) app(ctx context.Context, delivery effect.Effect) (*repositories.App, error) {
	if delivery.Call.App != nil {
		return delivery.Call.App, nil
	}
	appID := delivery.AppID
	ctx, cancel := context.WithTimeout(ctx, delivery.Call.Request.AttemptTimeout())
	defer cancel()
	app, err := c.apps.App(ctx, appID)
	switch {
	case errors.Is(err, repositories.ErrNotFound), err == nil && app == nil:
		return nil, effect.Permanent(effect.ReasonRequest, "app %q is gone, and with it the keys that its calls are signed with", appID)
	case err != nil:
		c.log.WarnContext(ctx, "call.deferred", "app", appID, "error", err.Error())
		return nil, &effect.Failure{Outcome: effect.Outcome{
			Verdict: effect.Retry, Deferred: true, Reason: effect.ReasonRequest,
			Error: "app " + appID + " cannot be looked up now",
		}}
	}
	return app, nil
}

// perform authorizes and sends a prepared call.
func (c *Caller) perform(ctx context.Context, call *preparedCall) effect.Outcome {
	authorization, err := c.authorization(ctx, call)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	failpoint.At(failpoint.TokenFetched)
	release, err := c.hosts.acquire(ctx, call.effect.AppID, call.target)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	outcome, state := c.exchange(ctx, call, authorization)
	outcome.Sent = call.sent(outcome)
	if outcome.Status == http.StatusUnauthorized && call.credential.grant != nil {
		c.tokens.drop(call.credential.grant, bearerOf(authorization))
		if call.repeatable {
			outcome, state = c.retryWithNewToken(ctx, call)
		}
	}
	release(state)
	failpoint.At(failpoint.ResponseRead)
	return outcome
}

// retryWithNewToken makes the call once more, with a new token in place of the one that the
// endpoint has refused.
func (c *Caller) retryWithNewToken(ctx context.Context, call *preparedCall) (effect.Outcome, hostHealth) {
	renewed, err := c.authorization(ctx, call)
	if err != nil { // it answered: what is missing is the token
		outcome := effect.OutcomeOf(err)
		outcome.Sent, outcome.Reached = call.sent(outcome), true
		return outcome, alive
	}
	outcome, health := c.exchange(ctx, call, renewed)
	outcome.Sent, outcome.Reached = call.sent(outcome), true
	return outcome, health
}
