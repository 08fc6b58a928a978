// Package auth authenticates the caller of a request and checks its permissions. A caller is the admin, an app
// by one of its keys, or a session's front-end by its token.
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
	"earshot/repositories/audit"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// Keys looks up API keys. It fails with store.ErrKey, ErrKeyExpired or ErrUnavailable.
type Keys interface {
	CheckKey(ctx context.Context, key secret.Secret) (appID string, found store.AppKey, err error)
	ValidKey(ctx context.Context, appID, keyID string) (store.AppKey, error)
	Lives
}

// Lives returns the generations of apps and sessions, which distinguish them from earlier ones with the same
// id. Both fail with repositories.ErrNotFound without the app.
type Lives interface {
	Generation(ctx context.Context, appID, sessionID string) (store.Generation, error)
	// CachedGeneration is a cached Generation, which costs less.
	CachedGeneration(ctx context.Context, appID, sessionID string) (store.Generation, error)
	// LifeSince is when the present life of a session began, or without a session that of the app; zero if unknown.
	LifeSince(ctx context.Context, appID, sessionID string) (time.Time, error)
	// Granted fails with repositories.ErrNotFound if the module is gone, or is not the one that an access token
	// was granted to.
	Granted(ctx context.Context, appID, moduleID string, same func(repositories.Module) bool) error
}

// Tokens signs session tokens, and verifies them and the access tokens of SERMAS clients.
type Tokens interface {
	SignToken(token store.SessionToken) (secret.Secret, error)
	OpenToken(given secret.Secret) (store.SessionToken, error)
	OpenAccess(given secret.Secret) (store.AccessToken, error)
	SameGrant(grant, appID string, module repositories.Module) bool
}

// Authenticator authenticates requests by the admin key, apps' keys, session tokens and access tokens.
type Authenticator struct {
	Admin      secret.Secret // empty: without an app's key, every caller is the admin
	Keys       Keys
	Tokens     Tokens
	Now        func() time.Time
	QueryPaths []string // the routes that also accept a session token in the query
	// SignIns slows down clients that guess credentials. Missing: there is no limit.
	SignIns *signin.Guard
	// Issued verifies tokens of the apps' own issuers. Missing: none is accepted.
	Issued *Issued
}

// Authenticated determines the principal of a request, and refuses a request without one. Open routes, unknown
// paths outside /v1, and OPTIONS need no key.
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

// Known determines the principal of a request, for PrincipalOf, or returns the refusal.
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

// Credential returns the key or token of a request; empty for none. Browsers' EventSource and WebSocket cannot
// send headers, so some routes also accept a short-lived session token in the query (RFC 6750, section 2.3).
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
	errSessionOver   = errors.New("the session token ended because its session was closed")
	errAccessExpired = errors.New("the access token has expired: renew it")
	errAppOver       = errors.New("the access token ended because its app was deleted")
	errIssuedExpired = errors.New("the access token has expired: get another from its issuer")
	errServiceOver   = errors.New("the app no longer accepts access tokens of this issuer")
	errModuleOver    = errors.New("the access token ended because its module was deleted or got another secret: get a new one with clientId and clientSecret")
)

// Principal returns the owner of a credential, which may be empty. Unauthorized converts its error.
func (a Authenticator) Principal(ctx context.Context, sent secret.Secret) (Principal, error) {
	switch text := sent.Reveal(); {
	case SameSecret(a.Admin, sent):
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

// SignIn is Principal for the client at an address. A client that guesses gets a 429.
func (a Authenticator) SignIn(ctx context.Context, client string, sent secret.Secret) (Principal, error) {
	who, err := a.Principal(ctx, sent)
	if sent.Empty() || err == nil && !SameSecret(a.Admin, sent) || err != nil && !isOneOf(err, store.ErrKey, store.ErrToken, store.ErrAccessToken) {
		return who, err
	}
	// Keys and tokens are random or signed; people choose the admin key.
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

// SameSecret compares hashes in constant time, so that timing reveals neither the length nor a prefix of a secret. An
// empty one is the same as none.
func SameSecret(a, b secret.Secret) bool {
	of, other := sha256.Sum256([]byte(a.Reveal())), sha256.Sum256([]byte(b.Reveal()))
	return subtle.ConstantTimeCompare(of[:], other[:]) == 1 && !a.Empty()
}

// byToken reads a session token. It ends with its key or module, and with its app and session, whose ids may be
// used again.
func (a Authenticator) byToken(ctx context.Context, sent secret.Secret) (Principal, error) {
	token, err := a.Tokens.OpenToken(sent)
	if err != nil {
		return Principal{}, err
	}
	who := Principal{appID: token.AppID, SessionID: token.SessionID, KeyID: token.KeyID, Expires: token.Expires, life: token.Generation, given: Grant{token.ModuleID, token.Grant}}
	return who, a.StillValid(ctx, who)
}

// byAccess reads an access token. It ends with its app, its module, and the module's secret.
func (a Authenticator) byAccess(ctx context.Context, sent secret.Secret) (Principal, error) {
	token, err := a.Tokens.OpenAccess(sent)
	if err != nil {
		return Principal{}, err
	}
	who := Principal{
		appID: token.AppID, scopes: token.Scopes, RootKey: moduleName + token.ModuleID, module: token.ModuleID, given: Grant{token.ModuleID, token.Grant}, Lineage: token.Lineage, Expires: token.Expires, life: token.Generation,
	}
	return who, a.StillValid(ctx, who)
}

// moduleName prefixes the name of a SERMAS client, where others have their key's id.
const moduleName = "module:"

// StillValid returns why a principal is no longer valid.
func (a Authenticator) StillValid(ctx context.Context, who Principal) error {
	over, expired := errSessionOver, errTokenExpired
	switch {
	case who.Bearer() != "":
		expired = errIssuedExpired
	case who.module != "":
		over, expired = errAppOver, errAccessExpired
	case !who.FrontEnd():
		expired = store.ErrKeyExpired
	}
	if !who.Expires.IsZero() && !a.Now().Before(who.Expires) {
		return expired
	}
	if who.Bearer() != "" {
		return a.stillIssued(ctx, who)
	}
	if who.KeyID != "" {
		if _, err := a.Keys.ValidKey(ctx, who.appID, who.KeyID); err != nil {
			return err
		}
	}
	if who.module == "" && !who.FrontEnd() {
		return nil
	}
	life, err := a.Keys.CachedGeneration(ctx, who.appID, who.SessionID)
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

// Unauthorized returns the problem of an unauthenticated caller.
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

// Guarded protects a service without an admin key from pages in its developer's browser. It refuses requests
// for a host other than loopback, as after DNS rebinding, and those of foreign pages, unless the app allows
// their origin.
func Guarded(open map[string]bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			origin, elsewhere := CrossOrigin(c)
			name := c.Request().Host
			if host, _, err := net.SplitHostPort(name); err == nil {
				name = host
			}
			address, err := netip.ParseAddr(strings.Trim(name, "[]"))
			loopback := strings.EqualFold(name, "localhost") || err == nil && address.IsLoopback()
			switch {
			case needsNoKey(c, open):
			case !loopback:
				return answer.NewProblem(answer.HostNotAllowed, "without keys, this service answers only at loopback names, as 127.0.0.1 or localhost")
			case elsewhere:
				return ForeignPage(origin)
			}
			return next(c)
		}
	}
}

// CrossOrigin reports whether a request comes from a page that is neither the service's own nor of an allowed
// origin, and returns its origin.
func CrossOrigin(c echo.Context) (origin string, elsewhere bool) {
	origin = c.Request().Header.Get(echo.HeaderOrigin)
	allowed := c.Response().Header().Get(echo.HeaderAccessControlAllowOrigin) != ""
	page, err := url.Parse(origin)
	same := err == nil && strings.EqualFold(page.Host, c.Request().Host)
	return origin, origin != "" && !allowed && !same
}

// ForeignPage returns the problem for a request from a foreign page.
func ForeignPage(origin string) error {
	return answer.NewProblem(answer.OriginNotAllowed, "pages of "+answer.Quote(origin)+" may not call: add the origin to settings.allowedOrigins of the app")
}

// Principal is the authenticated caller: the admin, the holder of an app's key, a session's front-end, or a
// SERMAS client.
type Principal struct {
	Admin     bool
	appID     string
	SessionID string // of a session token
	scopes    []store.Permission
	KeyID     string           // by which it can be revoked
	KeyName   string           // as given
	RootKey   string           // shares what is counted per key
	Expires   time.Time        // zero for never
	module    string           // of an access token
	given     Grant            // of an access token, or a session token made with one
	Lineage   string           // of an access token and its renewals
	life      store.Generation // of a session token or an access token
	bearer    bearer           // of a token of an app's own issuer
}

// Grant is the module of an access token, with a word for the module and its secret, which tokens of earlier
// versions lack.
type Grant struct{ ModuleID, Word string }

// Grant returns the grant that the principal's token depends on; zero for others.
func (p Principal) Grant() Grant { return p.given }

// Name names the principal in records: its key's id, admin, module: and the module's id, or service: and the
// name of the service that verified the user.
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

// Author names the principal in what it changes. A session's token names nobody: it stands for its session.
func (p Principal) Author() string {
	if p.FrontEnd() {
		return audit.BySession
	}
	return p.Name()
}

const principalKey = "earshot.principal"

// PrincipalOf returns the caller of a request; zero on open routes.
func PrincipalOf(c echo.Context) Principal {
	who, _ := c.Get(principalKey).(Principal)
	return who
}

// AppID returns the app of the principal's key or token; empty for the admin.
func (p Principal) AppID() string { return p.appID }

// Scopes returns the scopes of the principal's key.
func (p Principal) Scopes() []store.Permission { return p.scopes }

// FrontEnd reports whether the principal has a session token, as in a browser.
func (p Principal) FrontEnd() bool { return p.SessionID != "" }

// Life names the life of a front-end's session: by the session's id, and by its generation after a close.
func (p Principal) Life() string { return strings.TrimSpace(p.SessionID + " " + p.life.Session) }

// MaySay reports whether the principal may store messages of an actor: a session's token may only speak for its
// user.
func (p Principal) MaySay(actor string) bool { return actor == matcher.ActorUser || !p.FrontEnd() }

// Owner reports whether the principal may change the route's app, to which it has access.
func (p Principal) Owner() bool { return p.Admin || slices.Contains(p.scopes, store.PermitApp) }

// may reports whether the principal may use a route with these path ids.
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

// Access is the permissions that a route requires. The admin has all.
type Access struct {
	Scopes   []store.Permission // of the app's keys: any of them
	FrontEnd bool               // also the session's tokens
	// ByTrigger reports that the path names a trigger and no session: the handler checks that it belongs to the
	// token's session.
	ByTrigger bool
	// OwnSession reports that a path without a session means the token's session.
	OwnSession bool
	Anyone     bool // any authenticated caller, for a route without an app
}

// ReadOnly returns the access for read-only operations: the read variant of each scope suffices.
func (a Access) ReadOnly() Access {
	scopes := slices.Clone(a.Scopes)
	for _, scope := range a.Scopes {
		scopes = append(scopes, scope.ReadOnly())
	}
	a.Scopes = scopes
	return a
}

// Authorized admits callers that may use the route. It runs before anything that reveals data: others cannot
// distinguish existing from missing apps.
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

// Check returns why a principal lacks an access to an app and a session, which may be empty; nil if it has it.
// Only a key of that app learns which scope it lacks.
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
	return strings.Join(lists.Map(scopes, func(scope store.Permission) string { return string(scope) }), between)
}

// Forbidden is the same answer for every lack of permission.
func Forbidden() *answer.Problem {
	return answer.NewProblem(answer.NotPermitted, "this key or token does not permit this request").
		With("WWW-Authenticate", answer.Challenge+`, error="insufficient_scope"`)
}

// TokenQuery is the query parameter for a session token.
const TokenQuery = "access_token"

const (
	// Recheck is how often a stream checks its key: together with the age of the cached result, less than the
	// second that a revocation may take.
	Recheck   = 500 * time.Millisecond
	unchecked = 30 * time.Second // how long a stream stays open while its key cannot be checked
)

// Watch checks whether the credential of a stream is still valid. It is not safe for concurrent use.
type Watch struct {
	good    func(ctx context.Context) error
	now     func() time.Time
	checked time.Time // when it was last known to be valid
}

// Watch watches a principal, which is valid.
func (a Authenticator) Watch(who Principal) *Watch {
	return NewWatch(a.Now, func(ctx context.Context) error { return a.StillValid(ctx, who) })
}

// errSessionEnded ends the streams of a session whose readers stay valid.
var errSessionEnded = errors.New("the session was closed or erased")

// WatchIn watches a principal, which is valid, on a stream of a scope. A session that is closed or erased ends it too.
func (a Authenticator) WatchIn(ctx context.Context, who Principal, scope repositories.Scope) (*Watch, error) {
	if scope.SessionID == "" || who.FrontEnd() { // a session's token ends with it
		return a.Watch(who), nil
	}
	first, err := a.Keys.CachedGeneration(ctx, scope.AppID, scope.SessionID)
	if err != nil {
		return nil, err
	}
	return NewWatch(a.Now, func(ctx context.Context) error {
		err := a.StillValid(ctx, who)
		if err != nil {
			return err
		}
		life, err := a.Keys.CachedGeneration(ctx, scope.AppID, scope.SessionID)
		if err == nil && life != first {
			return errSessionEnded
		}
		return err
	}), nil
}

// NewWatch starts with a valid credential.
func NewWatch(now func() time.Time, good func(ctx context.Context) error) *Watch {
	return &Watch{good, now, now()}
}

// Over returns why the stream has to end; nil if it may continue. A failed lookup counts as valid for half a
// minute.
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
