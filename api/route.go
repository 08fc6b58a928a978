package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
)

// route is one operation: what it answers to and what is checked before its handler
// runs.
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
	// kind says by which bound its requests are admitted; open ones are by none.
	kind work
}

// routes lists everything that is served.
func (o Options) routes() []route {
	bodies := newBodies()
	by := o.authenticator()
	people := users{o.Store, o.Identities}
	var all []route
	all = append(all, apps{o.Store, o.Store}.routes()...)
	all = append(all, toolRepositories{o.Store, o.Store, o.Store, o.NewID}.routes()...)
	all = append(all, messages{o.Engine, people, bodies, o.NewID}.routes()...)
	all = append(all, triggers{o.Engine, people, bodies}.routes()...)
	all = append(all, events{o.Store, o.Events, by, newStreamLimit(o.Streams), o.Closing}.routes()...)
	all = append(all, appKeys{o.Keys, bodies}.routes()...)
	all = append(all, sessionTokens{o.Keys, o.Tokens, bodies, o.Now}.routes()...)
	all = append(all, sessions{o.Store}.routes()...)
	all = append(all, probes{o.Ready, o.Logger}.routes()...)
	all = append(all, metricsRoute(o.Metrics))
	return withDocumentation(all)
}

// register adds the route to the router, a GET as HEAD as well: net/http leaves the
// body of that away.
func (r route) register(router *echo.Echo, may access, gates admissions) {
	methods := []string{r.method}
	if r.method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	var before []echo.MiddlewareFunc
	if !r.open {
		before = append(before, checkedIDs, authorized(may), knownQuery(r.query))
	}
	if !r.reads {
		before = append(before, drained)
	}
	if !r.open && r.kind != aStream {
		before = append(before, gates.admitted(r.kind))
	}
	router.Match(methods, r.path, r.handle, before...)
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

// routed puts the router's own errors into words: no such path, or no such method on
// it, in which case the router has set Allow already (RFC 9110, section 15.5.6).
func routed(err error, c echo.Context) error {
	var routing *echo.HTTPError
	if !errors.As(err, &routing) {
		return err
	}
	switch routing.Code {
	case http.StatusNotFound:
		return newProblem(routing.Code, "there is nothing at this path; /docs lists what there is")
	case http.StatusMethodNotAllowed:
		return newProblem(routing.Code, quoteShort(c.Request().Method)+" is not allowed here, but "+c.Response().Header().Get(echo.HeaderAllow))
	default:
		return newProblem(routing.Code, http.StatusText(routing.Code))
	}
}
