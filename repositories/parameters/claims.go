package parameters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// Claims are what verified ID tokens say of a user: by authentication service, then by
// claim. A service in the map was verified, even if it has no claims. Numbers are
// json.Number.
type Claims map[string]map[string]any

// Verified reports whether the ID token of a service was verified.
func (c Claims) Verified(service string) bool {
	_, ok := c[service]
	return ok
}

// Keep copies one claim into another Claims, under its dotted path as the name.
func (c Claims) Keep(service, field string, into Claims) {
	if !c.Verified(service) {
		return
	}
	if into[service] == nil {
		into[service] = map[string]any{}
	}
	if value := lookUp(c[service], field); field != "" && value != nil {
		into[service][field] = value
	}
}

// lookUp finds a claim by its name or by a dotted path. A name that holds dots itself,
// as https://example.com/role does, comes before a path.
func lookUp(claims map[string]any, dotted string) any {
	if value, ok := claims[dotted]; ok {
		return value
	}
	for i, r := range dotted {
		if r != '.' {
			continue
		}
		if inner, ok := claims[dotted[:i]].(map[string]any); ok {
			if value := lookUp(inner, dotted[i+1:]); value != nil {
				return value
			}
		}
	}
	return nil
}

// Authenticated reports whether ID tokens fill parameters.
func (p *Parameters) Authenticated() bool { return p.authenticated }

// Authenticate returns a copy of the parameters in which those that come from ID tokens
// have their values. A claim is checked like any other value, and strictly. The faults name
// parameters without a claim, and claims that break a rule. Default and required do not
// apply (as in Toolbox): a tool that asks for the user's identity does not run without one.
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

// authenticate takes the claim of the first service that is verified. It does not look on if that
// service's token lacks it.
func (p *compiledParameter) authenticate(claims Claims) (*compiledParameter, []ValueFault) {
	i := p.verifiedBy(claims)
	if i < 0 {
		return p, []ValueFault{{Parameter: p.name, Detail: p.unverified()}}
	}
	claim := p.claims[i]
	value := normal(lookUp(claims[claim.Service], claim.Field))
	if value == nil {
		return p, []ValueFault{{p.name, fmt.Sprintf("cannot be filled: the ID token of %s has no claim %s", claim.Service, fault.Show(claim.Field))}}
	}
	value, _ = p.translate(value)
	var flaws []violation
	if p.property != nil {
		flaws = p.schemaFlaws(value)
	} else {
		flaws = p.check(value, "")
	}
	if len(flaws) > 0 {
		return p, p.faultsOf(flaws)
	}
	filled := *p
	filled.claims, filled.static = nil, &fixed{value}
	return &filled, nil
}

// verifiedBy returns which of the parameter's claims is the first of a verified service; -1 for none.
func (p *compiledParameter) verifiedBy(c Claims) int {
	return slices.IndexFunc(p.claims, func(claim Claim) bool { return c.Verified(claim.Service) })
}

func (p *compiledParameter) unverified() string {
	services := make([]string, len(p.claims))
	for i := range p.claims {
		services[i] = p.claims[i].Service
	}
	return "cannot be filled: it comes from a verified ID token of " + strings.Join(services, " or ") + ", and there is none"
}

// Unfilled adds the services whose tokens are verified, but lack what a parameter takes from
// them or have a claim that its rules refuse.
func (p *Parameters) Unfilled(c Claims, services map[string]bool) {
	for _, parameter := range p.list {
		i := parameter.verifiedBy(c)
		if i < 0 {
			continue
		}
		if _, faults := parameter.authenticate(c); len(faults) > 0 {
			services[parameter.claims[i].Service] = true
		}
	}
}

// KeepClaims copies the claims that the parameters ask for.
func (p *Parameters) KeepClaims(c, into Claims) {
	if !p.authenticated {
		return
	}
	for _, parameter := range p.list {
		for _, claim := range parameter.claims {
			c.Keep(claim.Service, claim.Field, into)
		}
	}
}
