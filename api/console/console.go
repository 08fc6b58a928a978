// Package console is the console at /console: pages that show what a service does, and why.
//
// It is a client of the REST API in the same process. A page asks the handler of REST with the
// key of the person who is signed in, so rights, limits, checks and masks are those of REST, and
// there is no other way to the stores.
//
// A page is a line in the table of console.pages, a handler in the file of its topic, and
// a template of the name that the handler renders:
//
//   - The line is a pattern of http.ServeMux and the handler, func(*pageRequest) error.
//   - The handler asks REST by pageRequest.get and pageRequest.call, with paths from v1, which
//     escapes what stands in them. It returns errors as they are: what REST refuses becomes
//     a page that says so, and 401 leads to the sign-in. It ends with pageRequest.render.
//   - The template, templates/NAME.html, defines "main" and gets a frame, with what the
//     handler gave as .Body. Parts that several pages share are in templates/parts.html.
//
// Everything works without a script; static/console.js adds life by attributes. An element
// with an id and data-poll="5" is fetched anew every five seconds with its page and put in
// its place; a form with data-swap="#id #other" is sent in the background, and those parts
// of the answer replace their like; one with data-live is sent so while it is filled in. A
// figure with data-chart is drawn, a textarea with data-editor-kind becomes an editor.
// data-key="n" on a link is the letter that follows g, aria-keyshortcuts="r" in main the letter
// that clicks it, data-search marks what / goes to. Neither scripts nor styles stand in a page:
// its Content-Security-Policy runs none.
//
// A page looks like the others by its elements: static/console.css dresses section, table, ul.list,
// dl, details, article and forms, and a p.empty says what to do where there is nothing. Icons are in
// templates/icons.html, tabs in the table of nav.go. What others have written is bundled by
// bundle/build.js into static.
//
// TestEveryPageIsForEverybody looks at each page of its table in a browser, dark and light, in
// two widths: add yours there. With EARSHOT_PICTURES=DIR it leaves pictures of them.
package console

import (
	"net/http"
	"strings"
	"time"

	"earshot/api/ratelimit"
	"earshot/api/server"
	"earshot/repositories/secret"
)

// Options are what New needs. All must be given, but for Now.
type Options struct {
	// REST is the handler of the API, which the console is a client of.
	REST http.Handler
	// Walls bound what forms take.
	Walls *ratelimit.Walls
	// Sealer seals the keys of people who sign in.
	Sealer Sealer
	// Now is the clock of sign-ins. Missing: time.Now.
	Now func() time.Time
}

// Sealer makes a key unreadable to all but the service, until a time.
type Sealer interface {
	SealSignIn(key secret.Secret, until time.Time) string
	OpenSignIn(sealed string, now time.Time) (secret.Secret, error)
}

type console struct {
	rest   http.Handler
	walls  *ratelimit.Walls
	sealer Sealer
	now    func() time.Time
	views  views
}

// root is where the console is, and all that it serves is below.
const root = "/console"

const (
	// maxForm is the longest form that is read, in bytes: the body of a repository, escaped.
	maxForm = 4 << 20
	// maxSignIn is the longest of pages that strangers see.
	maxSignIn = 16 << 10
)

// policy lets a page use its own files and nothing else: no script or style that stands in
// the page, no other host, no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// New returns a handler that serves the console, and leaves all other requests to REST.
// It is safe for concurrent use.
// It refuses changes that a page of another host sent.
func New(options Options) http.Handler {
	c := &console{rest: options.REST, walls: options.Walls, sealer: options.Sealer, now: options.Now, views: parseViews()}
	if c.now == nil {
		c.now = time.Now
	}
	mux := http.NewServeMux()
	for pattern, page := range c.pages() {
		mux.HandleFunc(pattern, c.served(page))
	}
	mux.Handle("GET "+root+"/static/{file}", c.views.files)
	mux.HandleFunc("GET "+root+"/apps/{app}/events", c.follow)
	mux.HandleFunc("GET "+root+"/apps/{app}/sessions/{session}/events", c.follow)
	guarded := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != root && !strings.HasPrefix(r.URL.Path, root+"/") {
			c.rest.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin") // with none, the Origin of a form is null
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store") // but for files
		if r.ProtoMajor > 1 {
			w = server.PacedWriter(w, server.DefaultWriteTime)
		}

		// Forms are booked as they come: of strangers by their address.
		payer, most := ratelimit.Payer{App: "(console)"}, int64(maxForm)
		if c.signedIn(r).Empty() {
			payer = ratelimit.Stranger(r)
		}
		if opens[r.URL.Path] {
			most = maxSignIn
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		body := c.walls.Memory.Hold(r, payer, most)
		defer body.Free()
		guarded.ServeHTTP(w, r)
	})
}

// pages is the table of all pages, by patterns of http.ServeMux.
func (c *console) pages() map[string]func(*pageRequest) error {
	const app = root + "/apps/{app}"
	return map[string]func(*pageRequest) error{
		"GET " + root:               home,
		"GET " + root + "/{$}":      home,
		"GET " + root + "/sign-in":  signInPage,
		"POST " + root + "/sign-in": signIn,
		"POST " + root + "/sign-out": func(v *pageRequest) error {
			v.setCookie(signInCookie, "", -time.Second)
			return v.redirect(root + "/sign-in")
		},
		"POST " + root + "/theme":                                       chooseTheme,
		"GET " + root + "/apps":                                         func(v *pageRequest) error { return v.listApps(http.StatusOK, appForm{}, nil) },
		"POST " + root + "/apps":                                        createApp,
		"GET " + app:                                                    nowPage,
		"GET " + app + "/playground":                                    playgroundPage,
		"POST " + app + "/playground":                                   postMessage,
		"GET " + app + "/settings":                                      appPage,
		"POST " + app + "/settings":                                     saveApp,
		"POST " + app + "/keys":                                         makeKey,
		"POST " + app + "/keys/{key}/revoke":                            revokeKey,
		"GET " + app + "/sessions":                                      sessionsPage,
		"GET " + app + "/sessions/{session}":                            sessionPage,
		"POST " + app + "/sessions/{session}/messages/{message}/again":  runAgain,
		"GET " + app + "/sessions/{session}/messages/{message}/mend":    mendPage,
		"POST " + app + "/sessions/{session}/messages/{message}/mend":   mendPage,
		"POST " + app + "/sessions/{session}/messages/{message}/test":   keepAsTest,
		"GET " + app + "/tests":                                         testsPage,
		"POST " + app + "/tests":                                        saveTest,
		"POST " + app + "/tests/run":                                    runTests,
		"GET " + app + "/versions/{repository}":                         versionsPage,
		"POST " + app + "/versions/{repository}":                        restoreVersion,
		"GET " + app + "/triggers":                                      triggersPage,
		"POST " + app + "/triggers/bulk":                                bulkTriggers,
		"GET " + app + "/triggers/{trigger}":                            triggerPage,
		"POST " + app + "/triggers/{trigger}/retry":                     triggerAction("retry"),
		"POST " + app + "/triggers/{trigger}/confirm":                   triggerAction("confirm"),
		"POST " + app + "/triggers/{trigger}/deny":                      triggerAction("deny"),
		"POST " + app + "/triggers/{trigger}/cancel":                    triggerAction("cancel"),
		"GET " + app + "/endpoints":                                     endpointsPage,
		"POST " + app + "/endpoints/{webhook}/resend":                   resend,
		"GET " + app + "/tools":                                         toolsPage,
		"GET " + app + "/tools/{repository}":                            editorPage,
		"POST " + app + "/tools/{repository}":                           saveRepository,
		"GET " + app + "/tools/{repository}/{tool}":                     tryPage,
		"POST " + app + "/tools/{repository}/{tool}":                    tryTool,
		"GET " + app + "/sessions/{session}/tools/{repository}":         editorPage,
		"POST " + app + "/sessions/{session}/tools/{repository}":        saveRepository,
		"GET " + app + "/sessions/{session}/tools/{repository}/{tool}":  tryPage,
		"POST " + app + "/sessions/{session}/tools/{repository}/{tool}": tryTool,
		root + "/": func(*pageRequest) error {
			return &problem{Status: http.StatusNotFound, Title: "Nothing is here", Detail: "there is no page of this name"}
		},
	}
}

// Doors lists the ways in.
func Doors() (all []ratelimit.Needs) {
	for pattern := range (&console{}).pages() {
		method, path, _ := strings.Cut(pattern, " ")
		needs := ratelimit.Needs{Surface: ratelimit.Console, Operation: pattern, Open: opens[path]}
		switch {
		case path == "":
			continue // no page
		case method == http.MethodPost && needs.Open:
			needs.Body, needs.Bounds = maxSignIn, "who guesses pauses"
		case method == http.MethodPost:
			needs.Body = maxForm
		}
		all = append(all, needs)
	}
	return all
}

// opens are the pages that a person sees who is not signed in.
var opens = map[string]bool{root + "/sign-in": true, root + "/sign-out": true, root + "/theme": true}
