package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/identity"
	"earshot/api/signin"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// MetadataPath prefixes the metadata path of an MCP URL, followed by the URL's own path (RFC 9728, section
// 3.1).
const MetadataPath = "/.well-known/oauth-protected-resource"

// Issued verifies access tokens that an app's own issuers have given to users, at the app's MCP URLs.
type Issued struct {
	App     func(ctx context.Context, appID string) (*repositories.App, error)
	Session func(ctx context.Context, appID, sessionID string) (*repositories.Session, error)
	// Verify returns the claims of a token for a resource. Its error is an *identity.Refused.
	Verify func(ctx context.Context, service repositories.AuthService, token, resource string) (map[string]any, error)
}

// ResourceMetadata describes an MCP URL (RFC 9728, section 2).
type ResourceMetadata struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Methods  []string `json:"bearer_methods_supported"`
	// Scopes is only openid, which every issuer supports: scopes do not limit users here.
	Scopes []string `json:"scopes_supported"`
}

// Metadata returns the metadata of the MCP URL with this path at a host; nil if no issuer's tokens are accepted
// there, or the app does not exist.
func (i *Issued) Metadata(ctx context.Context, host, path string) (*ResourceMetadata, error) {
	appID, _, is := mcpPath(path)
	if i == nil || !is {
		return nil, nil
	}
	services, err := i.services(ctx, appID)
	if err != nil || len(services) == 0 {
		return nil, err
	}
	origin := services[0].Agents
	for _, service := range services {
		if at, err := url.Parse(service.Agents); err == nil && strings.EqualFold(at.Host, host) {
			origin = service.Agents
		}
	}
	found := &ResourceMetadata{Resource: origin + path, Methods: []string{"header"}, Scopes: []string{"openid"}}
	for _, service := range services {
		if service.Agents == origin {
			found.Issuers = append(found.Issuers, service.Issuer)
		}
	}
	return found, nil
}

// services returns the app's services whose tokens agents may use.
func (i *Issued) services(ctx context.Context, appID string) (list []repositories.AuthService, err error) {
	app, err := i.App(ctx, appID)
	if errors.Is(err, repositories.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(app.AuthServices), func(one repositories.AuthService) bool { return one.Agents == "" }), nil
}

func mcpPath(path string) (appID, sessionID string, is bool) {
	rest, is := strings.CutPrefix(path, "/v1/apps/")
	parts := strings.Split(rest, "/")
	if !is || len(parts) < 2 {
		return "", "", false
	}
	appID, parts = parts[0], parts[1:]
	if parts[0] == "sessions" && len(parts) > 2 {
		if sessionID, parts = parts[1], parts[2:]; !repositories.IsID(sessionID) {
			return "", "", false
		}
	}
	is = repositories.IsID(appID) && parts[0] == "mcp" && (len(parts) == 1 || len(parts) == 2 && repositories.IsID(parts[1]))
	return appID, sessionID, is
}

// bearer is the user of a verified token.
type bearer struct{ service, issuer, subject string }

// Bearer identifies the user of an issuer's token; empty for other principals.
func (p Principal) Bearer() string {
	if p.bearer.service == "" {
		return ""
	}
	return p.bearer.issuer + " " + p.bearer.subject
}

// claimsKey is the context key of a bearer's claims.
const claimsKey = "earshot.claims"

// ClaimsOf returns a bearer's claims and the service that verified them; an empty service for other callers.
func ClaimsOf(c echo.Context) (service string, claims map[string]any) {
	claims, _ = c.Get(claimsKey).(map[string]any)
	return PrincipalOf(c).bearer.service, claims
}

// issued authenticates the token of an app's issuer. found is false for other credentials.
func (a Authenticator) issued(c echo.Context, sent secret.Secret) (who Principal, found bool, err error) {
	if a.Issued == nil || !store.IsJWT(sent) {
		return Principal{}, false, nil
	}
	ctx, path := c.Request().Context(), c.Request().URL.Path
	appID, sessionID, is := mcpPath(path)
	if !is {
		return Principal{}, false, nil
	}
	services, err := a.Issued.services(ctx, appID)
	if err != nil {
		return Principal{}, true, err
	}
	var named struct {
		Issuer string `json:"iss"`
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(sent.Reveal(), ".")[1])
	if err != nil || json.Unmarshal(payload, &named) != nil {
		return Principal{}, false, nil
	}
	var claims map[string]any
	for _, service := range services {
		if service.Issuer != named.Issuer {
			continue
		}
		if claims, err = a.Issued.Verify(ctx, service, sent.Reveal(), service.Agents+path); err == nil {
			subject, _ := claims["sub"].(string)
			who.bearer = bearer{service.Name, service.Issuer, subject}
			break
		}
	}
	switch {
	case err != nil:
		return Principal{}, true, a.SignIns.Settle(signin.DoorOf(ctx), signin.Try{Client: signin.ClientOf(c.Request()), Account: "token", Credential: sent, Strong: true}, refused(err))
	case who.bearer.service == "":
		return Principal{}, false, nil
	case who.bearer.subject == "":
		return Principal{}, true, refused(&identity.Refused{Reason: "it names no user (sub)"})
	}
	seconds, _ := claims["exp"].(json.Number)
	expires, _ := seconds.Float64()
	who.appID, who.SessionID, who.Expires = appID, sessionID, time.Unix(int64(expires), 0)
	if sessionID == "" {
		who.scopes, who.RootKey = []store.Permission{store.PermitTriggers}, serviceName+who.bearer.service
	} else if err := a.ofSession(ctx, who); err != nil {
		return Principal{}, true, err
	}
	c.Set(claimsKey, claims)
	return who, true, nil
}

// serviceName prefixes the name of a user with a service's token.
const serviceName = "service:"

func refused(err error) error {
	was := &identity.Refused{Reason: "it could not be verified"}
	errors.As(err, &was)
	code, detail := answer.KeyInvalid, "the access token was not accepted: "+was.Reason
	switch was.Fault {
	case "unavailable":
		return answer.NewProblem(answer.IssuerUnavailable, detail).With("Retry-After", answer.Soon)
	case "expired":
		code = answer.KeyExpired
	case "audience":
		detail += "; it is to be the URL of the MCP server, as its metadata has it, or the audience of the service"
	}
	return answer.NewProblem(code, detail).With("WWW-Authenticate", answer.Challenge+`, error="invalid_token"`)
}

// ofSession fails unless the session belongs to the user.
func (a Authenticator) ofSession(ctx context.Context, who Principal) error {
	session, err := a.Issued.Session(ctx, who.appID, who.SessionID)
	if err != nil && !errors.Is(err, repositories.ErrNotFound) {
		return err
	}
	if err != nil || session.User != who.bearer.subject {
		return answer.NewProblem(answer.NotPermitted, "this session belongs to another user than the access token, or to no user: the session's user must be the token's sub")
	}
	return nil
}

// stillIssued returns why the app no longer accepts an issuer's token.
func (a Authenticator) stillIssued(ctx context.Context, who Principal) error {
	services, err := a.Issued.services(ctx, who.appID)
	if err != nil {
		return err
	}
	for _, service := range services {
		if service.Name == who.bearer.service && service.Issuer == who.bearer.issuer {
			if who.SessionID == "" {
				return nil
			}
			return a.ofSession(ctx, who)
		}
	}
	return errServiceOver
}

// challenged adds the metadata's URL to a 401 at an MCP URL.
func (a Authenticator) challenged(c echo.Context, err error) error {
	var problem *answer.Problem
	if !errors.As(err, &problem) || problem.Status != http.StatusUnauthorized {
		return err
	}
	found, failed := a.Issued.Metadata(c.Request().Context(), c.Request().Host, c.Request().URL.Path)
	if failed != nil || found == nil {
		return err
	}
	at := strings.TrimSuffix(found.Resource, c.Request().URL.Path) + MetadataPath + c.Request().URL.Path
	header := http.Header{}
	problem.SetHeader(header)
	return problem.With("WWW-Authenticate", header.Get("WWW-Authenticate")+`, resource_metadata="`+at+`"`)
}
