package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// credentials are the security schemes of the document, and the sources that send what
// operations ask for.
type credentials struct {
	schemes map[string]*securityScheme
	sources []*grantedSource
	noted   map[string]bool
}

// How credentials of a scheme are sent.
const (
	sentKey    = "key"    // in a header, the query or a cookie
	sentToken  = "token"  // a bearer token that is given
	sentBasic  = "basic"  // user name and password
	sentClient = "client" // a bearer token that is asked for with OAuth 2.0's client_credentials
)

// samePlace is why credentials cannot be sent together.
const samePlace = "two of its credentials are sent in the same place"

// securityScheme is a security scheme of the document.
type securityScheme struct {
	way  *node
	kind string
	// why says why it cannot be sent; empty where it can.
	why string
	// variables are those that hold its credentials.
	variables []string
}

// grant is what is sent with an operation: the credentials of one of its alternatives. That
// of an operation without security is empty.
type grant struct {
	at             position
	schemes        []string // those that the source sends
	headers, query *node    // of the source
	request        *node    // of the tool; nil where the source sends all
	variables      []string
	notes          Faults
}

// grantedSource is a source, and the places of the tools that name it.
type grantedSource struct {
	*grant
	users []*node
}

// schemes reads the security schemes, and names a variable for each credential. No two schemes
// share one: what is meant for one would be sent for the other.
func (im *openapi) schemes() credentials {
	c := credentials{schemes: map[string]*securityScheme{}, noted: map[string]bool{}}
	all := im.root.get("components").get("securitySchemes")
	if all == nil {
		return c
	}
	kinds := map[string]int{}
	for _, one := range all.fields {
		s := &securityScheme{way: im.resolved(one.value)}
		s.kind, s.why = sendable(s.way)
		c.schemes[one.name] = s
		kinds[s.kind]++
	}
	taken := map[string]bool{"URL": true}
	for _, one := range all.fields {
		s := c.schemes[one.name]
		sole := kinds[s.kind] == 1
		if s.kind == sentKey {
			sole = len(all.fields) == 1
		}
		s.variables = variablesOf(one.name, s.kind, sole, taken)
	}
	return c
}

// variablesOf are names for the credentials of a scheme. They have the scheme's name where
// others of its kind have credentials, too.
func variablesOf(name, kind string, sole bool, taken map[string]bool) []string {
	last := map[string][]string{sentKey: {"API_KEY"}, sentToken: {"TOKEN"}, sentBasic: {"USERNAME", "PASSWORD"}, sentClient: {"CLIENT_ID", "CLIENT_SECRET"}}[kind]
	own := strings.ToUpper(strings.ReplaceAll(cmp.Or(idOf(name), "scheme"), "-", "_"))
	behind := func(scheme string) []string {
		if kind == sentKey {
			return []string{scheme}
		}
		names := make([]string, len(last))
		for i := range last {
			names[i] = scheme + "_" + last[i]
		}
		return names
	}
	names := behind(own)
	if sole {
		names = last
	}
	isTaken := func(name string) bool { return taken[name] }
	for n := 2; slices.ContainsFunc(names, isTaken); n++ {
		names = behind(fmt.Sprintf("%s_%d", own, n))
	}
	for _, name := range names {
		taken[name] = true
	}
	return names
}

// sendable is how credentials of a scheme are sent, or why they cannot be.
func sendable(way *node) (kind, why string) {
	of := func(name string) string {
		said, _ := way.get(name).scalarText()
		return said
	}
	switch kind := of("type"); kind {
	case "apiKey":
		in, name := of("in"), of("name")
		if !slices.Contains([]string{"header", "query", "cookie"}, in) || name == "" || in == "cookie" && !httpguts.ValidHeaderFieldName(name) {
			return "", "it has no name that a header, a query or a cookie can have"
		}
		return sentKey, ""
	case "http":
		switch {
		case strings.EqualFold(of("scheme"), "basic"):
			return sentBasic, ""
		case strings.EqualFold(of("scheme"), "bearer"):
			return sentToken, ""
		}
		return "", "it is http with " + cmp.Or(fault.Clip(of("scheme")), "no scheme")
	case "oauth2":
		if flow := way.get("flows").get("clientCredentials"); flow != nil && isAskable(flow) {
			return sentClient, ""
		}
		return sentToken, ""
	case "openIdConnect":
		return sentToken, ""
	default:
		return "", "it is " + cmp.Or(fault.Clip(kind), "of no type")
	}
}

// isAskable reports whether a token can be asked for at the address of a flow.
func isAskable(flow *node) bool { return checkRequest(clientOf(flow, nil, "a", "b")) == nil }

// authenticate returns what is sent with an operation: the credentials of the first of its
// alternatives that can be sent, and nothing where it has none. Security of the document is that
// of operations without their own (OpenAPI 3.1.1, sections 4.8.1 and 4.8.10).
func (im *openapi) authenticate(from *node) *grant {
	security := from.get("security")
	if security == nil {
		security = im.root.get("security")
	}
	none := im.nothing()
	switch {
	case security == nil:
		return none
	case security.kind != list:
		none.notes.add(security.at, "security is %s and no list: calls are made without credentials", security.kind)
		return none
	}
	for i, alternative := range security.items {
		granted, why := im.granted(alternative)
		if why != "" {
			continue
		}
		if i > 0 {
			what := "credentials of " + namesOf(alternative) + ", a later alternative, are sent"
			if len(alternative.fields) == 0 {
				what = "calls are made without credentials, as a later alternative has it"
			}
			im.leave(granted, security.items[0], what)
		}
		return granted
	}
	if len(security.items) > 0 {
		im.leave(none, security.items[0], "calls are made without it")
	}
	return none
}

func (im *openapi) nothing() *grant {
	return &grant{at: im.root.at, headers: newObject(im.root.at), query: newObject(im.root.at)}
}

// leave notes that an alternative is not sent, and what is instead.
func (im *openapi) leave(to *grant, alternative *node, instead string) {
	_, why := im.granted(alternative)
	to.notes.add(alternative.at, "asks for %s, which cannot be carried over (%s): %s", namesOf(alternative), why, instead)
}

// namesOf are the schemes of an alternative.
func namesOf(alternative *node) string {
	names := make([]string, len(alternative.fields))
	for i, asked := range alternative.fields {
		names[i] = fault.Clip(asked.name)
	}
	return cmp.Or(strings.Join(names, " and "), "something that is no map of schemes")
}

// granted is what an alternative sends, the credentials of all of its schemes, or why it cannot
// be sent.
func (im *openapi) granted(alternative *node) (*grant, string) {
	g := im.nothing()
	if alternative.kind != object {
		return nil, "it is " + alternative.kind.String()
	}
	for _, asked := range alternative.fields {
		s := im.security.schemes[asked.name]
		switch {
		case s == nil:
			return nil, "the document has no such security scheme"
		case s.why != "":
			return nil, s.why
		case !im.give(g, asked, s):
			return nil, samePlace
		}
		g.variables = append(g.variables, s.variables...)
	}
	if g.request != nil && g.sendsHeader("Authorization") {
		return nil, samePlace
	}
	if err := g.check(); err != nil {
		return nil, firstLine(err)
	}
	return g, ""
}

// check checks what the source and the tool send as the API does.
func (g *grant) check() error {
	if g.request != nil {
		if err := checkRequest(g.request); err != nil {
			return err
		}
	}
	body, source := newObject(g.at), textsOf(g.at, "name", "s", "type", repositories.SourceHTTP, "baseUrl", "https://api.example/")
	body.add("sources", g.at, &node{kind: list, items: []*node{g.addTo(source)}})
	_, err := repositories.DecodeApp("import", body.json())
	return err
}

// addTo adds to a source what it sends.
func (g *grant) addTo(source *node) *node {
	if len(g.headers.fields) > 0 {
		source.add("headers", source.at, g.headers)
	}
	if len(g.query.fields) > 0 {
		source.add("queryParams", source.at, g.query)
	}
	return source
}

func (g *grant) sendsHeader(name string) bool {
	return slices.ContainsFunc(g.headers.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
}

// give adds the credentials of a scheme. It is false where others are in their place.
func (im *openapi) give(g *grant, asked field, s *securityScheme) bool {
	switch s.kind {
	case sentBasic, sentClient:
		if g.request != nil {
			return false
		}
		g.request = im.requestOf(s, asked.value)
		return true
	case sentToken:
		if kind, _ := s.way.get("type").scalarText(); kind != "http" {
			g.notes.add(s.way.at, "%s has no client_credentials that can be asked for a token: one that was asked for elsewhere is sent, and nobody renews it", fault.Clip(asked.name))
		}
		return im.send(g, asked.name, "Authorization", "Bearer "+im.placeholder(s.variables[0]))
	}
	name, _ := s.way.get("name").scalarText()
	value := im.placeholder(s.variables[0])
	in, _ := s.way.get("in").scalarText()
	switch in {
	case "cookie":
		return im.cookie(g, asked.name, name+"="+value)
	case "query":
		if g.query.field(name) != nil {
			return false
		}
		g.schemes = append(g.schemes, asked.name)
		im.set(g.query, name, value)
	default:
		if !im.send(g, asked.name, name, value) {
			return false
		}
	}
	if !repositories.NamesCredential(name) {
		g.notes.add(s.way.at, "%s is sent in %s, which the service shows to those who may read the app: its name is not that of a credential", fault.Clip(asked.name), fault.Show(name))
	}
	return true
}

func (im *openapi) send(g *grant, scheme, header, value string) bool {
	if g.sendsHeader(header) {
		return false
	}
	g.schemes = append(g.schemes, scheme)
	im.set(g.headers, header, value)
	return true
}

// cookie adds a cookie to those that are sent, in one header (RFC 6265, section 5.4).
func (im *openapi) cookie(g *grant, scheme, pair string) bool {
	if there := g.headers.get("Cookie"); there != nil {
		g.schemes = append(g.schemes, scheme)
		there.text += "; " + pair
		return true
	}
	return im.send(g, scheme, "Cookie", pair)
}

// requestOf is the request of a tool that authenticates by a scheme of its own.
func (im *openapi) requestOf(s *securityScheme, scopes *node) *node {
	one, other := im.placeholder(s.variables[0]), im.placeholder(s.variables[1])
	if s.kind == sentClient {
		return clientOf(s.way.get("flows").get("clientCredentials"), scopes, one, other)
	}
	return requestWith(repositories.AuthBasic, textsOf(im.root.at, "username", one, "password", other))
}

// clientOf is OAuth 2.0 with client_credentials.
func clientOf(flow, scopes *node, id, secret string) *node {
	address, _ := flow.get("tokenUrl").scalarText()
	who := textsOf(flow.at, "clientId", id, "clientSecret", secret, "tokenUrl", unfilled(address))
	if scopes != nil && len(scopes.items) > 0 {
		named := &node{kind: list}
		for _, one := range scopes.items {
			named.items = append(named.items, newText(unfilled(one.text), one.at))
		}
		who.add("scopes", flow.at, named)
	}
	return requestWith(repositories.AuthBearer, who)
}

func requestWith(auth string, who *node) *node {
	request := textsOf(who.at, "auth", auth)
	request.add(auth, who.at, who)
	return request
}

// use has a tool work on the source that sends what was granted, and makes it where no tool has
// asked for it before. The source gets its name at the end, and the tool with it.
func (im *openapi) use(g *grant, name *node) {
	for _, variable := range g.variables {
		im.variable(variable)
	}
	for _, one := range g.notes {
		if !im.security.noted[one.Detail] {
			im.security.noted[one.Detail] = true
			im.notes.add(position{one.File, one.Line, one.Column}, "%s", one.Detail)
		}
	}
	i := slices.IndexFunc(im.security.sources, func(s *grantedSource) bool { return s.headers.equal(g.headers) && s.query.equal(g.query) })
	if i < 0 {
		i = len(im.security.sources)
		im.security.sources = append(im.security.sources, &grantedSource{grant: g})
	}
	im.security.sources[i].users = append(im.security.sources[i].users, name)
}

// sources are those of the tools, the one without credentials first. A single one has the name
// of the API; of several, each has the names of the schemes that it sends behind it.
func (im *openapi) sources() []*node {
	var made []*node
	taken := map[string]bool{}
	slices.SortStableFunc(im.security.sources, func(a, b *grantedSource) int { return cmp.Compare(len(a.schemes), len(b.schemes)) })
	for _, granted := range im.security.sources {
		name := im.name
		if len(im.security.sources) > 1 && len(granted.schemes) > 0 {
			ids := make([]string, len(granted.schemes))
			for i, scheme := range granted.schemes {
				ids[i] = cmp.Or(idOf(scheme), "scheme")
			}
			name = fmt.Sprintf("%.120s", im.name+"-"+strings.Join(ids, "-and-"))
		}
		first := name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", first, n)
		}
		taken[name] = true
		for _, user := range granted.users {
			user.text = name
		}
		made = append(made, granted.addTo(textsOf(im.root.at, "kind", kindSource, "name", name, "type", repositories.SourceHTTP, "baseUrl", im.base)))
	}
	return made
}
