package console

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/api/answer"
	"earshot/api/page"
	"earshot/api/signin"
	"earshot/repositories/audit"
	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

type pageRequest struct {
	*console
	w   http.ResponseWriter
	r   *http.Request
	key secret.Secret // empty without a sign-in
}

const (
	themeCookie  = "earshot_theme"
	signInCookie = "earshot_console"
	// signInTime is how long a browser stays signed in: a working day. Revoking the key ends it at once,
	// since REST checks the key on each request.
	signInTime = 12 * time.Hour
)

// served adapts a page to net/http. A problem of REST becomes a page, or a redirect to the sign-in and
// back.
func (c *console) served(page func(*pageRequest) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := c.request(w, r)
		err := error(nil)
		if r.Method == http.MethodPost {
			err = r.ParseForm()
		}
		if err == nil {
			err = page(v)
		}
		if err == nil {
			return
		}
		found := problemOf(err)
		if found.Status != http.StatusUnauthorized {
			_ = v.renderStatus(found.Status, "problem", found.Title, found) // fails if the client is gone
			return
		}
		to := root + "/sign-in"
		if r.Method == http.MethodGet && r.URL.Path != root {
			to += "?next=" + url.QueryEscape(r.URL.RequestURI())
		}
		_ = v.redirect(to)
	}
}

func (c *console) request(w http.ResponseWriter, r *http.Request) *pageRequest {
	return &pageRequest{console: c, w: w, r: r, key: c.signedIn(r)}
}

// signedIn returns the key of a request; empty without a sign-in.
func (c *console) signedIn(r *http.Request) secret.Secret {
	cookie, err := r.Cookie(signInCookie)
	if err != nil {
		return secret.Secret{}
	}
	key, _ := c.Sealer.OpenSignIn(cookie.Value, c.Now()) // empty on error
	return key
}

func problemOf(err error) *problem {
	if found, is := errors.AsType[*problem](err); is {
		return found
	}
	if _, is := errors.AsType[*http.MaxBytesError](err); is {
		return &problem{Status: http.StatusRequestEntityTooLarge, Title: "Too long", Detail: "the form is longer than what is read"}
	}
	return &problem{Status: http.StatusInternalServerError, Title: "The console failed", Detail: err.Error()}
}

type frame struct {
	Title    string
	Page     string // name of the template
	App      string // empty outside an app
	Path     string // of this page, with its query
	Theme    string // dark, light or empty
	SignedIn bool
	Admin    bool // may see all apps
	Tabs     []tabLink
	Body     any
}

func (v *pageRequest) render(name, title string, body any) error {
	return v.renderStatus(http.StatusOK, name, title, body)
}

// renderStatus sends a page completely or not at all.
func (v *pageRequest) renderStatus(status int, name, title string, body any) error {
	cookie, err := v.r.Cookie(themeCookie)
	theme := "" // the system's
	if err == nil && (cookie.Value == "dark" || cookie.Value == "light") {
		theme = cookie.Value
	}
	shown := frame{
		Title: title, Page: name, App: v.app(), Path: v.r.URL.RequestURI(), Theme: theme,
		SignedIn: !v.key.Empty(), Admin: v.ownApp() == "", Body: body,
	}
	for _, one := range tabs {
		to := link("apps", v.app())
		if one.at != "" {
			to = link("apps", v.app(), one.at)
		}
		shown.Tabs = append(shown.Tabs, tabLink{one, to, slices.Contains(one.pages, name)})
	}
	var text bytes.Buffer
	if err := v.views.pages[name].Execute(&text, shown); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Vary", "Accept-Encoding")
	content := text.Bytes()
	// Compression leaks nothing: the sign-in cookie is strict, so pages of other hosts cannot request a
	// page with it and compare sizes.
	if page.TakesGzip(v.r) {
		v.w.Header().Set("Content-Encoding", "gzip")
		content = page.Packed(content, gzip.BestSpeed)
	}
	v.w.WriteHeader(status)
	_, _ = v.w.Write(content) // fails if the client is gone
	return nil
}

func (v *pageRequest) redirect(to string) error {
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

func (v *pageRequest) app() string { return v.r.PathValue("app") }

// session returns the session of the path; empty for none.
func (v *pageRequest) session() string { return v.r.PathValue("session") }

// editedText returns the editor's text, with the line ends of the stored one.
func editedText(form url.Values) string { return strings.ReplaceAll(form.Get("text"), "\r\n", "\n") }

// ownApp returns the app that the key names; empty for the admin. REST checks the key.
func (v *pageRequest) ownApp() string {
	text, is := strings.CutPrefix(v.key.Reveal(), store.AppKeyPrefix)
	if !is {
		return ""
	}
	app, _, _ := strings.Cut(text, ".")
	return app
}

// problem is an error of REST (RFC 9457).
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []flaw `json:"errors"`
	// RetryAfter is the header, in seconds; empty for none.
	RetryAfter string `json:"-"`
}

type flaw struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

func (p *problem) Error() string { return p.Title + ": " + p.Detail }

// refused returns the problem of err if it has one of the statuses; otherwise nil.
func refused(err error, statuses ...int) *problem {
	if found, ok := errors.AsType[*problem](err); ok && slices.Contains(statuses, found.Status) {
		return found
	}
	return nil
}

type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// every reads all pages of a list.
func every[T any](v *pageRequest, path string) (items []T, err error) {
	for next := ""; ; {
		var page list[T]
		if err := v.get(path+"?limit=200"+next, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			return items, nil
		}
		next = "&after=" + url.QueryEscape(page.Next)
	}
}

var v1 = answer.V1

// get reads a path into a value; a number in an any keeps its digits.
func (v *pageRequest) get(path string, into any) error {
	return v.call(http.MethodGet, path, nil, into)
}

// call sends a request to REST with the signed-in person's key. An answer that is not 2xx is returned as a
// *problem. body and into may be nil.
func (v *pageRequest) call(method, path string, body []byte, into any) error {
	got, err := v.record(method, path, body)
	if err != nil || into == nil || got.Body.Len() == 0 {
		return err
	}
	return exactjson.Unmarshal(got.Body.Bytes(), into)
}

func (v *pageRequest) record(method, path string, body []byte) (*answer.Recorder, error) {
	request, err := v.restRequest(method, path, body)
	if err != nil {
		return nil, err
	}
	return v.answered(request)
}

// answered returns the answer to a request, or its *problem if it is not 2xx.
func (v *pageRequest) answered(request *http.Request) (*answer.Recorder, error) {
	got := answer.Record(v.REST, request)
	if got.Status < http.StatusMultipleChoices {
		return got, nil
	}
	found := &problem{}
	if json.Unmarshal(got.Body.Bytes(), found) != nil || found.Status == 0 {
		found = &problem{Status: got.Status, Title: http.StatusText(got.Status), Detail: strings.TrimSpace(got.Body.String())}
	}
	found.RetryAfter = got.Header().Get("Retry-After")
	return nil, found
}

// restRequest makes a request to REST with the browser's Host and Origin, so that a service without keys
// refuses pages of other hosts here as well. Requests that the browser marks as same-origin are not checked
// again.
func (v *pageRequest) restRequest(method, path string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(audit.WithVia(v.r.Context(), audit.ViaConsole), method, path, bytes.NewReader(body))
	if err != nil {
		return nil, &problem{Status: http.StatusBadRequest, Title: "No such path", Detail: err.Error()}
	}
	request.Host, request.RemoteAddr, request.TLS, request.RequestURI = v.r.Host, v.r.RemoteAddr, v.r.TLS, path
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	} else {
		request.Body = http.NoBody
	}
	if origin := v.r.Header.Get("Origin"); origin != "" && v.r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		request.Header.Set("Origin", origin)
	}
	if !v.key.Empty() {
		request.Header.Set("Authorization", "Bearer "+v.key.Reveal())
	}
	return request, nil
}

type signInForm struct{ Next, Fault string }

func signInPage(v *pageRequest) error {
	next := inside(v.r.URL.Query().Get("next"), root)
	if v.key.Empty() && v.mayEnter() == nil {
		return v.redirect(next) // a service without keys
	}
	return v.render("signin", "Sign in", signInForm{Next: next})
}

// signIn stores the key in the browser, or shows the form again with the reason.
func signIn(v *pageRequest) error {
	form := v.r.PostForm
	v.key = secret.New(strings.TrimSpace(form.Get("key")))
	v.r = v.r.WithContext(signin.WithDoor(v.r.Context(), signin.DoorConsole)) // REST counts the failure
	next := inside(form.Get("next"), root)
	err := v.mayEnter()
	if err == nil {
		v.setCookie(signInCookie, v.Sealer.SealSignIn(v.key, v.Now().Add(signInTime)), signInTime)
		return v.redirect(next)
	}
	retry, status := signInForm{next, err.Error()}, http.StatusForbidden
	if found, ok := errors.AsType[*problem](err); ok {
		retry.Fault = found.Detail
		if found.Status == http.StatusTooManyRequests {
			status = found.Status
			v.w.Header().Set("Retry-After", found.RetryAfter)
		}
	}
	v.key = secret.Secret{}
	return v.renderStatus(status, "signin", "Sign in", retry)
}

// errNotForPeople refuses a session's token, which could read almost nothing.
var errNotForPeople = errors.New("a session's token is for a front-end: sign in with the admin key or a key of the app")

// mayEnter asks REST whether the key is valid. Only the admin may list apps: REST answers 403 to an app's
// key, and 401 to an unknown key.
func (v *pageRequest) mayEnter() error {
	if strings.HasPrefix(v.key.Reveal(), store.SessionTokenPrefix) {
		return errNotForPeople
	}
	err := v.get("/v1/apps?limit=1", nil)
	if refused(err, http.StatusForbidden) != nil && v.ownApp() != "" {
		return nil
	}
	return err
}

func chooseTheme(v *pageRequest) error {
	form := v.r.PostForm
	chosen, ttl := form.Get("theme"), 365*24*time.Hour
	if chosen != "dark" && chosen != "light" {
		chosen, ttl = "", -time.Second
	}
	v.setCookie(themeCookie, chosen, ttl)
	return v.redirect(inside(form.Get("next"), root))
}

// setCookie stores a value for the console only, out of reach of scripts and of pages of other hosts. A
// client that fakes X-Forwarded-Proto only harms its own cookie.
func (v *pageRequest) setCookie(name, value string, ttl time.Duration) {
	http.SetCookie(v.w, &http.Cookie{
		Name: name, Value: value, Path: root, MaxAge: int(ttl.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: v.r.TLS != nil || strings.EqualFold(v.r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}

// home redirects to the app of the key, or to the list of apps.
func home(v *pageRequest) error {
	if app := v.ownApp(); app != "" {
		return v.redirect(link("apps", app))
	}
	return v.redirect(link("apps"))
}

// inside returns to if it is a path of the console, or else otherwise: the console never redirects
// elsewhere.
func inside(to, otherwise string) string {
	parsed, err := url.Parse(to)
	if err != nil || parsed.Host != "" || parsed.Scheme != "" || strings.Contains(to, `\`) {
		return otherwise
	}
	// A browser resolves .. before it asks.
	cleaned := url.URL{Path: path.Clean(parsed.Path), RawQuery: parsed.RawQuery}
	if cleaned.Path != root && !strings.HasPrefix(cleaned.Path, root+"/") {
		return otherwise
	}
	return cleaned.RequestURI()
}

// maxBack is how many past events a stream may start with: cheap for the broker.
const maxBack = 2000

// follow streams the events of the app or session to a page. With back it starts with past events, if they
// are among that many last events of all apps. A reconnecting browser resumes.
func (c *console) follow(w http.ResponseWriter, r *http.Request) {
	v := c.request(w, r)
	path := owner(v.app(), v.session()) + "/events"
	request, err := v.restRequest(http.MethodGet, path, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := r.Header.Get("Last-Event-ID")
	if back, err := strconv.ParseUint(r.URL.Query().Get("back"), 10, 64); err == nil && last == "" {
		// If the last event is unknown, the stream starts now.
		if got, err := v.record(http.MethodHead, path, nil); err == nil {
			if found := firstID.FindSubmatch(got.Body.Bytes()); found != nil {
				now, _ := strconv.ParseUint(string(found[1]), 10, 64) // zero if it overflows
				last = strconv.FormatUint(now-min(now, back, maxBack), 10)
			}
		}
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	c.REST.ServeHTTP(w, request)
}

// firstID matches the first id of a stream, the event after which it starts.
var firstID = regexp.MustCompile(`(?m)^id: (\d+)$`)
