package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/auth"
	"earshot/api/docs"
	"earshot/api/manual"
	"earshot/api/ratelimit"
	"earshot/api/server"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/outages"
)

// route is one operation of the API: method, path, handler and the checks before the handler.
type route struct {
	method string
	path   string // echo's syntax: /v1/apps/:appId
	handle echo.HandlerFunc
	// query lists the accepted parameters. Except on open routes, any other is refused: a misspelt dryRun
	// must not be ignored.
	query   []string
	open    bool              // needs no key, and shows no app's data
	reads   bool              // the handler reads the body; otherwise only open routes and other protocols accept one
	tagged  bool              // the object has an entity tag
	most    int64             // the longest body, in bytes; 0 means maxBody
	kind    admission.Kind    // the admission share of its requests
	counts  ratelimit.Counts  // the rate limits of its requests
	surface ratelimit.Surface // its protocol; default REST
	act     audit.Action      // recorded in the audit log; empty: nothing
	makes   string            // the name of the new object's id, see madeID
	bounds  string            // further bounds, in words
	// nats names the equivalent request over NATS: tools, sessions, messages and triggers, with an app's
	// key. Empty: HTTP only.
	nats string
	// before is an earlier name of that request, which is still served.
	before string
}

// needs returns what the route requires of ratelimit.Walls.
func (r route) needs(may auth.Access) ratelimit.Needs {
	n := ratelimit.Needs{Surface: cmp.Or(r.surface, ratelimit.REST), Operation: r.method + " " + r.path, Open: r.open, May: may, Share: r.kind, Counts: r.counts, Bounds: r.bounds}
	if r.reads && r.method != http.MethodGet { // a WebSocket handshake has no body
		n.Body = cmp.Or(r.most, maxBody)
	}
	return n
}

// routeGroup holds the routes of one topic.
type routeGroup interface{ routes() []route }

// requestSubjects is the prefix of all request subjects over NATS.
const requestSubjects = "earshot.v1."

// subject returns the route's subject with written in place of each path id; empty without nats.
func (r route) subject(written func(id string) string) string {
	return r.subjectAs(r.nats, written)
}

func (r route) subjectAs(name string, written func(id string) string) string {
	if name == "" {
		return ""
	}
	subject := requestSubjects + name
	for part := range strings.SplitSeq(r.path, "/") {
		if id, is := strings.CutPrefix(part, ":"); is {
			subject += "." + written(id)
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
		if name, is := strings.CutPrefix(part, ":"); is {
			parts[i] = url.PathEscape(id(name))
		}
	}
	return method, strings.Join(parts, "/")
}

// carried lists the headers that requests of other transports pass to REST, besides ID tokens.
var carried = []string{"traceparent", "tracestate", "Prefer", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", server.RequestIDHeader}

// Carries reports whether a request of another transport passes this header to REST.
func Carries(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), repositories.TokenHeaderEnd) ||
		slices.ContainsFunc(carried, func(known string) bool { return strings.EqualFold(name, known) })
}

// Replied lists the headers of a REST answer that other transports return.
var Replied = []string{"ETag", "Retry-After", "Preference-Applied", server.RequestIDHeader}

// Requests lists the operations that are served over NATS as well.
var Requests = sync.OnceValue(func() (all []Request) {
	may, named := accessTable(), map[string]bool{}
	for _, r := range (Options{}).withDefaults().described() {
		if r.nats == "" {
			continue
		}
		name := r.nats
		if named[name] { // the session's variant
			name = "session-" + name
		}
		named[name] = true
		star := func(string) string { return "*" }
		all = append(all, Request{name, r.subject(star), r.path, r.needs(may[r.method+" "+r.path])})
		if r.before != "" {
			all = append(all, Request{r.before, r.subjectAs(r.before, star), r.path, r.needs(may[r.method+" "+r.path])})
		}
	}
	return all
})

// described lists the routes of the OpenAPI document.
func (o Options) described() (all []route) {
	described, by, people := newBodies(), o.authenticator(), users{o.Store, o.Identities}
	following := events{o.Store, o.Engine, o.Events, by, o.streams, o.Closing}
	noted := notes{o.Store, o.Store, o.Engine, o.Prepare}
	for _, one := range []routeGroup{
		apps{o.Store, o.Store, o.Models, noted},
		toolRepositories{o.Store, o.Store, o.Store, noted, o.Offer, o.NewID},
		versions{o.Store, o.Store, noted},
		tests{o.Store},
		rehearsals{o.Rehearser, o.Store, o.Models, o.Engine, described},
		scopedTools{o.Engine, described},
		messages{o.Engine, people, described, o.NewID},
		triggers{o.Engine, people, described},
		following,
		sockets{following, described, o.Walls.Memory, o.rest, o.Logger},
		credentials{o.Keys, o.Tokens, described, o.NATSURL, o.Now},
		acts{o.Audit, o.NewID},
		usages{o.Usage, o.Now},
		sessions{o.Store, o.Store, o.Engine, o.Memory, o.Asked, described},
		hooks{o.Webhooks, described},
		&sources{store: o.Store, reach: o.Reach, now: o.Now, looked: map[string]look{}},
		ingress{o, by, people},
		probes{o.Ready, outages.New(o.Logger), o.Metrics},
	} {
		all = append(all, one.routes()...)
	}
	return all
}

// routes lists all routes. It panics if an embedded description is malformed.
func (o Options) routes() []route {
	all := o.described()
	d, pages := &docs.Documents{}, manual.New(o.Manual)
	all = append(all,
		route{method: http.MethodGet, path: "/openapi.json", handle: d.ServeOpenAPI, open: true},
		route{method: http.MethodGet, path: "/asyncapi.json", handle: d.ServeAsyncAPI, open: true},
		route{method: http.MethodGet, path: "/docs", handle: pages.ServeContents, open: true},
		route{method: http.MethodGet, path: "/docs/*", handle: pages.Serve, open: true},
		route{method: http.MethodGet, path: "/docs/reference/api", handle: d.ServePage, open: true},
		route{method: http.MethodGet, path: "/docs/reference/api/:file", handle: d.ServeFile, open: true},
		route{method: http.MethodGet, path: "/llms.txt", handle: pages.ServeLLMs, open: true},
		route{method: http.MethodGet, path: "/llms-full.txt", handle: pages.ServeLLMsFull, open: true},
		route{method: http.MethodGet, path: "/", handle: docs.Lead, open: true},
	)
	may, shown := accessTable(), make([]docs.Route, len(all))
	braced := func(id string) string { return "{" + id + "}" }
	for i, r := range all {
		may := may[r.method+" "+r.path]
		shown[i] = docs.Route{
			Method: r.method, Path: r.path, Query: r.query, Open: r.open, Reads: r.reads, Scopes: may.Scopes, FrontEnd: may.FrontEnd, Anyone: may.Anyone, Tagged: r.tagged,
			Subject: r.subject(braced), Earlier: r.subjectAs(r.before, braced),
		}
	}
	if err := d.Build(shown, bodiesSchema, repositories.DefinitionSchema()); err != nil {
		panic("the description of the API is damaged: " + err.Error())
	}
	return all
}

// register adds the route to the router, and HEAD with each GET: net/http omits the body.
func (r route) register(router *echo.Echo, may auth.Access, walls *ratelimit.Walls, log acts) {
	methods := []string{r.method}
	if r.method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	var before []echo.MiddlewareFunc
	if !r.open {
		before = append(before, checkedIDs, auth.Authorized(may), knownQuery(r.query))
	}
	switch {
	case r.reads:
	case r.open || r.surface != "": // probes, pages and other protocols
		before = append(before, drained)
	default:
		before = append(before, bodiless(r.query))
	}
	before = append(before, walls.Around(r.needs(may)))
	if r.act != "" {
		before = append(before, log.recorded(r))
	}
	router.Match(methods, r.path, chained(before...)(r.handle))
}

// chained combines middleware, the first outermost, once instead of on each request as echo would.
func chained(all ...echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(handle echo.HandlerFunc) echo.HandlerFunc {
		for _, wrap := range slices.Backward(all) {
			handle = wrap(handle)
		}
		return handle
	}
}
