package api

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/auth"
	"earshot/api/docs"
	"earshot/api/ratelimit"
	"earshot/repositories"
	"earshot/repositories/outages"
)

// route is one operation of the API: its method and path, its handler, and what is
// checked before the handler runs.
type route struct {
	method string
	path   string // as echo writes it: /v1/apps/:appId
	handle echo.HandlerFunc
	// query names the parameters that it takes. On all but open routes any other is
	// refused: one that is not understood, as dryRun may be, must not be overlooked.
	query []string
	// open routes need no key. They show nothing of any app.
	open bool
	// reads says that the handler reads the body. That of all others is drained.
	reads bool
	// tagged says that what it reads or writes has an entity tag, of which a request may make
	// a condition.
	tagged bool
	// most is the longest body that is read, in bytes; 0 is maxBody.
	most int64
	// kind says whose share of the replica its requests take; open ones take none.
	kind admission.Kind
	// counts are the limits that its requests count to.
	counts ratelimit.Counts
	// surface is the protocol that it belongs to; REST where it says none.
	surface ratelimit.Surface
}

// needs is what the route asks of the walls.
func (r route) needs(may auth.Access) ratelimit.Needs {
	n := ratelimit.Needs{Surface: cmp.Or(r.surface, ratelimit.REST), Operation: r.method + " " + r.path, Open: r.open, May: may, Share: r.kind, Counts: r.counts}
	if r.reads && r.method != http.MethodGet { // one for a WebSocket has none
		n.Body = cmp.Or(r.most, maxBody)
	}
	return n
}

// routes lists everything that is served.
func (o Options) routes(walls *ratelimit.Walls) []route {
	bodies := newBodies()
	by := o.authenticator()
	people := users{o.Store, o.Identities}
	var all []route
	all = append(all, apps{o.Store, o.Store, o.Models, o.notes()}.routes()...)
	all = append(all, toolRepositories{o.Store, o.Store, o.Store, o.notes(), o.Offer, o.NewID}.routes()...)
	all = append(all, scopedTools{o.Engine, bodies}.routes()...)
	all = append(all, messages{o.Engine, people, bodies, o.NewID}.routes()...)
	all = append(all, triggers{o.Engine, people, bodies}.routes()...)
	all = append(all, events{o.Store, o.Events, by, admission.NewStreamLimit(o.Streams), o.Closing}.routes()...)
	all = append(all, appKeys{o.Keys, bodies}.routes()...)
	all = append(all, whoami{o.NATSURL}.routes()...)
	all = append(all, sessionTokens{o.Keys, o.Tokens, bodies, o.Now}.routes()...)
	all = append(all, sessions{o.Store, o.Engine, bodies}.routes()...)
	all = append(all, closing{o.Store, o.Store, o.Engine, o.Memory}.routes()...)
	all = append(all, o.sources().routes()...)
	all = append(all, o.chats(people)...)
	all = append(all, o.agents(people, walls.Gates)...)
	all = append(all, o.brokers(by)...)
	all = append(all, probes{o.Ready, outages.New(o.Logger)}.routes()...)
	all = append(all, metricsRoute(o.Metrics))
	return withDocumentation(all)
}

// Doors lists the ways in over HTTP that are no page and no path of SERMAS.
func Doors() (all []ratelimit.Needs) {
	may := accessTable()
	o := Options{SERMAS: true}.withDefaults()
	for _, r := range o.routes(o.Walls) {
		all = append(all, r.needs(may[r.method+" "+r.path]))
	}
	return all
}

// longBodies are the routes whose bodies may be longer than maxBody, with how long.
func longBodies(table []route) map[string]int64 {
	most := map[string]int64{}
	for _, endpoint := range table {
		if endpoint.most > 0 {
			most[endpoint.path] = endpoint.most
		}
	}
	return most
}

// withDocumentation adds the routes that describe the table and, in it, themselves.
// It panics where what is embedded in the program cannot be read.
func withDocumentation(table []route) []route {
	d := &docs.Documents{}
	table = append(table,
		route{method: http.MethodGet, path: "/openapi.json", handle: d.ServeOpenAPI, open: true},
		route{method: http.MethodGet, path: "/asyncapi.json", handle: d.ServeAsyncAPI, open: true},
		route{method: http.MethodGet, path: "/docs", handle: d.ServePage, open: true},
		route{method: http.MethodGet, path: "/docs/:file", handle: d.ServeFile, open: true},
		route{method: http.MethodGet, path: "/", handle: docs.Lead, open: true},
	)
	may := accessTable()
	described := make([]docs.Route, len(table))
	for i, r := range table {
		described[i] = r.described(may[r.method+" "+r.path])
	}
	if err := d.Build(described, bodiesSchema, repositories.DefinitionSchema()); err != nil {
		panic("the description of the API is damaged: " + err.Error())
	}
	return table
}

// described is the route as the descriptions need it.
func (r route) described(may auth.Access) docs.Route {
	found := docs.Route{Method: r.method, Path: r.path, Query: r.query, Open: r.open, Reads: r.reads, FrontEnd: may.FrontEnd, Anyone: may.Anyone, Tagged: r.tagged}
	for _, scope := range may.Scopes {
		found.Scopes = append(found.Scopes, string(scope))
	}
	return found
}

// register adds the route to the router, a GET as HEAD as well: net/http leaves the
// body of that away.
func (r route) register(router *echo.Echo, may auth.Access, walls *ratelimit.Walls) {
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
	router.Match(methods, r.path, chained(before...)(r.handle))
}

// chained makes one middleware of some, the first outermost. Echo would put them together
// again for each request.
func chained(all ...echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(handle echo.HandlerFunc) echo.HandlerFunc {
		for _, wrap := range slices.Backward(all) {
			handle = wrap(handle)
		}
		return handle
	}
}

// aroundAll is one middleware of some for all requests, whatever the router finds for them.
func aroundAll(all ...echo.MiddlewareFunc) echo.MiddlewareFunc {
	handle := chained(all...)(func(c echo.Context) error { return c.Handler()(c) })
	return func(echo.HandlerFunc) echo.HandlerFunc { return handle }
}

// openPaths are the paths that are served without a key.
func openPaths(table []route) map[string]bool {
	open := map[string]bool{}
	for _, endpoint := range table {
		if endpoint.open {
			open[endpoint.path] = true
		}
	}
	return open
}
