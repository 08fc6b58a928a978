package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"earshot/api/signin"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

const (
	signInCookie = "earshot_console"
	// signInTime is how long a browser stays signed in: a day's work. A key that is revoked
	// before ends it at once, since REST looks at the key with every request.
	signInTime = 12 * time.Hour
)

// signedIn returns the key of whoever makes the request; empty for nobody.
func (c *console) signedIn(r *http.Request) secret.Secret {
	cookie, err := r.Cookie(signInCookie)
	if err != nil {
		return secret.Secret{}
	}
	key, err := c.sealer.OpenSignIn(cookie.Value, c.now())
	if err != nil {
		return secret.Secret{}
	}
	return key
}

// signInForm is what the page of the sign-in shows.
type signInForm struct {
	Next  string
	Fault string
}

func signInPage(v *visit) error {
	next := inside(v.r.URL.Query().Get("next"), root)
	if v.key.Empty() && v.mayEnter() == nil {
		v.redirect(next) // a service without keys
		return nil
	}
	return v.render("signin", "Sign in", signInForm{Next: next})
}

func signIn(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	v.key = secret.New(strings.TrimSpace(v.r.PostForm.Get("key")))
	v.r = v.r.WithContext(signin.WithDoor(v.r.Context(), signin.DoorConsole)) // REST counts the failure
	next := inside(v.r.PostForm.Get("next"), root)
	if err := v.mayEnter(); err != nil {
		return v.refused(err, next)
	}
	v.keep(v.sealer.SealSignIn(v.key, v.now().Add(signInTime)), signInTime)
	v.redirect(next)
	return nil
}

// errNotForPeople is the answer to a session's token, which could see next to nothing.
var errNotForPeople = errors.New("a session's token is for a front-end: sign in with the admin key or a key of the app")

// mayEnter asks REST whether the key is good. The list of apps is the admin's: a key of an
// app is forbidden to see it, and one that nobody knows is not authenticated.
func (v *visit) mayEnter() error {
	if strings.HasPrefix(v.key.Reveal(), store.SessionTokenPrefix) {
		return errNotForPeople
	}
	err := v.get("/v1/apps?limit=1", nil)
	var found *problem
	if errors.As(err, &found) && found.Status == http.StatusForbidden && v.ownApp() != "" {
		return nil
	}
	return err
}

// refused shows the form again, and why.
func (v *visit) refused(err error, next string) error {
	form, status := signInForm{Next: next, Fault: err.Error()}, http.StatusForbidden
	var found *problem
	if errors.As(err, &found) {
		form.Fault = found.Detail
		if found.Status == http.StatusTooManyRequests {
			status = found.Status
			v.w.Header().Set("Retry-After", found.RetryAfter)
		}
	}
	v.key = secret.Secret{}
	return v.renderStatus(status, "signin", "Sign in", form)
}

func signOut(v *visit) error {
	v.keep("", -time.Second)
	v.redirect(root + "/sign-in")
	return nil
}

// keep stores the sign-in in the browser: for the console alone, out of reach of scripts
// and of pages of elsewhere.
func (v *visit) keep(value string, life time.Duration) {
	http.SetCookie(v.w, &http.Cookie{
		Name: signInCookie, Value: value, Path: root, MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: v.byTLS(),
	})
}

// byTLS reports whether the browser speaks TLS, to this service or to what stands before
// it. Whoever lies here makes a cookie that his own browser keeps for TLS.
func (v *visit) byTLS() bool {
	return v.r.TLS != nil || strings.EqualFold(v.r.Header.Get("X-Forwarded-Proto"), "https")
}

const themeCookie = "earshot_theme"

// theme is dark or light where the person chose; empty for what the system prefers.
func (v *visit) theme() string {
	cookie, err := v.r.Cookie(themeCookie)
	if err == nil && (cookie.Value == "dark" || cookie.Value == "light") {
		return cookie.Value
	}
	return ""
}

func chooseTheme(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	life := 365 * 24 * time.Hour
	chosen := v.r.PostForm.Get("theme")
	if chosen != "dark" && chosen != "light" {
		chosen, life = "", -time.Second
	}
	http.SetCookie(v.w, &http.Cookie{
		Name: themeCookie, Value: chosen, Path: root, MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: v.byTLS(),
	})
	v.redirect(inside(v.r.PostForm.Get("next"), root))
	return nil
}

// home leads to the app of the key, or to the list of apps.
func home(v *visit) error {
	if app := v.ownApp(); app != "" {
		v.redirect(root + "/apps/" + url.PathEscape(app))
		return nil
	}
	v.redirect(root + "/apps")
	return nil
}
