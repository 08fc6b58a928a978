// Package auth finds the caller of a request, which is the admin, an app by one of its keys or the front-end of a
// session by its token, and refuses what the caller may not do.
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/signin"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// Keys looks the API keys of apps up. Its errors are store.ErrKey, ErrKeyExpired and
// ErrUnavailable.
type Keys interface {
	CheckKey(ctx context.Context, key secret.Secret) (appID string, found store.AppKey, err error)
	KeyValid(ctx context.Context, appID, keyID string) (store.AppKey, error)
	Lives
}

// Lives tells an app and a session from earlier ones of the same names. Both fail with
// repositories.ErrNotFound without the app.
type Lives interface {
	Generation(ctx context.Context, appID, sessionID string) (store.Generation, error)
	// LifeOf is the Generation of a moment ago, which costs less.
	LifeOf(ctx context.Context, appID, sessionID string) (store.Generation, error)
	// Granted fails with repositories.ErrNotFound where a module is gone, or is not the one that
	// an access token was granted to.
	Granted(ctx context.Context, appID, moduleID string, same func(repositories.Module) bool) error
}

// Tokens signs session tokens, and knows its own and the access tokens of clients of SERMAS by
// their signature.
type Tokens interface {
	SignToken(token store.SessionToken) (secret.Secret, error)
	OpenToken(given secret.Secret) (store.SessionToken, error)
	OpenAccess(given secret.Secret) (store.AccessToken, error)
	SameGrant(grant, appID string, module repositories.Module) bool
}

// Authenticator authenticates requests by the admin key, the keys of apps, session tokens and
// access tokens.
type Authenticator struct {
	Admin  secret.Secret // empty: whoever sends no key of an app is the admin
	Keys   Keys
	Tokens Tokens
	Now    func() time.Time
	// QueryPaths are the routes that take a session token in their query as well.
	QueryPaths []string
	// SignIns slows down clients that guess credentials. Missing: none is.
	SignIns *signin.Guard
	// Issued knows the tokens of the apps' own issuers. Missing: none is good.
	Issued *Issued
}

// Authenticated finds the principal of a request, and refuses a request without one. Open routes, unknown paths
// outside /v1 and OPTIONS, which shows no more than the open /openapi.json, need no key.
func Authenticated(by Authenticator, open map[string]bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if needsNoKey(c, open) {
				return next(c)
			}
			if err := Known(by, c); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// Known finds the principal of a request, for PrincipalOf, or returns the refusal.
func Known(by Authenticator, c echo.Context) error {
	sent := by.Credential(c)
	who, found, err := by.issued(c, sent)
	if !found {
		who, err = by.SignIn(c.Request().Context(), signin.ClientOf(c.Request()), sent)
	}
	if err != nil {
		return by.challenged(c, Unauthorized(err))
	}
	c.Set(principalKey, who)
	return nil
}

func needsNoKey(c echo.Context, open map[string]bool) bool {
	unknown := c.Path() == "" && !strings.HasPrefix(c.Request().URL.Path, "/v1")
	return unknown || open[c.Path()] || c.Request().Method == http.MethodOptions
}

// Credential reads the key or token of a request; empty for none. A browser's EventSource and WebSocket can send no
// header, so these take a session token, which is short-lived, in their query as well (RFC 6750, section 2.3).
func (a Authenticator) Credential(c echo.Context) secret.Secret {
	scheme, token, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token != "" && strings.EqualFold(scheme, "Bearer") {
		return secret.New(token)
	}
	if slices.Contains(a.QueryPaths, c.Path()) && strings.HasPrefix(c.QueryParam(TokenQuery), store.SessionTokenPrefix) {
		return secret.New(c.QueryParam(TokenQuery))
	}
	return secret.Secret{}
}

var (
	errNoKey         = errors.New("a key is needed: send it as the header Authorization: Bearer KEY")
	errTokenExpired  = errors.New("the session token has expired")
	errSessionOver   = errors.New("the session token has ended with its session")
	errAccessExpired = errors.New("the access token has expired: renew it")
	errAppOver       = errors.New("the access token has ended with its app")
	errIssuedExpired = errors.New("the access token has expired: get another from its issuer")
	errServiceOver   = errors.New("the access token is of an issuer that the app no longer lets agents come with")
	errModuleOver    = errors.New("the access token has ended with its module, or with the secret of that: ask for another with clientId and clientSecret")
)

// Principal finds out whose a credential is, empty for none. Unauthorized makes the answer of
// its error.
func (a Authenticator) Principal(ctx context.Context, sent secret.Secret) (Principal, error) {
	switch text := sent.Reveal(); {
	case a.isAdmin(sent):
		return Principal{Admin: true}, nil
	case strings.HasPrefix(text, store.AppKeyPrefix):
		appID, key, err := a.Keys.CheckKey(ctx, sent)
		return Principal{appID: appID, scopes: key.Scopes, KeyID: key.ID, KeyName: key.Name, RootKey: key.Root(), Expires: key.Expires}, err
	case strings.HasPrefix(text, store.SessionTokenPrefix):
		return a.byToken(ctx, sent)
	case store.IsJWT(sent):
		return a.byAccess(ctx, sent)
	case a.Admin.Empty():
		return Principal{Admin: true}, nil
	case sent.Empty():
		return Principal{}, errNoKey
	default:
		return Principal{}, store.ErrKey
	}
}

// SignIn is Principal for the client at an address. One that guesses is slowed down: its error is a 429.
func (a Authenticator) SignIn(ctx context.Context, client string, sent secret.Secret) (Principal, error) {
	who, err := a.Principal(ctx, sent)
	if sent.Empty() || err == nil && !a.isAdmin(sent) || err != nil && !isOneOf(err, store.ErrKey, store.ErrToken, store.ErrAccessToken) {
		return who, err
	}
	// A key or token of ours is random or signed; the admin key is chosen by people.
	account, strong := "admin", false
	if named, is := strings.CutPrefix(sent.Reveal(), store.AppKeyPrefix); is {
		app, _, _ := strings.Cut(named, ".")
		account, strong = "app "+app, true
	} else if strings.HasPrefix(sent.Reveal(), store.SessionTokenPrefix) || store.IsJWT(sent) {
		account, strong = "token", true
	}
	if err = a.SignIns.Settle(signin.DoorOf(ctx), signin.Try{Client: client, Account: account, Credential: sent, Strong: strong}, err); err != nil {
		return Principal{}, err
	}
	return who, nil
}

// isAdmin compares hashes in constant time: neither the length of the key nor how much of it was right shows in
// the time of the answer.
func (a Authenticator) isAdmin(sent secret.Secret) bool {
	want, got := sha256.Sum256([]byte(a.Admin.Reveal())), sha256.Sum256([]byte(sent.Reveal()))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && !a.Admin.Empty()
}

// byToken reads a session token. It ends with the key or module that made it, and with its app and session:
// others may live under these names later.
func (a Authenticator) byToken(ctx context.Context, sent secret.Secret) (Principal, error) {
	token, err := a.Tokens.OpenToken(sent)
	if err != nil {
		return Principal{}, err
	}
	if !a.Now().Before(token.Expires) {
		return Principal{}, errTokenExpired
	}
	who := Principal{appID: token.AppID, SessionID: token.SessionID, KeyID: token.KeyID, Expires: token.Expires, life: token.Life, given: Grant{token.ModuleID, token.Grant}}
	return who, a.StillGood(ctx, who)
}

// byAccess reads an access token. It ends with its app, with its module and with the secret of that.
func (a Authenticator) byAccess(ctx context.Context, sent secret.Secret) (Principal, error) {
	token, err := a.Tokens.OpenAccess(sent)
	if err != nil {
		return Principal{}, err
	}
	if !a.Now().Before(token.Expires) {
		return Principal{}, errAccessExpired
	}
	who := Principal{
		appID: token.AppID, scopes: token.Scopes, RootKey: moduleName + token.ModuleID, module: token.ModuleID, given: Grant{token.ModuleID, token.Grant}, Lineage: token.Lineage, Expires: token.Expires, life: token.Life,
	}
	return who, a.StillGood(ctx, who)
}

// moduleName begins the name of a client of SERMAS where others have the id of their key.
const moduleName = "module:"

// StillGood returns why a principal is one no more.
func (a Authenticator) StillGood(ctx context.Context, who Principal) error {
	if who.Bearer() != "" {
		return a.stillIssued(ctx, who)
	}
	if who.KeyID != "" {
		if _, err := a.Keys.KeyValid(ctx, who.appID, who.KeyID); err != nil {
			return err
		}
	}
	over := errSessionOver
	switch {
	case who.module != "":
		over = errAppOver
	case !who.FrontEnd():
		return nil
	}
	life, err := a.Keys.LifeOf(ctx, who.appID, who.SessionID)
	if errors.Is(err, repositories.ErrNotFound) || err == nil && life != who.life {
		return over
	}
	if err != nil || who.given.Word == "" {
		return err
	}
	err = a.Keys.Granted(ctx, who.appID, who.given.ModuleID, func(m repositories.Module) bool { return a.Tokens.SameGrant(who.given.Word, who.appID, m) })
	if errors.Is(err, repositories.ErrNotFound) {
		return errModuleOver
	}
	return err
}

// Unauthorized returns the problem of a request whose caller is not authenticated.
func Unauthorized(err error) error {
	switch {
	case errors.Is(err, keyspace.ErrUnavailable):
		return err
	case errors.Is(err, errNoKey):
		return answer.NewProblem(answer.KeyMissing, err.Error()).With("WWW-Authenticate", answer.Challenge)
	case isOneOf(err, store.ErrKeyExpired, errTokenExpired, errAccessExpired, errIssuedExpired):
		return answer.NewProblem(answer.KeyExpired, err.Error()).With("WWW-Authenticate", answer.Challenge+`, error="invalid_token"`)
	case isOneOf(err, store.ErrKey, store.ErrToken, store.ErrAccessToken, errSessionOver, errAppOver, errModuleOver, errServiceOver):
		return answer.NewProblem(answer.KeyInvalid, err.Error()).With("WWW-Authenticate", answer.Challenge+`, error="invalid_token"`)
	}
	return err
}

func isOneOf(err error, known ...error) bool {
	return slices.ContainsFunc(known, func(one error) bool { return errors.Is(err, one) })
}

// Guarded protects a service without an admin key from the pages in its developer's browser. It refuses
// requests for a host that is not this machine by name, as after DNS rebinding, and those from other pages,
// unless the app allows their origin.
func Guarded(open map[string]bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			origin, elsewhere := Elsewhere(c)
			name := c.Request().Host
			if host, _, err := net.SplitHostPort(name); err == nil {
				name = host
			}
			address, err := netip.ParseAddr(strings.Trim(name, "[]"))
			loopback := strings.EqualFold(name, "localhost") || err == nil && address.IsLoopback()
			switch {
			case needsNoKey(c, open):
			case !loopback:
				return answer.NewProblem(answer.HostNotAllowed, "without keys this service answers on loopback names alone, as 127.0.0.1 or localhost")
			case elsewhere:
				return NoPage(origin)
			}
			return next(c)
		}
	}
}

// Elsewhere reports whether a request comes from a page that is neither the service's own nor of an origin that
// the app allows, and returns that origin.
func Elsewhere(c echo.Context) (origin string, elsewhere bool) {
	origin = c.Request().Header.Get(echo.HeaderOrigin)
	allowed := c.Response().Header().Get(echo.HeaderAccessControlAllowOrigin) != ""
	page, err := url.Parse(origin)
	same := err == nil && strings.EqualFold(page.Host, c.Request().Host)
	return origin, origin != "" && !allowed && !same
}

// NoPage is the answer to a request from a page of elsewhere.
func NoPage(origin string) error {
	return answer.NewProblem(answer.OriginNotAllowed, "pages of "+answer.Quote(origin)+" may not call: add the origin to settings.allowedOrigins of the app")
}

// Principal is the authenticated caller of a request: the admin, the holder of an app's
// key, the front-end of one session, or a client of SERMAS.
type Principal struct {
	Admin     bool
	appID     string
	SessionID string // of a session token
	scopes    []store.Permission
	KeyID     string           // by which it can be revoked
	KeyName   string           // as it was given
	RootKey   string           // with which it shares what is counted by key
	Expires   time.Time        // zero for never
	module    string           // of an access token
	given     Grant            // of an access token, or of a session token that was asked for with one
	Lineage   string           // of an access token, and of those that it is renewed to
	life      store.Generation // of a session token or an access token
	bearer    bearer           // of the token of an app's own issuer
}

// Grant is the module that an access token was given to, and the word for that and its secret, which
// an access token of an earlier version lacks.
type Grant struct{ ModuleID, Word string }

// Grant is what the principal's token ends with; the zero Grant of others.
func (p Principal) Grant() Grant { return p.given }

// Name is how records name the principal: the id of its key, admin, module: and the id of a module, or service: and
// the name of the service that has verified the user.
func (p Principal) Name() string {
	switch {
	case p.Admin:
		return "admin"
	case p.module != "":
		return moduleName + p.module
	case p.bearer.service != "":
		return serviceName + p.bearer.service
	}
	return p.KeyID
}

// principalKey is where Authenticated leaves the principal.
const principalKey = "earshot.principal"

// PrincipalOf returns who makes the request; nobody on routes that are open.
func PrincipalOf(c echo.Context) Principal {
	who, _ := c.Get(principalKey).(Principal)
	return who
}

// AppID is the app that the principal's key or token is of; empty for the admin.
func (p Principal) AppID() string { return p.appID }

// Scopes are those of the principal's key.
func (p Principal) Scopes() []store.Permission { return p.scopes }

// FrontEnd reports whether it is a session token, held by a browser.
func (p Principal) FrontEnd() bool { return p.SessionID != "" }

// MaySay reports whether the principal may store what an actor says: a session's token speaks
// for its user alone, whatever the door.
func (p Principal) MaySay(actor string) bool { return actor == matcher.ActorUser || !p.FrontEnd() }

// Owner reports whether the principal may change the app of the route, for which it was
// let in.
func (p Principal) Owner() bool { return p.Admin || slices.Contains(p.scopes, store.PermitApp) }

// may reports whether the principal may use a route with these ids in its path.
func (p Principal) may(a Access, appID, sessionID string) bool {
	switch {
	case p.Admin || a.Anyone:
		return true
	case p.appID == "" || p.appID != appID:
		return false
	case p.FrontEnd():
		return a.FrontEnd && (a.ByTrigger || p.SessionID == sessionID || a.OwnSession && sessionID == "")
	default:
		return slices.ContainsFunc(a.Scopes, func(s store.Permission) bool { return slices.Contains(p.scopes, s) })
	}
}

// Access is the permissions that a route asks for. The admin has all.
type Access struct {
	Scopes   []store.Permission // of the app's keys: any one of them
	FrontEnd bool               // the session's tokens as well
	// ByTrigger says that the path names a trigger and no session: whether it is of the
	// token's session is for the handler to find out.
	ByTrigger bool
	// OwnSession says that a path without a session means that of the token.
	OwnSession bool
	Anyone     bool // whoever is authenticated, for a route that is of no app
}

// Reading is the access to what changes nothing: each of the scopes will do that reads the same.
func (a Access) Reading() Access {
	scopes := slices.Clone(a.Scopes)
	for _, scope := range a.Scopes {
		scopes = append(scopes, scope.Reading())
	}
	a.Scopes = scopes
	return a
}

// Authorized lets callers through that may use the route. It stands before everything that could show what there
// is: to others an app that exists and one that does not are the same.
func Authorized(a Access) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := PrincipalOf(c).Check(a, c.Param("appId"), c.Param("sessionId")); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// Check returns why a principal lacks an access in an app and one of its sessions, empty for none; nil if it has
// it. A key of that app learns which scope it lacks, all others no more than Forbidden says.
func (p Principal) Check(a Access, appID, sessionID string) error {
	if p.may(a, appID, sessionID) {
		return nil
	}
	if p.FrontEnd() || p.appID == "" || p.appID != appID {
		return Forbidden()
	}
	if len(a.Scopes) == 0 {
		found := Forbidden()
		found.Detail = "this key is not good for this: the admin's alone is"
		return found
	}
	found := answer.NewProblem(answer.ScopeMissing, fmt.Sprintf("this key lacks the scope %s; it has %s", joined(a.Scopes, " or "), joined(p.scopes, ", ")))
	return found.With("WWW-Authenticate", answer.Challenge+`, error="insufficient_scope", scope="`+joined(a.Scopes, " ")+`"`)
}

func joined(scopes []store.Permission, between string) string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return strings.Join(names, between)
}

// Forbidden is the answer to those who may not, whatever the reason.
func Forbidden() *answer.Problem {
	return answer.NewProblem(answer.NotPermitted, "this key or token is not good for this").
		With("WWW-Authenticate", answer.Challenge+`, error="insufficient_scope"`)
}

// TokenQuery is where a browser's EventSource sends its session token.
const TokenQuery = "access_token"

const (
	// Recheck is how often a stream looks whether its key is still good: with the age of the answer it is less
	// than the second that a revocation may take.
	Recheck   = 500 * time.Millisecond
	unchecked = 30 * time.Second // how long a stream stays open while its key cannot be looked up
)

// Watch is whether what keeps a stream open is still good, such as a key. It is not safe for
// concurrent use.
type Watch struct {
	good    func(ctx context.Context) error
	now     func() time.Time
	checked time.Time // when it was last known to be good
}

// NewWatch begins with what is good now.
func NewWatch(now func() time.Time, good func(ctx context.Context) error) *Watch {
	return &Watch{good, now, now()}
}

// Over returns why the stream has to end, and nil while it need not: what cannot be looked up
// is taken for good for half a minute.
func (w *Watch) Over(ctx context.Context) error {
	err := w.good(ctx)
	switch {
	case err == nil:
		w.checked = w.now()
	case answer.IsUnavailable(err) && w.now().Sub(w.checked) < unchecked:
		return nil
	}
	return err
}
