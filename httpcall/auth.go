package httpcall

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"

	"earshot/repositories"
	"earshot/trigger/effect"
)

// authentication is what a call authenticates itself with: nothing, a fixed Authorization
// header, or a token that a grant is good for.
type authentication struct {
	fixed string
	grant *grant
}

// authenticationOf finds the credential that a request asks for. What it asks for and does
// not have ends the call: it is never sent without.
func authenticationOf(app *repositories.App, request *repositories.Request, target *url.URL) (authentication, error) {
	switch way := wayOf(request); way {
	case repositories.AuthNone:
		return authentication{}, nil
	case repositories.AuthBasic:
		return basic(request.Basic)
	case repositories.AuthBearer:
		return bearer(app, request.Bearer)
	case repositories.AuthModule:
		return module(app, request, target)
	default:
		return authentication{}, dead(effect.ReasonAuth, "request.auth %q is none of none, basic, bearer, module", clip(way))
	}
}

// wayOf returns the way of authentication; what is given says it where auth is missing.
func wayOf(request *repositories.Request) string {
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

// basic follows RFC 7617, where a user name cannot hold a colon.
func basic(given *repositories.Basic) (authentication, error) {
	if given == nil {
		return authentication{}, dead(effect.ReasonAuth, "request.auth is basic and request.basic is missing")
	}
	if strings.Contains(given.Username, ":") {
		return authentication{}, dead(effect.ReasonAuth, "request.basic.username holds a colon, which basic authentication cannot carry")
	}
	return authentication{fixed: "Basic " + base64.StdEncoding.EncodeToString([]byte(given.Username+":"+given.Password.Reveal()))}, nil
}

func bearer(app *repositories.App, given *repositories.Bearer) (authentication, error) {
	if given == nil {
		return authentication{}, dead(effect.ReasonAuth, "request.auth is bearer and request.bearer is missing")
	}
	g := &grant{
		app: app.ID, kind: or(given.ClientType, repositories.GrantClientCredentials),
		clientID: given.ClientID, secret: given.ClientSecret,
		username: given.Username, password: given.Password,
		tokenURL: given.TokenURL, refreshURL: given.RefreshURL,
		audience: given.Audience, scopes: given.Scopes,
	}
	return authentication{grant: g}, g.check()
}

// module is looked at with every call: its hosts may have been changed since the tool was
// written, and the place of its source as well.
func module(app *repositories.App, request *repositories.Request, target *url.URL) (authentication, error) {
	id := request.ModuleID
	found, ok := app.Module(id)
	if !ok {
		return authentication{}, dead(effect.ReasonAuth, "app %q has no module %q that request.moduleId names", app.ID, clip(id))
	}
	if !request.MayUse(found, target.Hostname()) {
		return authentication{}, dead(effect.ReasonAuth, "the hosts of module %q do not name %s; add it to them, or have the tool written by somebody who may change the app", id, target.Hostname())
	}
	g := &grant{
		app: app.ID, kind: repositories.GrantClientCredentials,
		clientID: found.OAuthClient(), secret: found.Secret,
		tokenURL: found.TokenURL, audience: found.Audience, scopes: found.Scopes,
	}
	return authentication{grant: g}, g.check()
}

const bearerPrefix = "Bearer "

func bearerOf(authorization string) string { return strings.TrimPrefix(authorization, bearerPrefix) }

// authorization returns the call's Authorization header, empty for none, and has it
// masked in what the endpoint answers.
func (c *Caller) authorization(ctx context.Context, call *preparedCall) (string, error) {
	if call.auth.grant == nil {
		return call.auth.fixed, nil
	}
	access, err := c.tokens.get(ctx, call.auth.grant)
	if err != nil {
		return "", err
	}
	call.redactor.add(access)
	return bearerPrefix + access, nil
}
