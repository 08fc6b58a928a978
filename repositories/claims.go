package repositories

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// Claims are what verified ID tokens say of a user: by authentication service, then
// by claim. A service that is in it was verified, even where it says nothing. Numbers
// are json.Number.
type Claims map[string]map[string]any

// Unverified means that a tool cannot be used for want of a verified user.
type Unverified struct {
	Tool string
	// Services lists those of which one must be verified; empty where that holds.
	Services []string
	// Faults names the authenticated parameters that cannot be filled.
	Faults []ValueFault
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

func (c Claims) verified(service string) bool {
	_, ok := c[service]
	return ok
}

// For returns the tool as it is for a user with these claims: its authenticated
// parameters have the claims' values, which win as static ones do. The error is an
// *Unverified where it cannot be used. A tool that asks for nobody is returned as it is.
func (t *Tool) For(claims Claims) (*Tool, error) {
	if len(t.AuthRequired) == 0 && !t.Params().authenticated {
		return t, nil
	}
	lacks := &Unverified{Tool: t.Name}
	if len(t.AuthRequired) > 0 && !slices.ContainsFunc(t.AuthRequired, claims.verified) {
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

// Authenticate returns the parameters with those that come from ID tokens filled. A
// claim is checked like any other value, and strictly. The faults name those that have
// no claim, and claims that break a rule. Default and required do not apply (as in
// Toolbox): a tool that asks who somebody is does not run for nobody.
func (p *Parameters) Authenticate(claims Claims) (*Parameters, []ValueFault) {
	next := *p
	next.list, next.byName = slices.Clone(p.list), maps.Clone(p.byName)
	var faults []ValueFault
	for i, parameter := range p.list {
		if len(parameter.claims) == 0 {
			continue
		}
		filled, found := parameter.authenticate(claims)
		faults = append(faults, found...)
		next.list[i], next.byName[parameter.name] = filled, filled
	}
	return &next, faults
}

func (p *parameter) authenticate(claims Claims) (*parameter, []ValueFault) {
	value, absent := p.claimed(claims)
	if absent != "" {
		return p, []ValueFault{{Parameter: p.name, Detail: absent}}
	}
	if flaws := p.claimFlaws(value); len(flaws) > 0 {
		return p, p.faultsOf(flaws)
	}
	filled := *p
	filled.claims, filled.static = nil, &fixed{given: value, used: p.escaped(value)}
	return &filled, nil
}

// claimed returns the claim of the first service that is verified; it does not look on
// where that service's token lacks it. absent says why there is none.
func (p *parameter) claimed(claims Claims) (value any, absent string) {
	for _, claim := range p.claims {
		if !claims.verified(claim.Service) {
			continue
		}
		if value = normal(lookUp(claims[claim.Service], claim.Field)); value == nil {
			return nil, fmt.Sprintf("cannot be filled: the ID token of %s has no claim %s", claim.Service, fault.Show(claim.Field))
		}
		return value, ""
	}
	return nil, "cannot be filled: it comes from a verified ID token of " + p.services() + ", and there is none"
}

func (p *parameter) claimFlaws(value any) []flaw {
	if p.property == nil {
		return p.check(value, "")
	}
	var flaws []flaw
	if err := p.property.Validate(value); err != nil {
		for _, leaf := range leaves(err) {
			flaws = append(flaws, flaw{detail: leaf.text(value)})
		}
	}
	return flaws
}

// lookUp finds a claim by its name or by a dotted path. A name that holds dots itself,
// as https://example.com/role does, comes before a path.
func lookUp(claims map[string]any, path string) any {
	if value, ok := claims[path]; ok {
		return value
	}
	for i, r := range path {
		if r != '.' {
			continue
		}
		if inner, ok := claims[path[:i]].(map[string]any); ok {
			if value := lookUp(inner, path[i+1:]); value != nil {
				return value
			}
		}
	}
	return nil
}

// Needed returns of the claims what the tools of the repositories ask for, and no
// more: it is what may be stored.
func (c Claims) Needed(by []*Repository) Claims {
	needed := Claims{}
	for _, repository := range by {
		for i := range repository.Tools {
			c.neededBy(&repository.Tools[i], needed)
		}
	}
	return needed
}

func (c Claims) neededBy(tool *Tool, needed Claims) {
	for _, service := range tool.AuthRequired {
		c.keep(service, "", needed)
	}
	for _, parameter := range tool.Params().list {
		for _, claim := range parameter.claims {
			c.keep(claim.Service, claim.Field, needed)
		}
	}
}

// keep copies one claim under its path, which lookUp finds as a name.
func (c Claims) keep(service, field string, into Claims) {
	if !c.verified(service) {
		return
	}
	if into[service] == nil {
		into[service] = map[string]any{}
	}
	if value := lookUp(c[service], field); field != "" && value != nil {
		into[service][field] = value
	}
}
