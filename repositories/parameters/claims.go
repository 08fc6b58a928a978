package parameters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// Claims are the contents of a user's verified ID tokens: by service, then by claim. A service in the map is
// verified, even without claims. Numbers are json.Number.
type Claims map[string]map[string]any

// Verified reports whether the ID token of a service was verified.
func (c Claims) Verified(service string) bool {
	_, ok := c[service]
	return ok
}

// Keep copies one claim into another Claims, with its dotted path as the name.
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

// lookUp returns a claim by its name, which may contain dots, or by a dotted path.
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

// Authenticate returns a copy with the parameters from ID tokens filled and checked strictly. The faults name
// parameters without a claim, and invalid claims. Default and required do not apply (as in Toolbox).
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

// authenticate uses the claim of the first verified service, and no other even if its token lacks the claim.
func (p *compiledParameter) authenticate(claims Claims) (*compiledParameter, []ValueFault) {
	i := p.verifiedBy(claims)
	if i < 0 {
		return p, []ValueFault{{Parameter: p.name, Detail: p.unverified()}}
	}
	claim := p.claims[i]
	value := normal(lookUp(claims[claim.Service], claim.Field))
	if value == nil {
		return p, []ValueFault{{Parameter: p.name, Detail: fmt.Sprintf("cannot be filled: the ID token of %s has no claim %s", claim.Service, fault.Show(claim.Field))}}
	}
	value, _ = p.translate(value)
	var flaws []violation
	if p.property != nil {
		flaws = p.schemaFlaws(value)
	} else {
		flaws = p.check(value, nil)
	}
	if len(flaws) > 0 {
		return p, p.faultsOf(flaws)
	}
	filled := *p
	filled.claims, filled.static = nil, &fixed{value}
	return &filled, nil
}

func (p *compiledParameter) verifiedBy(c Claims) int {
	return slices.IndexFunc(p.claims, func(claim Claim) bool { return c.Verified(claim.Service) })
}

func (p *compiledParameter) unverified() string {
	services := lists.Map(p.claims, func(one Claim) string { return one.Service })
	return "cannot be filled: it comes from a verified ID token of " + strings.Join(services, " or ") + ", and there is none"
}

// Unfilled adds the verified services whose tokens lack a parameter's claim, or have an invalid one.
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

// KeepClaims copies the claims that the parameters use.
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
