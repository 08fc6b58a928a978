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

// route is one operation of the API: its method and path, its handler, and what is
// checked before the handler runs.
type route struct {
	method string
	path   string // as echo writes it: /v1/apps/:appId
	handle echo.HandlerFunc
	// query names the parameters that it takes. On all but open routes any other is refused: one that is
	// not understood, as dryRun may be, must not be overlooked.
	query   []string
	open    bool              // it needs no key, and shows nothing of any app
	reads   bool              // the handler reads the body, which is drained otherwise
	tagged  bool              // what it reads or writes has an entity tag
	most    int64             // the longest body that is read, in bytes; 0 is maxBody
	kind    admission.Kind    // the share of the replica that its requests take
	counts  ratelimit.Counts  // the limits that its requests count to
	surface ratelimit.Surface // its protocol; REST by default
	act     audit.Action      // what it does that is written down; empty: nothing
	makes   string            // the name of the id that it makes, see madeID
	bounds  string            // what else holds there, in words
	// nats names the requests over NATS that ask for the same: what a key of an app may do with its tools, sessions,
	// messages and triggers. Empty: over HTTP alone.
	nats string
	// before is the name that those requests had first, by which they are still asked.
	before string
}

// needs is what the route asks of the walls.
func (r route) needs(may auth.Access) ratelimit.Needs {
	n := ratelimit.Needs{Surface: cmp.Or(r.surface, ratelimit.REST), Operation: r.method + " " + r.path, Open: r.open, May: may, Share: r.kind, Counts: r.counts, Bounds: r.bounds}
	if r.reads && r.method != http.MethodGet { // one for a WebSocket has none
		n.Body = cmp.Or(r.most, maxBody)
	}
	return n
}

// routeGroup is the routes of one subject.
type routeGroup interface{ routes() []route }

// requestSubjects begins the subjects of all requests over NATS.
const requestSubjects = "earshot.v1."

// subject is that of the route's requests over NATS, with written in place of each id of its path; empty for none.
func (r route) subject(written func(id string) string) string {
	return r.subjectAs(r.nats, written)
}

// subjectAs is the subject of the route's requests by a name.
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

// Request is an operation that is asked for over NATS as well, and the route of REST that carries it out.
type Request struct {
	Name    string // unlike that of any other
	Subject string // with a * for each id of the path, in their order
	Path    string // as echo writes it
	ratelimit.Needs
}

// Target is the method and the path of REST, in which id stands for each id, by its name.
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

// carried are the headers that REST gets of a request that came otherwise than over HTTP, beside ID tokens.
var carried = []string{"traceparent", "tracestate", "Prefer", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", server.RequestIDHeader}

// Carries reports whether a header of a request that came otherwise than over HTTP means what it means to REST.
func Carries(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), repositories.TokenHeaderEnd) ||
		slices.ContainsFunc(carried, func(known string) bool { return strings.EqualFold(name, known) })
}

// Replied are the headers of an answer of REST that go along with it.
var Replied = []string{"ETag", "Retry-After", "Preference-Applied", server.RequestIDHeader}

// Requests lists the operations that are asked for over NATS as well.
var Requests = sync.OnceValue(func() (all []Request) {
	may, named := accessTable(), map[string]bool{}
	for _, r := range (Options{}).withDefaults().described() {
		if r.nats == "" {
			continue
		}
		name := r.nats
		if named[name] { // the same of a session
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

// described lists the routes that the documents describe.
func (o Options) described() (all []route) {
	described, by, people := newBodies(), o.authenticator(), users{o.Store, o.Identities}
	following := events{o.Store, o.Events, by, admission.NewStreamLimit(o.Streams), o.Closing}
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

// routes lists everything that is served. It panics where a description that is embedded in the program
// cannot be read.
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
	for i, r := range all {
		may := may[r.method+" "+r.path]
		shown[i] = docs.Route{
			Method: r.method, Path: r.path, Query: r.query, Open: r.open, Reads: r.reads, Scopes: may.Scopes, FrontEnd: may.FrontEnd, Anyone: may.Anyone, Tagged: r.tagged,
			Subject: r.subject(func(id string) string { return "{" + id + "}" }),
		}
	}
	if err := d.Build(shown, bodiesSchema, repositories.DefinitionSchema()); err != nil {
		panic("the description of the API is damaged: " + err.Error())
	}
	return all
}

// register adds the route to the router, a GET as HEAD as well: net/http leaves the
// body of that away.
func (r route) register(router *echo.Echo, may auth.Access, walls *ratelimit.Walls, done acts) {
	methods := []string{r.method}
	if r.method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	var before []echo.MiddlewareFunc
	if !r.open {
		before = append(before, checkedIDs, auth.Authorized(may), knownQuery(r.query))
	}
	if !r.reads {
		before = append(before, drained)
	}
	before = append(before, walls.Around(r.needs(may)))
	if r.act != "" {
		before = append(before, done.written(r))
	}
	router.Match(methods, r.path, chained(before...)(r.handle))
}

// chained makes one middleware of some, the first outermost. Echo would do it again for each request.
func chained(all ...echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(handle echo.HandlerFunc) echo.HandlerFunc {
		for _, wrap := range slices.Backward(all) {
			handle = wrap(handle)
		}
		return handle
	}
}
