package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/docs"
	"earshot/api/gateway"
	"earshot/api/manual"
	"earshot/api/mcp"
	"earshot/api/mqtt"
	"earshot/api/ratelimit"
	"earshot/api/server"
	"earshot/api/signin"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/outages"
	"earshot/repositories/parameters"
	"earshot/repositories/secret"
	"earshot/repositories/tracing"
)

// route is one operation of the API: method, path, handler and the checks before the handler.
type route struct {
	method  string
	path    string // echo's syntax: /v1/apps/:appId
	access  auth.Access
	handler echo.HandlerFunc
	// query lists the accepted parameters. Except on open routes, any other is refused: a misspelt dryRun
	// must not be ignored.
	query       []string
	open        bool              // needs no key, and shows no app's data
	readsBody   bool              // the handler reads the body; otherwise only open routes and other protocols accept one
	tagged      bool              // the object has an entity tag
	bodyLimit   int64             // the longest body, in bytes; 0 means maxBody
	share       admission.Kind    // the admission share of its requests
	counts      ratelimit.Counts  // the rate limits of its requests
	surface     ratelimit.Surface // its protocol; default REST
	auditAction audit.Action      // recorded in the audit log; empty: nothing
	createsID   string            // the name of the new object's id, see createdID
	bounds      string            // further bounds, in words
	// natsName names the equivalent request over NATS: tools, sessions, messages and triggers, with an app's
	// key. Empty: HTTP only.
	natsName string
	// oldNATSName is an earlier name of that request, which is still served.
	oldNATSName string
}

// may returns who may call the route. Read-only keys may do what leaves the app unchanged: reads, and searches. MCP uses
// POST for everything; such keys list tools and triggers by GET.
func (r route) may() auth.Access {
	if r.method == http.MethodGet || strings.HasSuffix(r.path, "/tools/search") {
		return r.access.ReadOnly()
	}
	return r.access
}

// limits returns what the route requires of ratelimit.Walls.
func (r route) limits() ratelimit.Needs {
	n := ratelimit.Needs{Surface: cmp.Or(r.surface, ratelimit.REST), Operation: r.method + " " + r.path, Open: r.open, May: r.may(), Share: r.share, Counts: r.counts, Bounds: r.bounds}
	if r.readsBody && r.method != http.MethodGet { // a WebSocket handshake has no body
		n.Body = cmp.Or(r.bodyLimit, maxBody)
	}
	return n
}

// routeGroup holds the routes of one topic.
type routeGroup interface{ routes() []route }

// requestSubjects is the prefix of all request subjects over NATS.
const requestSubjects = "earshot.v1."

// subject returns the route's subject with each path id as format writes it; empty without a natsName.
func (r route) subject(format func(id string) string) string {
	return r.subjectAs(r.natsName, format)
}

func (r route) subjectAs(name string, format func(id string) string) string {
	if name == "" {
		return ""
	}
	subject := requestSubjects + name
	for part := range strings.SplitSeq(r.path, "/") {
		if id, isParam := strings.CutPrefix(part, ":"); isParam {
			subject += "." + format(id)
		}
	}
	return subject
}

// Request is an operation served over NATS as well as by its REST route.
type Request struct {
	Name    string // unique
	Subject string // with a * for each path id, in order
	Path    string // echo's syntax
	ratelimit.Needs
}

// Target returns the REST method and path; id returns each id by its name.
func (r Request) Target(id func(name string) string) (method, path string) {
	method, _, _ = strings.Cut(r.Operation, " ")
	parts := strings.Split(r.Path, "/")
	for i, part := range parts {
		if name, isParam := strings.CutPrefix(part, ":"); isParam {
			parts[i] = url.PathEscape(id(name))
		}
	}
	return method, strings.Join(parts, "/")
}

// forwardedHeaders lists the headers that requests of other transports pass to REST, besides ID tokens.
var forwardedHeaders = []string{"traceparent", "tracestate", "Prefer", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", server.RequestIDHeader}

// ForwardsHeader reports whether a request of another transport passes this header to REST.
func ForwardsHeader(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), repositories.TokenHeaderEnd) ||
		slices.ContainsFunc(forwardedHeaders, func(header string) bool { return strings.EqualFold(name, header) })
}

// ReplyHeaders lists the headers of a REST answer that other transports return.
var ReplyHeaders = []string{"ETag", "Retry-After", "Preference-Applied", server.RequestIDHeader}

// Requests lists the operations that are served over NATS as well.
var Requests = sync.OnceValue(func() (all []Request) {
	named := map[string]bool{}
	for _, r := range (Options{}).withDefaults().describedRoutes() {
		if r.natsName == "" {
			continue
		}
		name := r.natsName
		if named[name] { // the session's variant
			name = "session-" + name
		}
		named[name] = true
		star := func(string) string { return "*" }
		all = append(all, Request{name, r.subject(star), r.path, r.limits()})
		if r.oldNATSName != "" {
			all = append(all, Request{r.oldNATSName, r.subjectAs(r.oldNATSName, star), r.path, r.limits()})
		}
	}
	return all
})

func (o Options) describedRoutes() (all []route) {
	definitions, authenticator, people := newBodies(), o.authenticator(), users{o.Store, o.Identities}
	eventStreams := events{o.Store, o.Engine, o.Events, authenticator, o.streams, o.Closing}
	notes := writeNotes{o.Store, o.Engine, o.Prepare}
	for _, group := range []routeGroup{
		apps{o.Store, o.Models, notes},
		toolRepositories{o.Store, notes, o.Offer, o.NewID},
		versions{o.Store, notes},
		tests{o.Store},
		rehearsals{o.Rehearser, o.Store, o.Models, o.Engine, definitions},
		scopedTools{o.Engine, definitions},
		messages{o.Engine, people, definitions, o.NewID},
		triggers{o.Engine, people, definitions},
		eventStreams,
		sockets{eventStreams, definitions, o.Walls.Memory, o.rest, o.Logger},
		credentials{o.Keys, o.Tokens, definitions, o.NATSURL, o.Now},
		acts{o.Audit, o.NewID},
		usages{o.Usage, o.Now},
		sessions{o.Store, o.Engine, o.Memory, o.PendingCalls, definitions},
		hooks{o.Webhooks, definitions},
		&sources{store: o.Store, reach: o.Reach, now: o.Now, results: map[string]reachability{}},
		ingress{o, authenticator, people},
		probes{o.Ready, outages.New(o.Logger), o.Metrics},
	} {
		all = append(all, group.routes()...)
	}
	return all
}

// routes lists all routes. It panics if an embedded description is malformed.
func (o Options) routes() []route {
	all := o.describedRoutes()
	d, pages := &docs.Documents{}, manual.New(o.Manual)
	all = append(all,
		route{method: http.MethodGet, path: "/openapi.json", handler: d.ServeOpenAPI, open: true},
		route{method: http.MethodGet, path: "/asyncapi.json", handler: d.ServeAsyncAPI, open: true},
		route{method: http.MethodGet, path: "/docs", handler: pages.ServeContents, open: true},
		route{method: http.MethodGet, path: "/docs/*", handler: pages.Serve, open: true},
		route{method: http.MethodGet, path: "/docs/reference/api", handler: d.ServePage, open: true},
		route{method: http.MethodGet, path: "/docs/reference/api/:file", handler: d.ServeFile, open: true},
		route{method: http.MethodGet, path: "/llms.txt", handler: pages.ServeLLMs, open: true},
		route{method: http.MethodGet, path: "/llms-full.txt", handler: pages.ServeLLMsFull, open: true},
		route{method: http.MethodGet, path: "/", handler: docs.Lead, open: true},
	)
	documented := make([]docs.Route, len(all))
	braced := func(id string) string { return "{" + id + "}" }
	for i, r := range all {
		may := r.may()
		documented[i] = docs.Route{
			Method: r.method, Path: r.path, Query: r.query, Open: r.open, Reads: r.readsBody, Scopes: may.Scopes, FrontEnd: may.FrontEnd, Anyone: may.Anyone, Tagged: r.tagged,
			Subject: r.subject(braced), Earlier: r.subjectAs(r.oldNATSName, braced),
		}
	}
	if err := d.Build(documented, bodiesSchema, repositories.DefinitionSchema()); err != nil {
		panic("the description of the API is damaged: " + err.Error())
	}
	return all
}

// register adds the route to the router, and HEAD with each GET: net/http omits the body.
func (r route) register(router *echo.Echo, walls *ratelimit.Walls, log acts) {
	methods := []string{r.method}
	if r.method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	var before []echo.MiddlewareFunc
	if !r.open {
		before = append(before, checkIDs, auth.Authorized(r.may()), checkQuery(r.query))
	}
	switch {
	case r.readsBody:
	case r.open || r.surface != "": // probes, pages and other protocols
		before = append(before, drainBody)
	default:
		before = append(before, refuseBody(r.query))
	}
	before = append(before, walls.Around(r.limits()))
	if r.auditAction != "" {
		before = append(before, log.auditing(r))
	}
	router.Match(methods, r.path, chain(before...)(r.handler))
}

// chain combines middleware, the first outermost, once instead of on each request as echo would.
func chain(middleware ...echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(handle echo.HandlerFunc) echo.HandlerFunc {
		for _, wrap := range slices.Backward(middleware) {
			handle = wrap(handle)
		}
		return handle
	}
}

func (o Options) authenticator() auth.Authenticator {
	a := auth.Authenticator{Admin: o.AdminKey, Keys: o.Keys, Tokens: o.Tokens, Now: o.Now, QueryPaths: []string{pathSessionEvents, pathSocket}, SignIns: o.SignIns}
	if o.Identities != nil {
		a.Issued = &auth.Issued{App: o.Store.App, Session: o.Store.Session, Verify: o.Identities.Verify}
	}
	return a
}

// ingress serves the protocols besides REST: MCP, chat completions and MQTT.
type ingress struct {
	Options
	by    auth.Authenticator
	users users
}

func (o ingress) routes() (all []route) {
	agents := mcp.New(mcp.Options{
		Engine: o.Engine, PendingCalls: o.PendingCalls, Events: o.Events, EnterStream: o.streams.Enter, Watch: o.by.WatchIn, Closing: o.Closing,
		Users: func(c echo.Context) (mcp.User, error) {
			caller, err := o.users.verify(c)
			return mcp.User{Claims: caller.claims, Explain: caller.explain}, err
		},
		Admission: o.Walls.Gates.Admitted(admission.Turn),
		WithAudit: acts{o.Audit, o.NewID}.auditMCP, Tracer: o.Tracer, TaskAfter: o.TaskAfter, Retention: o.Retention, NewID: o.NewID,
	})
	for _, owner := range []struct {
		path   string
		access auth.Access
	}{{pathApp, triggerKeys}, {pathSession, triggerCallers}} {
		for _, path := range []string{owner.path + "/mcp", owner.path + "/mcp/:repositoryId"} {
			// A subscription stays open, so the MCP server admits other calls by itself.
			all = append(all, route{method: http.MethodPost, path: path, access: owner.access, handler: agents.Serve, readsBody: true, query: []string{"tools"}, share: admission.Stream, surface: ratelimit.MCP, counts: ratelimit.Triggers})
		}
	}

	all = append(all, route{method: http.MethodGet, path: auth.MetadataPath + "/*", open: true, handler: o.metadata})

	chats := gateway.New(gateway.Options{
		Engine: o.Engine, Settings: o.Store, Generations: o.Keys, Model: o.Model,
		Users: func(ctx context.Context, appID string, header http.Header) (parameters.Claims, map[string]string, error) {
			verified, err := o.users.verifyHeaders(ctx, appID, header)
			return verified.claims, verified.faults, err
		},
		Trace: tracing.Of, Now: o.Now, Logger: o.Logger, Metrics: o.Metrics,
	})
	for _, owner := range []string{pathApp, pathSession} {
		post := route{method: http.MethodPost, access: chatCallers, readsBody: true, bodyLimit: gateway.MaxBody, share: admission.Relay, surface: ratelimit.Chats, counts: ratelimit.Models}
		get := route{method: http.MethodGet, access: chatCallers, surface: ratelimit.Chats, counts: ratelimit.Models}
		for _, endpoint := range []struct {
			path    string
			route   route
			handler echo.HandlerFunc
		}{
			{pathCompletions, post, chats.Completions}, {pathResponses, post, chats.Responses}, {pathModels, get, chats.Models}, {pathModel, get, chats.Models},
		} {
			endpoint.route.path, endpoint.route.handler = owner+endpoint.path, endpoint.handler
			all = append(all, endpoint.route)
		}
	}

	broker := mqtt.New(mqtt.Options{
		Principal: func(ctx context.Context, token secret.Secret) (auth.Principal, error) {
			return o.by.SignIn(ctx, signin.ClientIn(ctx), token)
		},
		Engine: o.Engine, Events: o.Events, Origins: o.Origins, StillValid: o.by.StillValid,
		Lineages: o.Lineages, Enter: o.streams.Enter, Filters: o.Filters, Closing: o.Closing, Now: o.Now, Logger: o.Logger,
	})
	handle := broker.Serve
	if !o.SERMAS {
		handle = func(c echo.Context) error {
			return answer.NewProblem(answer.UnknownPath, c.Path()+" is for clients of SERMAS, which this service does not serve: start the service with EARSHOT_SERMAS=on")
		}
	}
	return append(all, route{method: http.MethodGet, path: "/mqtt", handler: handle, open: true, readsBody: true})
}

// trimSlash removes the final slash that some clients add to MCP URLs.
func trimSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		at := c.Request().URL
		trimmed, hasSlash := strings.CutSuffix(at.Path, "/")
		if !hasSlash {
			return next(c)
		}
		rest, inApp := strings.CutPrefix(trimmed, "/v1/apps/")
		parts := strings.Split(rest, "/")[min(1, strings.Count(rest, "/")):]
		if len(parts) > 2 && parts[0] == "sessions" {
			parts = parts[2:]
		}
		if inApp && len(parts) <= 2 && parts[0] == "mcp" {
			at.Path, at.RawPath = trimmed, ""
		}
		return next(c)
	}
}

// metadata serves which issuers' access tokens are valid at an MCP URL.
func (o ingress) metadata(c echo.Context) error {
	path := strings.TrimSuffix(strings.TrimPrefix(c.Request().URL.Path, auth.MetadataPath), "/")
	found, err := o.by.Issued.Metadata(c.Request().Context(), c.Request().Host, path)
	if err != nil {
		return err
	}
	if found == nil {
		return answer.NewProblem(answer.UnknownPath, "this path has no metadata of a protected resource")
	}
	return answer.JSON(c, http.StatusOK, found)
}
