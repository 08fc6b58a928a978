// Package httpcall delivers effects over HTTP: webhook calls of the URL of a tool that
// fired, requests of http tools to the sources of their app, and calls of the tools of MCP
// servers.
//
// Caller is an effect.Deliverer. One Deliver is one attempt, and goes one way: the call is
// prepared and signed (request.go), from a tool's URL and its placeholders (placeholders.go),
// from an http tool (tool.go) or from an MCP server (mcp.go), with its credentials
// (credentials.go), for which it may have to request a token; the host must have room
// (limiter.go); the request is sent (roundtrip.go) to an address that may be called (guard),
// and the answer, redacted (redactor.go), becomes the outcome. The ledger decides when the
// next attempt is due. A call of an MCP server's tool is several requests in a session
// (mcp_client.go).
//
// What it promises:
//
//   - Every attempt of a call carries one webhook-id and Idempotency-Key, so that the
//     endpoint can tell a repeat from a new call.
//   - A call whose credentials cannot be obtained is not made. It is never made without.
//   - No connection is opened to an address that the operator's policy keeps closed,
//     whatever name led there; token requests go through the same transport. Redirects
//     are not followed and no proxy is used.
//   - Values reach the path, the query and the body of a request, and those headers
//     of an http tool that are parameters, each escaped for its place, and nothing else.
//   - No outcome and no log line holds a credential, even if the endpoint sends it back.
//   - Nothing that a server answers is taken on trust: answers, lists and their pages are
//     bounded, and numbers keep the digits that were sent.
//
// It does not promise that a call is made once: an answer may be lost, and then the call is
// made again unless the tool is marked as not idempotent.
package httpcall

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/failpoint"
	"earshot/repositories/version"
	"earshot/trigger/effect"
)

// Options of a Caller. Only Apps is needed; each other field has its default in its comment.
type Options struct {
	Apps effect.Apps
	// Policy says which addresses that are not public may be called; none.
	Policy guard.Policy
	// Resolver looks up the names of endpoints; the system's.
	Resolver *net.Resolver
	// TokenTimeout bounds one token request; 10 s. Calls wait for a token no longer than their own time.
	TokenTimeout time.Duration
	// Tokens is how many tokens are kept; 4096.
	Tokens int
	// HostLimit is how many calls of one app may be under way to one host; 8.
	HostLimit int
	// SlotWait is how long a call waits for one of these; 1 s.
	SlotWait time.Duration
	// BreakAfter is the number of failures in a row that close a host off; 10.
	BreakAfter int
	// Now is time.Now. Requests and closed-off hosts use the machine's clock.
	Now func() time.Time
	// Jitter spreads the pauses of deferred calls; by up to a fifth either way.
	Jitter func(time.Duration) time.Duration
	// Logger gets one line for every attempt, at debug level; slog.Default().
	Logger *slog.Logger
}

// Caller is the HTTP client that makes the calls of all apps. It is safe for concurrent use.
type Caller struct {
	options  Options
	pooled   *http.Transport // its connections are used again
	unpooled *http.Transport // a new connection for each request
	tokens   *tokenCache
	hosts    *hostLimiter
	mcp      *mcpClient
}

var _ effect.Deliverer = (*Caller)(nil)

// New returns a Caller. It panics without Apps, which is a fault of the program.
func New(o Options) *Caller {
	if o.Apps == nil {
		panic("httpcall.New: Options.Apps is missing")
	}
	o.TokenTimeout, o.Tokens = cmp.Or(o.TokenTimeout, 10*time.Second), cmp.Or(o.Tokens, 4096)
	o.HostLimit, o.SlotWait = cmp.Or(o.HostLimit, 8), cmp.Or(o.SlotWait, time.Second)
	o.BreakAfter, o.Logger = cmp.Or(o.BreakAfter, 10), cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jitter == nil {
		o.Jitter = func(pause time.Duration) time.Duration {
			return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
		}
	}

	c := &Caller{options: o, pooled: guard.Transport(o.Policy, o.Resolver), unpooled: guard.Transport(o.Policy, o.Resolver)}
	// net/http repeats a request on a connection that breaks; a call that is not idempotent must not be.
	c.unpooled.DisableKeepAlives = true
	hosts, _ := lru.New[string, *hostState](maxHosts) // fails for less than 1 only
	c.hosts = &hostLimiter{options: o, hosts: hosts}
	cached, _ := lru.New[string, accessToken](max(1, o.Tokens))
	c.tokens = &tokenCache{cached: cached, client: clientOf(c.pooled), limit: o.TokenTimeout, now: o.Now, log: o.Logger}
	revisions, _ := lru.New[string, string](maxRevisions)
	c.mcp = &mcpClient{
		sdk: mcp.NewClient(&mcp.Implementation{Name: "earshot", Version: version.Current().Version}, &mcp.ClientOptions{
			Capabilities:   &mcp.ClientCapabilities{}, // none: nothing is answered to a server that asks
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
			Logger:         slog.New(slog.DiscardHandler), // it quotes what servers say
		}),
		http: clientOf(mcpTransport{}), open: map[string][]*mcpSession{}, revisions: revisions,
	}
	return c
}

// CloseIdleConnections closes the connections and sessions that no call uses.
func (c *Caller) CloseIdleConnections() {
	c.mcp.closeIdle()
	c.pooled.CloseIdleConnections()
}

// Deliver makes one attempt of a call. It repeats the request only after a 401 to a token, with a new one, and
// never a call that must not be made twice. It ends with ctx or the call's own time.
func (c *Caller) Deliver(ctx context.Context, delivery effect.Effect) (outcome effect.Outcome) {
	started := c.options.Now()
	defer func() {
		c.options.Logger.DebugContext(ctx, "call.attempted",
			"app", delivery.AppID, "session", delivery.SessionID, "trigger", delivery.TriggerID, "attempt", delivery.Attempt,
			"done", outcome.Verdict == effect.Done, "dead", outcome.Verdict == effect.Dead, "deferred", outcome.Deferred,
			"status", outcome.Status, "reason", outcome.Reason, "error", outcome.Error, "took", c.options.Now().Sub(started))
	}()
	if delivery.Call == nil {
		return effect.OutcomeOf(effect.Permanent(effect.ReasonRequest, "effect %q of kind %q holds no call", delivery.ID, delivery.Kind))
	}
	app, err := effect.AppOf(ctx, c.options.Apps, delivery, c.options.Logger, "call.deferred")
	if err != nil {
		return effect.OutcomeOf(err)
	}
	limit := delivery.Call.Request.AttemptTimeout()
	if delivery.Call.Tool != nil {
		limit = app.AttemptTimeout(delivery.Call.Tool)
	}
	attempt, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	call, err := c.prepare(app, delivery)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	send := c.roundTrip
	if tool := delivery.Call.Tool; tool != nil && tool.Type == repositories.ToolMCP {
		send = c.callRemote // its requests get their tokens themselves
	} else if call.auth.ready, err = call.auth.authorization(attempt); err == nil {
		failpoint.At(failpoint.TokenFetched)
	}
	if err != nil {
		outcome = effect.OutcomeOf(err)
	} else {
		outcome = c.withRoom(attempt, call, send)
	}
	outcome.Error, outcome.Host = call.redactor.redact(outcome.Error), strings.ToLower(call.target.Host)
	if call.hideErrorBody && outcome.Verdict != effect.Done {
		outcome.Result, outcome.Truncated = nil, false
	}
	return outcome
}

// withRoom sends a call once its host has room.
func (c *Caller) withRoom(ctx context.Context, call *preparedCall, send func(context.Context, *preparedCall) (effect.Outcome, hostHealth)) effect.Outcome {
	release, err := c.hosts.acquire(ctx, call.app.ID, call.target)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	outcome, health := send(ctx, call)
	outcome.Sent = call.sent(outcome)
	release(health)
	failpoint.At(failpoint.ResponseRead)
	return outcome
}
