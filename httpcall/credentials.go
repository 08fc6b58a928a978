package httpcall

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/neterr"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// credentials is empty, a fixed Authorization header, or an OAuth 2.0 grant.
type credentials struct {
	fixed string
	grant *grant
}

// credentialsOf returns the credentials of a request. The module is checked on every call, as its hosts and the
// source's URL may have changed.
func credentialsOf(app *repositories.App, request *repositories.Request, target *url.URL) (credentials, error) {
	method := request.Auth
	switch { // the other fields imply the default
	case method != "":
	case request.Bearer != nil:
		method = repositories.AuthBearer
	case request.Basic != nil:
		method = repositories.AuthBasic
	case request.ModuleID != "":
		method = repositories.AuthModule
	default:
		method = repositories.AuthNone
	}
	g := &grant{app: app.ID}
	switch method {
	case repositories.AuthNone:
		return credentials{}, nil
	case repositories.AuthBasic:
		given := request.Basic
		if given == nil {
			return credentials{}, effect.Permanent(effect.ReasonAuth, "request.auth is basic and request.basic is missing")
		}
		if strings.Contains(given.Username, ":") { // RFC 7617
			return credentials{}, effect.Permanent(effect.ReasonAuth, "request.basic.username holds a colon, which basic authentication cannot carry")
		}
		return credentials{fixed: "Basic " + base64.StdEncoding.EncodeToString([]byte(given.Username+":"+given.Password.Reveal()))}, nil
	case repositories.AuthBearer:
		given := request.Bearer
		if given == nil {
			return credentials{}, effect.Permanent(effect.ReasonAuth, "request.auth is bearer and request.bearer is missing")
		}
		g.kind, g.clientID, g.secret = cmp.Or(given.ClientType, repositories.GrantClientCredentials), given.ClientID, given.ClientSecret
		g.username, g.password, g.refreshURL = given.Username, given.Password, given.RefreshURL
		g.tokenURL, g.audience, g.scopes = given.TokenURL, given.Audience, given.Scopes
	case repositories.AuthModule:
		module, found := app.Module(request.ModuleID)
		if !found {
			return credentials{}, effect.Permanent(effect.ReasonAuth, "app %q has no module %q that request.moduleId names", app.ID, effect.Clip(request.ModuleID))
		}
		if !request.MayUse(module, target.Hostname()) {
			return credentials{}, effect.Permanent(effect.ReasonAuth, "the hosts of module %q do not include %s; add it there, or have the tool written with a key that may change the app", request.ModuleID, target.Hostname())
		}
		g.kind, g.clientID, g.secret = repositories.GrantClientCredentials, module.OAuthClient(), module.Secret
		g.tokenURL, g.audience, g.scopes = module.TokenURL, module.Audience, module.Scopes
	default:
		return credentials{}, effect.Permanent(effect.ReasonAuth, "request.auth %q is not one of none, basic, bearer, module", effect.Clip(method))
	}
	if g.kind != repositories.GrantClientCredentials && g.kind != repositories.GrantPassword {
		return credentials{}, effect.Permanent(effect.ReasonAuth, "bearer.clientType %q is not one of %s, %s",
			effect.Clip(g.kind), repositories.GrantClientCredentials, repositories.GrantPassword)
	}
	endpoint, err := url.Parse(g.tokenURL)
	refresh, bad := url.Parse(g.refreshURL)
	if err != nil || !isHTTP(endpoint) || g.refreshURL != "" && (bad != nil || !isHTTP(refresh)) {
		return credentials{}, effect.Permanent(effect.ReasonAuth, "tokenUrl and refreshUrl must be http or https URLs with a host, as https://host/path")
	}
	g.server, g.host = endpoint.Scheme+"://"+endpoint.Host, endpoint.Hostname()
	g.key = hashOf(g.app, g.kind, g.clientID, g.secret.Reveal(), g.username, g.password.Reveal(), g.tokenURL, g.refreshURL, g.audience, g.scopes)
	return credentials{grant: g}, nil
}

// grant is an OAuth 2.0 grant (RFC 6749 1.3) with the parameters of its token request.
type grant struct {
	app        string
	kind       string // client_credentials or password
	clientID   string
	secret     secret.Secret
	username   string
	password   secret.Secret
	tokenURL   string
	refreshURL string
	audience   string
	scopes     []string

	// key identifies grants with the same token: a hash of all parameters and the app.
	key    string
	server string
	host   string
}

func isHTTP(target *url.URL) bool {
	return (target.Scheme == "http" || target.Scheme == "https") && target.Hostname() != ""
}

func hashOf(parts ...any) string {
	text, _ := json.Marshal(parts) // strings always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// authorizer is the http.RoundTripper of one call. After a 401 it sends once more with a new token.
type authorizer struct {
	credentials
	tokens   *tokenCache
	base     http.RoundTripper
	header   http.Header // added to requests without this header
	redactor *redactor   // masks the tokens
	once     atomic.Bool // no further request may be repeated
	ready    string      // the Authorization header of a single-request call
}

// RoundTrip implements http.RoundTripper. If no token is obtained, it returns an *effect.Failure.
func (a *authorizer) RoundTrip(request *http.Request) (*http.Response, error) {
	authorization := a.ready
	if authorization == "" {
		var err error
		if authorization, err = a.authorization(request.Context()); err != nil {
			return nil, err
		}
	}
	response, err := a.send(request, authorization)
	if err != nil || response.StatusCode != http.StatusUnauthorized || a.grant == nil {
		return response, err
	}
	a.tokens.mu.Lock()
	have, known := a.tokens.cached.Get(a.grant.key)
	if known && have.text == strings.TrimPrefix(authorization, bearerPrefix) { // no other call has replaced it
		a.tokens.cached.Add(a.grant.key, accessToken{style: have.style})
	}
	a.tokens.mu.Unlock()
	if a.once.Load() || request.Body != nil && request.GetBody == nil {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, redactionMargin)
	response.Body.Close()
	if authorization, err = a.authorization(request.Context()); err != nil {
		return nil, err
	}
	return a.send(request, authorization)
}

const bearerPrefix = "Bearer "

// authorization returns the Authorization header of a request; empty for none.
func (a *authorizer) authorization(ctx context.Context) (string, error) {
	if a.grant == nil {
		return a.fixed, nil
	}
	// Calls use a token during its renewal while it is valid. A call waits at most until ctx ends; the token
	// request continues.
	now := a.tokens.now()
	have, _ := a.tokens.cached.Get(a.grant.key)
	token := have.text
	if token == "" || !now.Before(have.renew) {
		answer := a.tokens.flight.DoChan(a.grant.key, func() (any, error) { return a.tokens.renew(ctx, a.grant) })
		if token == "" || !now.Before(have.end) {
			select {
			case result := <-answer:
				if result.Err != nil {
					return "", result.Err
				}
				token, _ = result.Val.(string)
			case <-ctx.Done():
				return "", effect.Transient(effect.ReasonAuth, "no token from %s within the time of the call", a.grant.server)
			}
		}
	}
	a.redactor.add(token)
	return bearerPrefix + token, nil
}

// send sends a copy of the request with its own body.
func (a *authorizer) send(request *http.Request, authorization string) (*http.Response, error) {
	next := request.Clone(request.Context())
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		next.Body = body
	}
	for name, values := range a.header {
		if next.Header.Get(name) == "" {
			next.Header[name] = values
		}
	}
	if authorization != "" {
		next.Header.Set("Authorization", authorization)
	}
	return a.base.RoundTrip(next)
}

// tokenCache caches access tokens per replica. Concurrent calls share one token request.
type tokenCache struct {
	mu     sync.Mutex // held to change cached, never during a request
	cached *lru.Cache[string, accessToken]
	flight singleflight.Group
	client *http.Client
	limit  time.Duration // of one request
	now    func() time.Time
	log    *slog.Logger
}

type accessToken struct {
	text, refresh string
	renew         time.Time // when to renew it
	end           time.Time // when it expires
	// style is how its endpoint accepts the client's credentials.
	style oauth2.AuthStyle
}

// renew replaces the cached token by the refresh token, or else by the grant. A refresh may use half of the
// time limit, so that a stalled endpoint leaves time for the grant. The request continues after ctx ends.
func (t *tokenCache) renew(ctx context.Context, g *grant) (token string, err error) {
	have, _ := t.cached.Get(g.key)
	if have.text != "" && t.now().Before(have.renew) {
		return have.text, nil // renewed by the previous flight
	}
	limited, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	made, err := accessToken{}, errUnusable
	if have.refresh != "" && g.refreshURL != "" {
		half, cancel := context.WithTimeout(limited, t.limit/2)
		made, err = t.request(half, g, g.refreshURL, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {have.refresh}}, have.style)
		cancel()
	}
	if err != nil {
		fields := url.Values{"grant_type": {g.kind}}
		if g.kind == repositories.GrantPassword {
			fields.Set("username", g.username)
			fields.Set("password", g.password.Reveal())
		}
		if g.audience != "" {
			fields.Set("audience", g.audience)
		}
		made, err = t.request(limited, g, g.tokenURL, fields, have.style)
	}
	if err != nil {
		if text := logText(err); text != "" {
			t.log.InfoContext(ctx, "token.unanswered", "app", g.app, "host", g.server, "error", text)
		}
		return "", tokenFailure(err, g, t.now())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cached.Add(g.key, made)
	return made.text, nil
}

// errUnusable means a 2xx answer of a token endpoint without a usable token.
var errUnusable = errors.New("the answer has no usable access_token")

// fraction matches the fraction of an expires_in, which RFC 6749 allows as a number and oauth2 does not read.
var fraction = regexp.MustCompile(`("expires_in"\s*:\s*"?\d+)\.\d+`)

// wholeSeconds is a transport to token endpoints that leaves out fractions of expires_in.
type wholeSeconds struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w wholeSeconds) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTokenAnswer))
	if err != nil {
		return response, nil // its body fails again where it is read
	}
	_ = response.Body.Close() // it was read
	response.Body = io.NopCloser(bytes.NewReader(fraction.ReplaceAll(body, []byte("$1"))))
	return response, nil
}

// request requests a token. It sends the client's credentials in the form, and after invalid_client or 401 by
// basic authentication (RFC 6749 2.3.1).
func (t *tokenCache) request(ctx context.Context, g *grant, endpoint string, fields url.Values, style oauth2.AuthStyle) (accessToken, error) {
	config := &clientcredentials.Config{
		ClientID: g.clientID, ClientSecret: g.secret.Reveal(), TokenURL: endpoint,
		Scopes: g.scopes, EndpointParams: fields, AuthStyle: cmp.Or(style, oauth2.AuthStyleInParams),
	}
	client := *t.client
	client.Transport = wholeSeconds{client.Transport}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &client)
	given, err := config.Token(ctx)
	var refused *oauth2.RetrieveError
	if config.AuthStyle == oauth2.AuthStyleInParams && !g.secret.Empty() && errors.As(err, &refused) &&
		(refused.ErrorCode == "invalid_client" || refused.Response.StatusCode == http.StatusUnauthorized) {
		config.AuthStyle = oauth2.AuthStyleInHeader
		given, err = config.Token(ctx)
	}
	if err != nil {
		return accessToken{}, err
	}
	if !httpguts.ValidHeaderFieldValue(given.AccessToken) {
		return accessToken{}, errUnusable
	}
	ttl, now := defaultLifetime, t.now()
	if !given.Expiry.IsZero() {
		ttl = max(0, time.Until(given.Expiry)) // oauth2 uses the machine's clock
	}
	return accessToken{
		text: given.AccessToken, refresh: given.RefreshToken, style: config.AuthStyle,
		renew: now.Add(ttl - min(maxRenewalMargin, ttl/5)), end: now.Add(ttl),
	}, nil
}

const (
	// maxTokenAnswer bounds the answer of a token endpoint, in bytes.
	maxTokenAnswer = 1 << 20
	// defaultLifetime is used for a token without expires_in; a 401 reveals an earlier expiry.
	defaultLifetime = 5 * time.Minute
	// maxRenewalMargin is longer than a call takes. A short-lived token is renewed after four fifths of its
	// time.
	maxRenewalMargin = 30 * time.Second
)

// knownCodes lists the error codes of RFC 6749 5.2 and 4.1.2.1 and of RFC 8707 2.
var knownCodes = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
	"invalid_scope", "access_denied", "server_error", "temporarily_unavailable", "invalid_target",
}

// tokenFailure classifies the error of a token request. An error in a 200 answer is a refusal. The text
// contains only the status and a known code: the answer may echo credentials.
func tokenFailure(err error, g *grant, now time.Time) error {
	var closed *guard.Blocked
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &closed):
		return effect.Permanent(effect.ReasonBlocked, "the token request to %s: %s", g.server, closed.Toward(g.host))
	case errors.As(err, &answered): // below
	case errors.As(err, new(*url.Error)):
		return effect.Transient(effect.ReasonAuth, "no token from %s: %s", g.server, publicText(err))
	case timedOut(err):
		return effect.Transient(effect.ReasonAuth, "no token from %s: its answer did not end in time", g.server)
	default:
		return effect.Transient(effect.ReasonAuth, "no token from %s: %s", g.server, errUnusable)
	}
	status := answered.Response.StatusCode
	text := fmt.Sprintf("no token from %s: it answered %d %s", g.server, status, http.StatusText(status))
	if slices.Contains(knownCodes, answered.ErrorCode) {
		text += " (" + answered.ErrorCode + ")"
	}
	if verdict, _ := verdictOf(status); verdict != effect.Retry {
		return effect.Permanent(effect.ReasonAuth, "%s%s", text, explainStatus(status, "tokenUrl"))
	}
	outcome := effect.OutcomeOf(effect.Transient(effect.ReasonAuth, "%s", text))
	outcome.After = neterr.RetryAfter(answered.Response.Header, now, repositories.MostRetryFor)
	return &effect.Failure{Outcome: outcome}
}
