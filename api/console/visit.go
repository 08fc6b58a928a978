package console

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// visit is one request of a person for a page.
type visit struct {
	*console
	w   http.ResponseWriter
	r   *http.Request
	key secret.Secret // empty where nobody is signed in
}

// visited makes a handler of a page. What REST refuses becomes a page as well.
func (c *console) visited(page func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := c.visit(w, r)
		err := page(v)
		if err == nil {
			return
		}
		found := problemOf(err)
		if found.Status == http.StatusUnauthorized {
			v.toSignIn()
			return
		}
		_ = v.renderStatus(found.Status, "problem", found.Title, found) // fails where nobody reads
	}
}

func (c *console) visit(w http.ResponseWriter, r *http.Request) *visit {
	return &visit{console: c, w: w, r: r, key: c.signedIn(r)}
}

// problemOf is what a person is told of an error.
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

// toSignIn asks for a key, and then leads back to where the visit was going.
func (v *visit) toSignIn() {
	to := root + "/sign-in"
	if v.r.Method == http.MethodGet && v.r.URL.Path != root {
		to += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
	}
	v.redirect(to)
}

func (v *visit) redirect(to string) { http.Redirect(v.w, v.r, to, http.StatusSeeOther) }

// app is the app of the path.
func (v *visit) app() string { return v.r.PathValue("app") }

// ownApp is the one app that the key is for; empty for the admin. It is what the key says
// of itself: REST decides what it is good for.
func (v *visit) ownApp() string {
	text, is := strings.CutPrefix(v.key.Reveal(), store.AppKeyPrefix)
	if !is {
		return ""
	}
	app, _, _ := strings.Cut(text, ".")
	return app
}

// inside returns a path of the console that a page was given, or else another: the
// console leads nowhere else.
func inside(to, otherwise string) string {
	parsed, err := url.Parse(to)
	if err != nil || parsed.Host != "" || parsed.Scheme != "" || strings.Contains(to, `\`) {
		return otherwise
	}
	// A browser leaves out what .. takes back, so that the path is looked at without it.
	cleaned := url.URL{Path: path.Clean(parsed.Path), RawQuery: parsed.RawQuery}
	if cleaned.Path != root && !strings.HasPrefix(cleaned.Path, root+"/") {
		return otherwise
	}
	return cleaned.RequestURI()
}

// nothingHere answers for all paths that are no page.
func nothingHere(*visit) error {
	return &problem{Status: http.StatusNotFound, Title: "Nothing is here", Detail: "there is no page of this name"}
}
