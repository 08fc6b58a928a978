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
	claims  parameters.Claims
	refused []string
	faults  map[string]string // nil for none
}

// of verifies the ID tokens of a request, in the {service}_token headers of the app's services. Requests
// without any cost nothing. The claims of an access token are already verified.
func (u users) of(c echo.Context) (user, error) {
	found, err := u.in(c.Request().Context(), c.Param("appId"), c.Request().Header)
	if service, claims := auth.ClaimsOf(c); service != "" && err == nil {
		if found.claims == nil {
			found.claims = parameters.Claims{}
		}
		found.claims[service] = claims
	}
	return found, err
}

func (u users) in(ctx context.Context, appID string, sentWith http.Header) (user, error) {
	hasToken := false
	for name := range sentWith {
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
	found := user{claims: parameters.Claims{}}
	for _, service := range app.AuthServices {
		header := repositories.TokenHeader(service.Name)
		sent := sentWith.Values(header)
		if len(sent) == 0 || len(sent) == 1 && sent[0] == "" {
			continue
		}
		if len(sent) > 1 {
			found.refuse(service.Name, &identity.Refused{Fault: "malformed", Reason: "it was sent twice, and nobody knows which one is meant"})
			continue
		}
		claims, err := u.identities.Verify(ctx, service, sent[0])
		if err != nil {
			found.refuse(service.Name, err)
			continue
		}
		found.claims[service.Name] = claims
	}
	return found, nil
}

func (u *user) refuse(service string, err error) {
	u.refused = append(u.refused, repositories.TokenHeader(service)+": "+err.Error())
	if u.faults == nil {
		u.faults = map[string]string{}
	}
	u.faults[service] = "unavailable"
	if refused := (*identity.Refused)(nil); errors.As(err, &refused) {
		u.faults[service] = refused.Fault
	}
}

// explained adds to an Unverified error why the tokens of the request were refused.
func (u user) explained(err error) error {
	lacks := &repositories.Unverified{}
	if !errors.As(err, &lacks) || len(u.refused) == 0 {
		return err
	}
	found := *answer.ProblemOf(err)
	found.Detail += "; " + strings.Join(u.refused, "; ")
	return &found
}
