package repositories

import (
	"strings"
	"time"

	"earshot/repositories/fault"
)

// MostTimeout is the longest that one attempt of a call may take: the answer to a
// message waits for it.
const MostTimeout = 60 * time.Second

// request checks and completes how a tool's call is made.
func (d *decoding) request(r *Request, at string) {
	r.Method = strings.ToUpper(r.Method)
	d.headers(r.Headers, at+fault.Point("headers"))
	d.auth(r, at)
	switch r.Auth {
	case AuthBasic:
		if r.Basic == nil {
			d.add(at+fault.Point("basic"), "is missing: auth is basic")
		}
	case AuthBearer:
		if r.Bearer == nil {
			d.add(at+fault.Point("bearer"), "is missing: auth is bearer")
		}
	case AuthModule:
		if r.ModuleID == "" {
			d.add(at+fault.Point("moduleId"), "is missing: auth is module")
		}
	}
	if r.Bearer != nil {
		d.bearer(r.Bearer, at+fault.Point("bearer"))
	}
}

// auth infers the way of authentication from the credentials where it is not said.
func (d *decoding) auth(r *Request, at string) {
	if r.Auth != "" {
		return
	}
	var given []string
	for way, there := range map[string]bool{AuthBasic: r.Basic != nil, AuthBearer: r.Bearer != nil, AuthModule: r.ModuleID != ""} {
		if there {
			given = append(given, way)
		}
	}
	switch len(given) {
	case 0:
		r.Auth = AuthNone
	case 1:
		r.Auth = given[0]
	default:
		d.add(at+fault.Point("auth"), "is missing, and the credentials of several ways are given; say which is meant: basic, bearer or module")
	}
}

// bearer checks that the grant has what it needs (RFC 6749, sections 4.3 and 4.4).
func (d *decoding) bearer(b *Bearer, at string) {
	if b.ClientType == "" {
		b.ClientType = GrantClientCredentials
		if b.Username != "" && b.ClientSecret.Empty() {
			b.ClientType = GrantPassword
		}
	}
	if b.ClientType == GrantPassword {
		d.needs(b.Username != "", at+fault.Point("username"), "the password grant")
		d.needs(!b.Password.Empty(), at+fault.Point("password"), "the password grant")
		return
	}
	d.needs(b.ClientID != "", at+fault.Point("clientId"), "client_credentials")
	d.needs(!b.ClientSecret.Empty(), at+fault.Point("clientSecret"), "client_credentials")
}

func (d *decoding) needs(there bool, pointer, what string) {
	if !there {
		d.add(pointer, "is missing: %s needs it", what)
	}
}

// headers checks the names; those that differ in case alone are one header.
func (d *decoding) headers(headers Headers, at string) {
	seen := map[string]string{}
	for _, name := range sortedKeys(headers) {
		key := strings.ToLower(name)
		if err := checkHeaderName(name); err != nil {
			d.add(at+fault.Point(name), "%s", err)
		}
		if other, twice := seen[key]; twice {
			d.add(at+fault.Point(name), "is the same header as %s", other)
		}
		seen[key] = name
	}
}
