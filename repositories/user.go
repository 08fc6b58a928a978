package repositories

import (
	"fmt"
	"slices"
	"strings"

	"earshot/repositories/parameters"
)

// Unverified is the error for a tool that needs a verified user and has none.
type Unverified struct {
	Tool     string
	Services []string                // one of them must be verified; empty if one is
	Faults   []parameters.ValueFault // the authenticated parameters that cannot be filled
}

// Error names the services and how to send their tokens, or the first parameter.
func (u *Unverified) Error() string {
	if len(u.Services) > 0 {
		return fmt.Sprintf("tool %q requires a verified user: send an ID token of %s as the header %s",
			u.Tool, strings.Join(u.Services, " or "), strings.Join(tokenHeaders(u.Services), " or "))
	}
	return fmt.Sprintf("tool %q requires a verified user: %s %s", u.Tool, u.Faults[0].Parameter, u.Faults[0].Detail)
}

// TokenHeader names the header in which a service's ID token is sent.
func TokenHeader(service string) string { return service + TokenHeaderEnd }

// TokenHeaderEnd is how the name of every such header ends.
const TokenHeaderEnd = "_token"

func tokenHeaders(services []string) []string {
	names := make([]string, len(services))
	for i, service := range services {
		names[i] = TokenHeader(service)
	}
	return names
}

// AsksForUser reports whether the tool can be used by verified users alone.
func (t *Tool) AsksForUser() bool { return len(t.AuthRequired) > 0 || t.Params().Authenticated() }

// For returns the tool as it is for a user with these claims: its authenticated parameters
// have the claims' values, which take precedence like static values. The error is an
// *Unverified if the tool cannot be used. A tool that needs no verified user is returned
// unchanged.
func (t *Tool) For(claims parameters.Claims) (*Tool, error) {
	if !t.AsksForUser() {
		return t, nil
	}
	lacks := &Unverified{Tool: t.Name}
	if len(t.AuthRequired) > 0 && !slices.ContainsFunc(t.AuthRequired, claims.Verified) {
		lacks.Services = t.AuthRequired
	}
	filled, faults := t.Params().Authenticate(claims)
	if lacks.Faults = faults; len(lacks.Services)+len(faults) > 0 {
		return nil, lacks
	}
	next := *t
	next.params = filled
	return &next, nil
}

// NeededClaims returns only those claims that the tools of the repositories ask for: no
// others may be stored.
func NeededClaims(c parameters.Claims, by []*Repository) parameters.Claims {
	needed := parameters.Claims{}
	for _, repository := range by {
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			for _, service := range tool.AuthRequired {
				c.Keep(service, "", needed)
			}
			tool.Params().KeepClaims(c, needed)
		}
	}
	return needed
}

// Unfilled names the services whose tokens are verified, and lack what a parameter of a tool
// of the repositories takes from them.
func Unfilled(c parameters.Claims, by []*Repository) map[string]bool {
	services := map[string]bool{}
	for _, repository := range by {
		for i := range repository.Tools {
			repository.Tools[i].Params().Unfilled(c, services)
		}
	}
	return services
}
