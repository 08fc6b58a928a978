package console

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"earshot/api/answer"
	"earshot/api/page"
	"earshot/repositories/audit"
	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

type pageRequest struct {
	*console
	w   http.ResponseWriter
	r   *http.Request
	key secret.Secret // empty if no user is signed in
}

const (
	themeCookie  = "earshot_theme"
	signInCookie = "earshot_console"
	// signInTime is how long a browser stays signed in: a day's work. A key that is revoked
	// before ends it at once, since REST looks at the key with every request.
	signInTime = 12 * time.Hour
)

// served makes a handler of a page. What REST refuses becomes a page as well, or leads to the
// sign-in and back.
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
	key, _ := c.sealer.OpenSignIn(cookie.Value, c.now()) // empty with an error
	return key
}

func problemOf(err error) *problem {
	var found *problem
	var size *http.MaxBytesError
	switch {
	case errors.As(err, &found):
		return found
	case errors.As(err, &size):
		return &problem{Status: http.StatusRequestEntityTooLarge, Title: "Too long", Detail: "the form is longer than what is read"}
	}
	return &problem{Status: http.StatusInternalServerError, Title: "The console failed", Detail: err.Error()}
}

type frame struct {
	Title    string
	Page     string // name of the template
	App      string // empty outside of any
	Path     string // of this page, with its query
	Theme    string // dark, light or empty
	SignedIn bool
	Admin    bool // may see the other apps
	Tabs     []tabLink
	Body     any
}

func (v *pageRequest) render(name, title string, body any) error {
	return v.renderStatus(http.StatusOK, name, title, body)
}

// renderStatus shows a page whole or not at all.
func (v *pageRequest) renderStatus(status int, name, title string, body any) error {
	cookie, err := v.r.Cookie(themeCookie)
	theme := "" // that of the system
	if err == nil && (cookie.Value == "dark" || cookie.Value == "light") {
		theme = cookie.Value
	}
	shown := frame{
		Title: title, Page: name, App: v.app(), Path: v.r.URL.RequestURI(), Theme: theme,
		SignedIn: !v.key.Empty(), Admin: v.ownApp() == "", Tabs: tabsOf(v.app(), name), Body: body,
	}
	var text bytes.Buffer
	if err := v.views.pages[name].Execute(&text, shown); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Vary", "Accept-Encoding")
	content := text.Bytes()
	// No page of another host can make a browser ask for one with the sign-in, whose cookie is
	// strict, and so guess by sizes what is in it.
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

// session is the session of the path; empty for none.
func (v *pageRequest) session() string { return v.r.PathValue("session") }

// editedText is the text of an editor, with the line ends that it was given.
func editedText(form url.Values) string { return strings.ReplaceAll(form.Get("text"), "\r\n", "\n") }

// ownApp is the one app that the key names; empty for the admin. REST checks the key.
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
	// RetryAfter is the header of that name, in seconds; empty for none.
	RetryAfter string `json:"-"`
}

type flaw struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Error implements error.
func (p *problem) Error() string { return p.Title + ": " + p.Detail }

// refused is the problem of an error, if it has one of some statuses; nil otherwise.
func refused(err error, statuses ...int) *problem {
	var found *problem
	if errors.As(err, &found) && slices.Contains(statuses, found.Status) {
		return found
	}
	return nil
}

type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// v1 is the path of REST with these parts, each escaped.
func v1(parts ...string) string {
	path := "/v1"
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// get reads what is at a path into a value; a number in an any keeps its digits.
func (v *pageRequest) get(path string, into any) error {
	return v.call(http.MethodGet, path, nil, into)
}

// call sends a request to REST as the person who is signed in. The error of an answer that
// is not 2xx is a *problem. Neither body nor into is needed.
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

// answered is the answer to a request that is 2xx.
func (v *pageRequest) answered(request *http.Request) (*answer.Recorder, error) {
	got := answer.Record(v.rest, request)
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

// restRequest makes a request to REST. Host and Origin are those of the browser, so that a service
// without keys refuses pages of other hosts here as it does there; it does not check again those
// that the browser calls its own.
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
