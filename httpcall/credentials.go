package httpcall

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// credentials are what a call authenticates itself with: nothing, a fixed Authorization
// header, or the access token of an OAuth 2.0 grant.
type credentials struct {
	fixed string
	grant *grant
}

// credentialsOf finds the credentials that a request asks for. If they are missing, the
// call ends: it is never sent without. A module is looked up with every call: its hosts may
// have been changed since the tool was written, and the URL of its source as well.
func credentialsOf(app *repositories.App, request *repositories.Request, target *url.URL) (credentials, error) {
	method := request.Auth
	if method == "" { // what else is given says it
		switch {
		case request.Bearer != nil:
			method = repositories.AuthBearer
		case request.Basic != nil:
			method = repositories.AuthBasic
		case request.ModuleID != "":
			method = repositories.AuthModule
		default:
			return credentials{}, nil
		}
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
			return credentials{}, effect.Permanent(effect.ReasonAuth, "the hosts of module %q do not name %s; add it to them, or have the tool written by somebody who may change the app", request.ModuleID, target.Hostname())
		}
		g.kind, g.clientID, g.secret = repositories.GrantClientCredentials, module.OAuthClient(), module.Secret
		g.tokenURL, g.audience, g.scopes = module.TokenURL, module.Audience, module.Scopes
	default:
		return credentials{}, effect.Permanent(effect.ReasonAuth, "request.auth %q is none of none, basic, bearer, module", effect.Clip(method))
	}
	return credentials{grant: g}, g.complete()
}

// grant is an OAuth 2.0 grant (RFC 6749 1.3): all that an access token is requested with.
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

	// key is equal for grants that get the same token: all that was given is in it, the
	// app first, so that no two apps or credentials ever share one. It is a hash, as the
	// credentials are in it too.
	key string
	// server names the token endpoint without what its path and query may hold.
	server string
	host   string
}

// complete derives the last fields, and refuses a grant that no endpoint could answer.
func (g *grant) complete() error {
	if g.kind != repositories.GrantClientCredentials && g.kind != repositories.GrantPassword {
		return effect.Permanent(effect.ReasonAuth, "bearer.clientType %q is none of %s, %s",
			effect.Clip(g.kind), repositories.GrantClientCredentials, repositories.GrantPassword)
	}
	endpoint, err := url.Parse(g.tokenURL)
	refresh, bad := url.Parse(g.refreshURL)
	if err != nil || !isHTTP(endpoint) || g.refreshURL != "" && (bad != nil || !isHTTP(refresh)) {
		return effect.Permanent(effect.ReasonAuth, "tokenUrl and refreshUrl must be as in https://host/path")
	}
	g.server, g.host = endpoint.Scheme+"://"+endpoint.Host, endpoint.Hostname()
	g.key = hashOf(g.app, g.kind, g.clientID, g.secret.Reveal(), g.username, g.password.Reveal(), g.tokenURL, g.refreshURL, g.audience, g.scopes)
	return nil
}

func isHTTP(target *url.URL) bool {
	return (target.Scheme == "http" || target.Scheme == "https") && target.Hostname() != ""
}

func hashOf(parts ...any) string {
	text, _ := json.Marshal(parts) // texts always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// authorizer is the http.RoundTripper of one call: it sends its requests with the call's
// credentials. After a 401 to a token it sends a request once more with a new one.
type authorizer struct {
	credentials
	tokens   *tokenCache
	base     http.RoundTripper
	header   http.Header // added to each request that has no other value
	redactor *redactor   // masks the tokens that are sent
	once     atomic.Bool // no request is sent twice from now on
	ready    string      // the Authorization header of a call of one request
}

// RoundTrip implements http.RoundTripper. An error of a token is an effect.Failure.
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
	a.tokens.drop(a.grant, strings.TrimPrefix(authorization, bearerPrefix))
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

// authorization returns the Authorization header of a request, empty for none.
func (a *authorizer) authorization(ctx context.Context) (string, error) {
	if a.grant == nil {
		return a.fixed, nil
	}
	token, err := a.tokens.get(ctx, a.grant)
	if err != nil {
		return "", err
	}
	a.redactor.add(token)
	return bearerPrefix + token, nil
}

// send sends a request with a body of its own.
func (a *authorizer) send(request *http.Request, authorization string) (*http.Response, error) {
	next := request.WithContext(request.Context())
	next.Header = request.Header.Clone()
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
