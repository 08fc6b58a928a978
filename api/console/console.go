// Package console serves the console at /console: pages that show what a service does, and why.
//
// It is a client of the REST API in the same process. Each page calls the REST handler with the signed-in
// person's key, so that rights, limits, checks and masks are those of REST. It has no other access to the
// stores.
//
// A page consists of an entry in console.pages, a handler in the file of its topic, and the template that
// the handler renders:
//
//   - The entry is a pattern of http.ServeMux and the handler, func(*pageRequest) error.
//   - The handler calls REST by pageRequest.get and pageRequest.call, with paths from v1, which escapes
//     their parts. It returns errors unchanged: a problem of REST becomes a page, and 401 redirects to the
//     sign-in. It ends with pageRequest.render.
//   - The template, templates/NAME.html, defines "main" and gets a frame, with the handler's value as .Body.
//     Parts that several pages share are in templates/parts.html.
//
// Everything works without scripts; static/console.js enhances pages by attributes. An element with an id
// and data-poll="5" is refreshed every five seconds from its page. A form with data-swap="#id #other" is
// sent in the background, and those parts are replaced from the answer; with data-live it is sent while it
// is filled in. A figure with data-chart is drawn, and a textarea with data-editor-kind becomes an editor.
// data-key="n" on a link is the letter after g, aria-keyshortcuts="r" in main the letter that clicks it,
// and data-search marks the target of /. Pages contain no inline scripts or styles: the
// Content-Security-Policy forbids them.
//
// static/console.css styles section, table, ul.list, dl, details, article and forms; a p.empty says what to
// do when a list is empty. Icons are in templates/icons.html, tabs in the table of views.go. bundle/build.js
// bundles third-party code into static.
//
// TestEveryPageIsForEverybody opens each page of its table in a browser, dark and light, in two widths: add
// new pages there. With EARSHOT_PICTURES=DIR it saves screenshots.
package console

import (
	"net/http"
	"strings"
	"time"

	"earshot/api/ratelimit"
	"earshot/api/server"
	"earshot/repositories/secret"
)

// Options configures New. All fields are required.
type Options struct {
	REST   http.Handler     // the handler of the API
	Walls  *ratelimit.Walls // bounds the memory of forms
	Sealer Sealer           // Sealer seals the keys of people who sign in
	Now    func() time.Time // the clock of sign-ins
}

// Sealer encrypts a key until a time, so that only the service can read it.
type Sealer interface {
	SealSignIn(key secret.Secret, until time.Time) string
	OpenSignIn(sealed string, now time.Time) (secret.Secret, error)
}

type console struct {
	Options
	views views
}

const root = "/console"

const (
	maxForm   = 4 << 20  // the longest form, in bytes: the body of a repository, escaped
	maxSignIn = 16 << 10 // the longest form on pages that need no sign-in
)

// policy lets a page load only its own files: no inline script or style, no other host, no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// New returns a handler that serves the console and passes all other requests to REST. It refuses changes
// sent by pages of other hosts. It is safe for concurrent use.
func New(options Options) http.Handler {
	c := &console{options, parseViews()}
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
			c.REST.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin") // with no-referrer the Origin of a form is null
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store") // except for files
		if r.ProtoMajor > 1 {
			w = server.PacedWriter(w, server.DefaultWriteTime)
		}

		// Forms count against a memory budget: those of strangers against their address.
		payer, most := ratelimit.Payer{App: "(console)"}, int64(maxForm)
		if c.signedIn(r).Empty() {
			payer = ratelimit.Stranger(r)
		}
		if opens[r.URL.Path] {
			most = maxSignIn
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		body := c.Walls.Memory.Hold(r, payer, most)
		defer body.Free()
		guarded.ServeHTTP(w, r)
	})
}

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
		"GET " + app + "/sessions/{session}/messages/{message}/mend":    examplePage,
		"POST " + app + "/sessions/{session}/messages/{message}/mend":   examplePage,
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

// Doors lists the requirements of all pages.
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

// opens lists the pages that need no sign-in.
var opens = map[string]bool{root + "/sign-in": true, root + "/sign-out": true, root + "/theme": true}
