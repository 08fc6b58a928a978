package httpcall

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"

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

// credentialOf finds the credentials that a request asks for. Where they are missing, the
// call ends: it is never sent without.
func credentialOf(app *repositories.App, request *repositories.Request, target *url.URL) (credentials, error) {
	switch method := authMethodOf(request); method {
	case repositories.AuthNone:
		return credentials{}, nil
	case repositories.AuthBasic:
		return basicCredentials(request.Basic)
	case repositories.AuthBearer:
		return bearerCredentials(app, request.Bearer)
	case repositories.AuthModule:
		return moduleCredentials(app, request, target)
	default:
		return credentials{}, effect.Permanent(effect.ReasonAuth, "request.auth %q is none of none, basic, bearer, module", effect.Clip(method))
	}
}

// authMethodOf returns the method of authentication; where request.auth is missing, what
// else is given says it.
func authMethodOf(request *repositories.Request) string {
	switch {
	case request.Auth != "":
		return request.Auth
	case request.Bearer != nil:
		return repositories.AuthBearer
	case request.Basic != nil:
		return repositories.AuthBasic
	case request.ModuleID != "":
		return repositories.AuthModule
	default:
		return repositories.AuthNone
	}
}

// basicCredentials are those of RFC 7617, where a user name cannot hold a colon.
func basicCredentials(given *repositories.Basic) (credentials, error) {
	if given == nil {
		return credentials{}, effect.Permanent(effect.ReasonAuth, "request.auth is basic and request.basic is missing")
	}
	if strings.Contains(given.Username, ":") {
		return credentials{}, effect.Permanent(effect.ReasonAuth, "request.basic.username holds a colon, which basic authentication cannot carry")
	}
	return credentials{fixed: "Basic " + base64.StdEncoding.EncodeToString([]byte(given.Username+":"+given.Password.Reveal()))}, nil
}

func bearerCredentials(app *repositories.App, given *repositories.Bearer) (credentials, error) {
	if given == nil {
		return credentials{}, effect.Permanent(effect.ReasonAuth, "request.auth is bearer and request.bearer is missing")
	}
	g := &grant{
		app: app.ID, kind: or(given.ClientType, repositories.GrantClientCredentials),
		clientID: given.ClientID, secret: given.ClientSecret,
		username: given.Username, password: given.Password,
		tokenURL: given.TokenURL, refreshURL: given.RefreshURL,
		audience: given.Audience, scopes: given.Scopes,
	}
	return credentials{grant: g}, g.check()
}

// moduleCredentials looks the module up with every call: its hosts may have been changed
// since the tool was written, and the URL of its source as well.
func moduleCredentials(app *repositories.App, request *repositories.Request, target *url.URL) (credentials, error) {
	id := request.ModuleID
	found, ok := app.Module(id)
	if !ok {
		return credentials{}, effect.Permanent(effect.ReasonAuth, "app %q has no module %q that request.moduleId names", app.ID, effect.Clip(id))
	}
	if !request.MayUse(found, target.Hostname()) {
		return credentials{}, effect.Permanent(effect.ReasonAuth, "the hosts of module %q do not name %s; add it to them, or have the tool written by somebody who may change the app", id, target.Hostname())
	}
	g := &grant{
		app: app.ID, kind: repositories.GrantClientCredentials,
		clientID: found.OAuthClient(), secret: found.Secret,
		tokenURL: found.TokenURL, audience: found.Audience, scopes: found.Scopes,
	}
	return credentials{grant: g}, g.check()
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
}

// check refuses a grant that no endpoint could answer.
func (g *grant) check() error {
	if g.kind != repositories.GrantClientCredentials && g.kind != repositories.GrantPassword {
		return effect.Permanent(effect.ReasonAuth, "bearer.clientType %q is none of %s, %s",
			effect.Clip(g.kind), repositories.GrantClientCredentials, repositories.GrantPassword)
	}
	if !callable(g.tokenURL) || g.refreshURL != "" && !callable(g.refreshURL) {
		return effect.Permanent(effect.ReasonAuth, "tokenUrl and refreshUrl must be as in https://host/path")
	}
	return nil
}

func callable(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != ""
}

// key is equal for grants that get the same token: all that was given is in it, the
// app first, so that no two apps or credentials ever share one. It is a hash, as the
// credentials are in it too.
func (g *grant) key() string {
	parts, _ := json.Marshal([]any{ // strings never fail
		g.app, g.kind, g.clientID, g.secret.Reveal(), g.username, g.password.Reveal(),
		g.tokenURL, g.refreshURL, g.audience, g.scopes,
	})
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:])
}

// fields are the form fields of a token request beside the client's and the scope.
func (g *grant) fields() url.Values {
	fields := url.Values{"grant_type": {g.kind}}
	if g.kind == repositories.GrantPassword {
		fields.Set("username", g.username)
		fields.Set("password", g.password.Reveal())
	}
	if g.audience != "" {
		fields.Set("audience", g.audience)
	}
	return fields
}

// refreshFields are those of a refresh request (RFC 6749 6).
func refreshFields(refreshToken string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}}
}

const bearerPrefix = "Bearer "

func bearerOf(authorization string) string { return strings.TrimPrefix(authorization, bearerPrefix) }

// authorization returns the call's Authorization header, empty for none, and has it
// redacted in what the endpoint answers.
func (c *Caller) authorization(ctx context.Context, call *preparedCall) (string, error) {
	if call.credential.grant == nil {
		return call.credential.fixed, nil
	}
	access, err := c.tokens.get(ctx, call.credential.grant)
	if err != nil {
		return "", err
	}
	call.redactor.add(access)
	return bearerPrefix + access, nil
}
