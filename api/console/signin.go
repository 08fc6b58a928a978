package console

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"earshot/api/signin"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

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
		v.setCookie(signInCookie, v.sealer.SealSignIn(v.key, v.now().Add(signInTime)), signInTime)
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
