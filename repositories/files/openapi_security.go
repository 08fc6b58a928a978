package files

import (
	"slices"
	"strings"
)

// credentials are the ways in which requests may be authenticated, by the names that the
// document gives them.
type credentials struct {
	ways  map[string]*node
	sent  map[string]bool // whose header or parameter the source has already
	asked map[string]bool // that a note says are left out
}

func (im *openapi) schemes() credentials {
	c := credentials{ways: map[string]*node{}, sent: map[string]bool{}, asked: map[string]bool{}}
	if all := im.root.get("components").get("securitySchemes"); all != nil {
		for _, one := range all.fields {
			c.ways[one.name] = im.resolved(one.value)
		}
	}
	return c
}

// authenticate adds to the source what all requests are authenticated with, and returns the
// request of a tool where it is the tool's own: basic authentication and OAuth 2.0. Of several
// alternatives the first is taken that can be.
func (im *openapi) authenticate(from *node) *node {
	security := from.get("security")
	if security == nil {
		security = im.root.get("security")
	}
	if security == nil || security.kind != list || len(security.items) == 0 {
		return nil
	}
	for _, alternative := range security.items {
		if len(alternative.fields) == 0 {
			return nil // none is needed
		}
		if !slices.ContainsFunc(alternative.fields, func(f field) bool { return !im.carries(f.name) }) {
			return im.using(alternative)
		}
	}
	first := security.items[0].fields[0]
	if !im.security.asked[first.name] {
		im.security.asked[first.name] = true
		im.notes.add(first.at, "asks for %s, which cannot be carried over: calls are made without it", first.name)
	}
	return nil
}

// carries reports whether a way can be carried over.
func (im *openapi) carries(name string) bool {
	way := im.security.ways[name]
	in, _ := way.get("in").scalarText()
	switch kind, _ := way.get("type").scalarText(); kind {
	case "apiKey":
		return in == "header" || in == "query"
	case "http":
		return im.isHTTP(way, "bearer") || im.isHTTP(way, "basic")
	case "oauth2", "openIdConnect":
		return true
	}
	return false
}

func (im *openapi) isHTTP(way *node, scheme string) bool {
	named, _ := way.get("scheme").scalarText()
	return strings.EqualFold(named, scheme)
}

func (im *openapi) using(alternative *node) (request *node) {
	for _, asked := range alternative.fields {
		way := im.security.ways[asked.name]
		kind, _ := way.get("type").scalarText()
		switch {
		case kind == "apiKey":
			im.key(asked.name, way)
		case kind == "http" && im.isHTTP(way, "basic"):
			request = im.basic()
		case kind == "oauth2" && way.get("flows").get("clientCredentials") != nil:
			request = im.client(way.get("flows").get("clientCredentials"), asked.value)
		default:
			im.bearer(asked.name, kind, way)
		}
	}
	return request
}

// key has the source send a key in a header or in the query.
func (im *openapi) key(name string, way *node) {
	header, _ := way.get("name").scalarText()
	in, _ := way.get("in").scalarText()
	if header == "" || im.security.sent[name] {
		return
	}
	im.security.sent[name] = true
	what := "API_KEY"
	if len(im.security.ways) > 1 {
		what = strings.ToUpper(strings.ReplaceAll(idOf(name), "-", "_"))
	}
	im.sends(map[string]string{"header": "headers", "query": "queryParams"}[in], header, im.variable(what))
}

// bearer has the source send a token. One that a person would have to ask for at a browser is
// asked of whoever reads the file.
func (im *openapi) bearer(name, kind string, way *node) {
	if im.security.sent["Authorization"] {
		return
	}
	im.security.sent["Authorization"] = true
	im.sends("headers", "Authorization", "Bearer "+im.variable("TOKEN"))
	if kind != "http" {
		im.notes.add(way.at, "%s has no client_credentials: a token that was asked for elsewhere is sent, and nobody renews it", name)
	}
}

// sends adds a header, or a parameter of the query, to all that the source is asked.
func (im *openapi) sends(where, name, value string) {
	if im.source.get(where) == nil {
		im.source.add(where, im.root.at, newObject(im.root.at))
	}
	if im.source.get(where).field(name) == nil {
		im.set(im.source.get(where), name, value)
	}
}

func (im *openapi) basic() *node {
	who := newObject(im.root.at)
	im.set(who, "username", im.variable("USERNAME"))
	im.set(who, "password", im.variable("PASSWORD"))
	return im.requestWith("basic", who)
}

// client is OAuth 2.0 with client_credentials.
func (im *openapi) client(flow, scopes *node) *node {
	who := newObject(im.root.at)
	im.set(who, "clientId", im.variable("CLIENT_ID"))
	im.set(who, "clientSecret", im.variable("CLIENT_SECRET"))
	address, _ := flow.get("tokenUrl").scalarText()
	im.set(who, "tokenUrl", unfilled(address))
	if scopes != nil && len(scopes.items) > 0 {
		named := &node{kind: list}
		for _, one := range scopes.items {
			named.items = append(named.items, newText(unfilled(one.text), one.at))
		}
		who.add("scopes", im.root.at, named)
	}
	return im.requestWith("bearer", who)
}

func (im *openapi) requestWith(auth string, who *node) *node {
	request := newObject(im.root.at)
	im.set(request, "auth", auth)
	request.add(auth, im.root.at, who)
	return request
}
