// Package httpcall delivers effects over HTTP: webhook calls to the URL of a triggered tool, requests of http
// tools to their app's sources, and calls of tools on MCP servers.
//
// Caller is an effect.Deliverer. One Deliver is one attempt. The call is prepared and signed (request.go), from
// a tool's URL and its placeholders (placeholders.go), from an http tool (tool.go) or from an MCP server
// (mcp.go), with its credentials (credentials.go), which may require a token request. The host must have a free
// slot. The request is sent (roundtrip.go) to an allowed address (guard), and the answer, redacted
// (redactor.go), becomes the outcome. The ledger schedules the next attempt. A call of an MCP tool is several
// requests in a session (mcp_client.go).
//
// Guarantees:
//
//   - All attempts of a call have the same webhook-id and Idempotency-Key, so that the
//     endpoint can recognize repeats.
//   - A call without its credentials is never sent.
//   - No connection is opened to an address that the operator's policy forbids, whatever
//     name resolves to it; token requests use the same transport. Redirects are not
//     followed, and no proxy is used.
//   - Values reach only the path, the query and the body of a request, and those headers
//     of an http tool that are parameters, each escaped for its place.
//   - No outcome and no log line contains a credential, even if the endpoint echoes it.
//   - Server answers are untrusted: answers, lists and their pages are bounded, and numbers
//     keep their digits.
//
// A call may be made more than once: if an answer is lost, the call is repeated unless the tool is marked as
// not idempotent.
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

// Options configures a Caller. Only Apps is required; each comment ends with the default.
type Options struct {
	Apps effect.Apps
	// Policy lists the non-public addresses that may be called; none.
	Policy guard.Policy
	// Resolver resolves the names of endpoints; the system's.
	Resolver *net.Resolver
	// TokenTimeout bounds one token request; 10 s. A call waits for a token only within its own time limit.
	TokenTimeout time.Duration
	// Tokens is how many tokens are cached; 4096.
	Tokens int
	// HostLimit is how many calls of one app to one host may run at once; 8.
	HostLimit int
	// SlotWait is how long a call waits for a slot; 1 s.
	SlotWait time.Duration
	// BreakAfter is how many failures in a row open a host's circuit breaker; 10.
	BreakAfter int
	// Now is the clock; time.Now. Timeouts and the circuit breaker use the machine's clock.
	Now func() time.Time
	// Jitter spreads the pauses of deferred calls; by up to 20 % either way.
	Jitter func(time.Duration) time.Duration
	// Logger gets one debug line per attempt; slog.Default().
	Logger *slog.Logger
}

// Caller is the HTTP client for the calls of all apps. It is safe for concurrent use.
type Caller struct {
	options  Options
	pooled   singleSendTransport // reuses connections
	unpooled *http.Transport     // uses one connection per request
	tokens   *tokenCache
	hosts    *hostLimiter
	mcp      *mcpClient
}

var _ effect.Deliverer = (*Caller)(nil)

// New returns a Caller. It panics without Apps.
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

	c := &Caller{options: o, pooled: newSingleSendTransport(guard.Transport(o.Policy, o.Resolver)), unpooled: guard.Transport(o.Policy, o.Resolver)}
	// A call that is not idempotent gets a connection of its own: if one that was idle breaks, the outcome is not
	// known, and the call would fail for good.
	c.unpooled.DisableKeepAlives = true
	hosts, _ := lru.New[string, *hostState](maxHosts) // fails only for a size below 1
	c.hosts = &hostLimiter{options: o, hosts: hosts}
	cached, _ := lru.New[string, accessToken](max(1, o.Tokens))
	c.tokens = &tokenCache{cached: cached, client: clientOf(c.pooled), limit: o.TokenTimeout, now: o.Now, log: o.Logger}
	revisions, _ := lru.New[string, string](maxRevisions)
	c.mcp = &mcpClient{
		sdk: mcp.NewClient(&mcp.Implementation{Name: "earshot", Version: version.Current().Version}, &mcp.ClientOptions{
			Capabilities:   &mcp.ClientCapabilities{}, // none: requests of servers are not answered
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
			Logger:         slog.New(slog.DiscardHandler), // its lines contain answers of servers
		}),
		http: clientOf(mcpTransport{}), idle: map[string][]*mcpSession{}, revisions: revisions,
	}
	return c
}

// CloseIdleConnections closes unused connections and sessions.
func (c *Caller) CloseIdleConnections() {
	c.mcp.closeIdle()
	c.pooled.CloseIdleConnections()
}

// Deliver makes one attempt of a call. It repeats the request only after a 401, with a new token, and never for
// a call that is not idempotent. It ends with ctx or the call's time limit.
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
		send = c.callMCP // its requests obtain tokens themselves
	} else if call.auth.ready, err = call.auth.authorization(attempt); err == nil {
		failpoint.At(failpoint.TokenFetched)
	}
	if err != nil {
		outcome = effect.OutcomeOf(err)
	} else {
		outcome = c.withSlot(attempt, call, send)
	}
	outcome.Error, outcome.Host = call.redactor.redact(outcome.Error), strings.ToLower(call.target.Host)
	if call.hideErrorBody && outcome.Verdict != effect.Done {
		outcome.Result, outcome.Truncated = nil, false
	}
	return outcome
}

// withSlot waits for a slot of the host, then sends the call.
func (c *Caller) withSlot(ctx context.Context, call *preparedCall, send func(context.Context, *preparedCall) (effect.Outcome, hostHealth)) effect.Outcome {
	release, err := c.hosts.acquire(ctx, call.app.ID, call.target)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	outcome, health := send(ctx, call)
	outcome.Sent = call.sentSummary(outcome)
	release(health)
	failpoint.At(failpoint.ResponseRead)
	return outcome
}
