package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// challenge says how to authenticate (RFC 6750, section 3).
const challenge = `Bearer realm="earshot"`

// Keys knows the keys of apps. Its errors are store.ErrKey, ErrKeyExpired and
// ErrUnavailable.
type Keys interface {
	CheckKey(ctx context.Context, key secret.Secret) (appID string, found store.AppKey, err error)
	KeyValid(ctx context.Context, appID, keyID string) (store.AppKey, error)
	Lives
}

// Lives tells an app and a session from earlier ones of the same names. Both fail with
// store.ErrNotFound without the app.
type Lives interface {
	Generation(ctx context.Context, appID, sessionID string) (store.Generation, error)
	// LifeOf is the Generation of a moment ago, which costs less.
	LifeOf(ctx context.Context, appID, sessionID string) (store.Generation, error)
}

// Tokens signs session tokens and knows its own by their signature.
type Tokens interface {
	SignToken(token store.SessionToken) (secret.Secret, error)
	OpenToken(given secret.Secret) (store.SessionToken, error)
}

// authenticator finds out who makes a request.
type authenticator struct {
	admin  secret.Secret // empty: whoever sends no key of an app is the admin
	keys   Keys
	tokens Tokens
	now    func() time.Time
}

// authenticated finds out who makes a request, and refuses those that nobody knows.
// Routes that are open, unknown paths outside /v1 and OPTIONS, which tells no more than
// the open /openapi.json, need no key.
func authenticated(by authenticator, open map[string]bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if needsNoKey(c, open) {
				return next(c)
			}
			who, err := by.principal(c.Request().Context(), credential(c))
			if err != nil {
				return unauthorized(err)
			}
			c.Set(principalKey, who)
			return next(c)
		}
	}
}

func needsNoKey(c echo.Context, open map[string]bool) bool {
	unknown := c.Path() == "" && !strings.HasPrefix(c.Request().URL.Path, "/v1")
	return unknown || open[c.Path()] || c.Request().Method == http.MethodOptions
}

// credential reads what the request authenticates with; empty for nothing. A browser's
// EventSource can send no header, so a stream of events takes a session token, which
// is short-lived, in its query as well (RFC 6750, section 2.3).
func credential(c echo.Context) secret.Secret {
	scheme, token, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return secret.New(strings.TrimSpace(token))
	}
	if c.Path() == pathSessionEvents && strings.HasPrefix(c.QueryParam(tokenQuery), store.SessionTokenPrefix) {
		return secret.New(c.QueryParam(tokenQuery))
	}
	return secret.Secret{}
}

var (
	errNoKey        = errors.New("a key is needed: send it as the header Authorization: Bearer KEY")
	errTokenExpired = errors.New("the session token has expired")
	errSessionOver  = errors.New("the session token has ended with its session")
)

func (a authenticator) principal(ctx context.Context, sent secret.Secret) (principal, error) {
	switch text := sent.Reveal(); {
	case a.isAdmin(sent):
		return principal{admin: true}, nil
	case strings.HasPrefix(text, store.AppKeyPrefix):
		return a.byKey(ctx, sent)
	case strings.HasPrefix(text, store.SessionTokenPrefix):
		return a.byToken(ctx, sent)
	case a.admin.Empty():
		return principal{admin: true}, nil
	case sent.Empty():
		return principal{}, errNoKey
	default:
		return principal{}, store.ErrKey
	}
}

// isAdmin compares hashes, which are of one length, in constant time: neither the
// length of the key nor how much of it was right shows in the time of the answer.
func (a authenticator) isAdmin(sent secret.Secret) bool {
	want, got := sha256.Sum256([]byte(a.admin.Reveal())), sha256.Sum256([]byte(sent.Reveal()))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && !a.admin.Empty()
}

func (a authenticator) byKey(ctx context.Context, sent secret.Secret) (principal, error) {
	appID, key, err := a.keys.CheckKey(ctx, sent)
	return principal{appID: appID, scopes: key.Scopes, keyID: key.ID, rootKey: key.Root(), expires: key.Expires}, err
}

// byToken reads a session token. It ends with the key that it was asked for with, so
// that whoever revokes a key that got out has revoked what was made with it, and with its
// app and session: others may live under these names later.
func (a authenticator) byToken(ctx context.Context, sent secret.Secret) (principal, error) {
	token, err := a.tokens.OpenToken(sent)
	if err != nil {
		return principal{}, err
	}
	if !a.now().Before(token.Expires) {
		return principal{}, errTokenExpired
	}
	who := principal{appID: token.AppID, sessionID: token.SessionID, keyID: token.KeyID, expires: token.Expires, life: token.Life}
	return who, a.stillGood(ctx, who)
}

// stillGood returns why a principal is one no more.
func (a authenticator) stillGood(ctx context.Context, who principal) error {
	if who.keyID != "" {
		if _, err := a.keys.KeyValid(ctx, who.appID, who.keyID); err != nil {
			return err
		}
	}
	if !who.frontEnd() {
		return nil
	}
	life, err := a.keys.LifeOf(ctx, who.appID, who.sessionID)
	if errors.Is(err, store.ErrNotFound) || err == nil && life != who.life {
		return errSessionOver
	}
	return err
}

// unauthorized makes the answer to a request that nobody is known to make.
func unauthorized(err error) error {
	switch {
	case errors.Is(err, keyspace.ErrUnavailable):
		return err
	case errors.Is(err, errNoKey):
		return newProblem(http.StatusUnauthorized, err.Error()).with("WWW-Authenticate", challenge)
	case errors.Is(err, store.ErrKey), errors.Is(err, store.ErrKeyExpired), errors.Is(err, store.ErrToken), errors.Is(err, errTokenExpired), errors.Is(err, errSessionOver):
		return newProblem(http.StatusUnauthorized, err.Error()).with("WWW-Authenticate", challenge+`, error="invalid_token"`)
	}
	return err
}

// principal is who makes a request: the admin, the holder of an app's key, or the
// front-end of one session.
type principal struct {
	admin     bool
	appID     string
	sessionID string // of a session token
	scopes    []store.Permission
	keyID     string           // by which it can be revoked
	rootKey   string           // with which it shares what is counted by key
	expires   time.Time        // zero for never
	life      store.Generation // of a session token
}

// principalKey is where authenticated leaves the principal.
const principalKey = "earshot.principal"

// principalOf returns who makes the request; nobody on routes that are open.
func principalOf(c echo.Context) principal {
	who, _ := c.Get(principalKey).(principal)
	return who
}

// frontEnd reports whether it is a session token, held by a browser.
func (p principal) frontEnd() bool { return p.sessionID != "" }

// owner reports whether the principal may change the app of the route, for which it was
// let in.
func (p principal) owner() bool { return p.admin || slices.Contains(p.scopes, store.PermitApp) }

// may reports whether the principal may use a route with these ids in its path.
func (p principal) may(a access, appID, sessionID string) bool {
	switch {
	case p.admin:
		return true
	case p.appID == "" || p.appID != appID:
		return false
	case p.frontEnd():
		return a.frontEnd && p.sessionID == sessionID
	default:
		return slices.ContainsFunc(a.scopes, func(s store.Permission) bool { return slices.Contains(p.scopes, s) })
	}
}

// noKeys and noTokens stand for what a service was not given: no key or token is one.
type noKeys struct{}

func (noKeys) CheckKey(context.Context, secret.Secret) (string, store.AppKey, error) {
	return "", store.AppKey{}, store.ErrKey
}

func (noKeys) KeyValid(context.Context, string, string) (store.AppKey, error) {
	return store.AppKey{}, store.ErrKey
}

func (noKeys) Generation(context.Context, string, string) (store.Generation, error) {
	return store.Generation{}, nil
}

func (noKeys) LifeOf(context.Context, string, string) (store.Generation, error) {
	return store.Generation{}, nil
}

func (noKeys) CreateKey(context.Context, string, store.NewKey) (store.AppKey, secret.Secret, error) {
	return store.AppKey{}, secret.Secret{}, fmt.Errorf("%w: this service keeps no keys", keyspace.ErrUnavailable)
}

func (noKeys) AppKeys(context.Context, string, string, int) ([]store.AppKey, string, error) {
	return nil, "", nil
}

func (noKeys) RevokeKey(context.Context, string, string) error { return store.ErrNotFound }

type noTokens struct{}

func (noTokens) SignToken(store.SessionToken) (secret.Secret, error) {
	return secret.Secret{}, fmt.Errorf("%w: this service signs no tokens", keyspace.ErrUnavailable)
}

func (noTokens) OpenToken(secret.Secret) (store.SessionToken, error) {
	return store.SessionToken{}, store.ErrToken
}
