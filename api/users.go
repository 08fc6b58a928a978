package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/identity"
	"earshot/repositories"
	"earshot/repositories/parameters"
)

// Identities verifies the ID token of a user. Its error is an *identity.Refused, which tells the sender why
// and repeats nothing of the token.
type Identities interface {
	Verify(ctx context.Context, service repositories.AuthService, token string) (claims map[string]any, err error)
	// VerifyAccess verifies an access token, which may be bound to a resource.
	VerifyAccess(ctx context.Context, service repositories.AuthService, token, resource string) (claims map[string]any, err error)
}

type users struct {
	apps       appReader
	identities Identities
}

// user holds the verified claims of a user, and why other tokens were refused, in words and by service.
type user struct {
	claims   parameters.Claims
	refusals []string
	faults   map[string]string // nil for none
}

// verify verifies the ID tokens of a request, in the {service}_token headers of the app's services. Requests
// without any cost nothing. The claims of an access token are already verified.
func (u users) verify(c echo.Context) (user, error) {
	verified, err := u.verifyHeaders(c.Request().Context(), c.Param("appId"), c.Request().Header)
	if service, claims := auth.ClaimsOf(c); service != "" && err == nil {
		if verified.claims == nil {
			verified.claims = parameters.Claims{}
		}
		verified.claims[service] = claims
	}
	return verified, err
}

func (u users) verifyHeaders(ctx context.Context, appID string, headers http.Header) (user, error) {
	hasToken := false
	for name := range headers {
		end := name[max(0, len(name)-len(repositories.TokenHeaderEnd)):]
		hasToken = hasToken || strings.EqualFold(end, repositories.TokenHeaderEnd)
	}
	if u.identities == nil || !hasToken {
		return user{}, nil
	}
	app, err := u.apps.App(ctx, appID)
	if err != nil {
		return user{}, err
	}
	verified := user{claims: parameters.Claims{}}
	for _, service := range app.AuthServices {
		header := repositories.TokenHeader(service.Name)
		tokens := headers.Values(header)
		if len(tokens) == 0 || len(tokens) == 1 && tokens[0] == "" {
			continue
		}
		if len(tokens) > 1 {
			verified.refuse(service.Name, &identity.Refused{Fault: "malformed", Reason: "it was sent twice, and nobody knows which one is meant"})
			continue
		}
		claims, err := u.identities.Verify(ctx, service, tokens[0])
		if err != nil {
			verified.refuse(service.Name, err)
			continue
		}
		verified.claims[service.Name] = claims
	}
	return verified, nil
}

func (u *user) refuse(service string, err error) {
	u.refusals = append(u.refusals, repositories.TokenHeader(service)+": "+err.Error())
	if u.faults == nil {
		u.faults = map[string]string{}
	}
	u.faults[service] = "unavailable"
	if refused := (*identity.Refused)(nil); errors.As(err, &refused) {
		u.faults[service] = refused.Fault
	}
}

// explain adds to an Unverified error why the tokens of the request were refused.
func (u user) explain(err error) error {
	unverified := &repositories.Unverified{}
	if !errors.As(err, &unverified) || len(u.refusals) == 0 {
		return err
	}
	problem := *answer.ProblemOf(err)
	problem.Detail += "; " + strings.Join(u.refusals, "; ")
	return &problem
}
