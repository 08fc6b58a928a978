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

// How a scheme's credentials are sent.
const (
	sentKey    = "key"    // in a header, the query or a cookie
	sentToken  = "token"  // a fixed bearer token
	sentBasic  = "basic"  // user name and password
	sentClient = "client" // a bearer token from OAuth 2.0's client_credentials
)

const samePlace = "two of its credentials are sent in the same place"

type securityScheme struct {
	way       *node
	kind      string
	why       string
	variables []string
}

// grant is what authenticates an operation: the credentials of one of its alternatives, or nothing.
type grant struct {
	at             position
	schemes        []string // sent by the source
	headers, query *node    // of the source
	request        *node    // of the tool; nil if the source sends all
	variables      []string
	notes          Faults
}

type grantedSource struct {
	*grant
	users []*node
}

// credentialNames are the variables of a scheme that is the only one of its kind.
var credentialNames = map[string][]string{
	sentKey: {"API_KEY"}, sentToken: {"TOKEN"}, sentBasic: {"USERNAME", "PASSWORD"}, sentClient: {"CLIENT_ID", "CLIENT_SECRET"},
}

// readSchemes names a variable for each credential. Schemes never share one, because a credential would be sent to
// the wrong place. Variables include the scheme's name if another scheme of the kind has credentials.
func (im *openapi) readSchemes() {
	im.schemes, im.noted = map[string]*securityScheme{}, map[string]bool{}
	all := im.root.get("components").fieldsOf("securitySchemes")
	kinds := map[string]int{}
	for _, one := range all {
		s := &securityScheme{way: im.resolved(one.value)}
		s.kind, s.why = sendable(s.way)
		im.schemes[one.name] = s
		kinds[s.kind]++
	}
	taken := map[string]bool{"URL": true}
	for _, one := range all {
		s := im.schemes[one.name]
		s.variables = credentialNames[s.kind]
		own := strings.ToUpper(strings.ReplaceAll(cmp.Or(idOf(one.name), "scheme"), "-", "_"))
		for n, sole := 1, kinds[s.kind] == 1 && (s.kind != sentKey || len(all) == 1); ; n++ {
			if n > 1 || !sole {
				scheme := own
				if n > 1 {
					scheme = fmt.Sprintf("%s_%d", own, n)
				}
				s.variables = nil
				for _, last := range credentialNames[s.kind] {
					s.variables = append(s.variables, scheme+"_"+last)
				}
				if s.kind == sentKey {
					s.variables = []string{scheme}
				}
			}
			if !slices.ContainsFunc(s.variables, func(name string) bool { return taken[name] }) {
				break
			}
		}
		for _, name := range s.variables {
			taken[name] = true
		}
	}
}

func sendable(way *node) (kind, why string) {
	switch kind := way.textOf("type"); kind {
	case "apiKey":
		in, name := way.textOf("in"), way.textOf("name")
		if !slices.Contains([]string{"header", "query", "cookie"}, in) || name == "" || in == "cookie" && !httpguts.ValidHeaderFieldName(name) {
			return "", "it has no name that a header, a query or a cookie can have"
		}
		return sentKey, ""
	case "http":
		switch scheme := way.textOf("scheme"); strings.ToLower(scheme) {
		case "basic":
			return sentBasic, ""
		case "bearer":
			return sentToken, ""
		default:
			return "", "it is http with " + cmp.Or(fault.Clip(scheme), "no scheme")
		}
	case "oauth2":
		flow := way.get("flows").get("clientCredentials")
		if flow != nil && checkRequest(clientOf(flow, nil, "a", "b")) == nil {
			return sentClient, ""
		}
		return sentToken, ""
	case "openIdConnect":
		return sentToken, ""
	default:
		return "", "it is " + cmp.Or(fault.Clip(kind), "of no type")
	}
}

// authenticate returns the credentials of the first alternative that can be sent. Operations without security use
// the document's (OpenAPI 3.1.1, 4.8.1 and 4.8.10).
func (im *openapi) authenticate(from *node) *grant {
	security := from.get("security")
	if security == nil {
		security = im.root.get("security")
	}
	sent := im.newGrant()
	switch {
	case security == nil:
		return sent
	case security.kind != list:
		sent.notes.add(security.at, "security is %s and no list: calls are made without credentials", security.kind)
		return sent
	}
	because, instead := "", "calls are made without it"
	for i, alternative := range security.items {
		granted, why := im.granted(alternative)
		if i == 0 {
			because = why
		}
		if why != "" {
			continue
		}
		sent, instead = granted, ""
		if i > 0 {
			instead = "credentials of " + schemesOf(alternative) + ", a later alternative, are sent"
			if len(alternative.fields) == 0 {
				instead = "calls are made without credentials, as a later alternative has it"
			}
		}
		break
	}
	if because != "" {
		first := security.items[0]
		sent.notes.add(first.at, "asks for %s, which cannot be carried over (%s): %s", schemesOf(first), because, instead)
	}
	return sent
}

func (im *openapi) newGrant() *grant {
	return &grant{at: im.root.at, headers: newObject(im.root.at), query: newObject(im.root.at)}
}

func schemesOf(alternative *node) string {
	names := make([]string, len(alternative.fields))
	for i, asked := range alternative.fields {
		names[i] = fault.Clip(asked.name)
	}
	return cmp.Or(strings.Join(names, " and "), "something that is no map of schemes")
}

// granted returns the grant of an alternative, or why it cannot be sent, checked like the API's sources and tools.
func (im *openapi) granted(alternative *node) (*grant, string) {
	g := im.newGrant()
	if alternative.kind != object {
		return nil, "it is " + alternative.kind.String()
	}
	for _, asked := range alternative.fields {
		s := im.schemes[asked.name]
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
	if g.request != nil {
		if g.sendsHeader("Authorization") {
			return nil, samePlace
		}
		if err := checkRequest(g.request); err != nil {
			return nil, firstLine(err)
		}
	}
	body, source := newObject(g.at), textsOf(g.at, "name", "s", "type", repositories.SourceHTTP, "baseUrl", "https://api.example/")
	body.add("sources", g.at, &node{kind: list, items: []*node{g.addTo(source)}})
	if _, err := repositories.DecodeApp("import", body.json()); err != nil {
		return nil, firstLine(err)
	}
	return g, ""
}

// addTo adds the grant's headers and parameters to a source.
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

// give adds the credentials of a scheme. It returns false if their place is taken.
func (im *openapi) give(g *grant, asked field, s *securityScheme) bool {
	value := im.placeholder(s.variables[0])
	switch s.kind {
	case sentBasic, sentClient:
		if g.request != nil {
			return false
		}
		other := im.placeholder(s.variables[1])
		if s.kind == sentBasic {
			g.request = requestWith(repositories.AuthBasic, im.textsOf("username", value, "password", other))
		} else {
			g.request = clientOf(s.way.get("flows").get("clientCredentials"), asked.value, value, other)
		}
		return true
	case sentToken:
		if s.way.textOf("type") != "http" {
			g.notes.add(s.way.at, "%s has no client_credentials that can be asked for a token: one that was asked for elsewhere is sent, and nobody renews it", fault.Clip(asked.name))
		}
		return im.send(g, asked.name, "Authorization", "Bearer "+value)
	}

	name := s.way.textOf("name")
	switch s.way.textOf("in") {
	case "cookie": // all cookies share one header (RFC 6265, section 5.4)
		current := g.headers.get("Cookie")
		if current == nil {
			return im.send(g, asked.name, "Cookie", name+"="+value)
		}
		g.schemes = append(g.schemes, asked.name)
		current.text += "; " + name + "=" + value
		return true
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

func clientOf(flow, scopes *node, id, secret string) *node {
	client := textsOf(flow.at, "clientId", id, "clientSecret", secret, "tokenUrl", withoutPlaceholders(flow.textOf("tokenUrl")))
	if scopes != nil && len(scopes.items) > 0 {
		named := &node{kind: list}
		for _, one := range scopes.items {
			named.items = append(named.items, newText(withoutPlaceholders(one.text), one.at))
		}
		client.add("scopes", flow.at, named)
	}
	return requestWith(repositories.AuthBearer, client)
}

func requestWith(auth string, credentials *node) *node {
	request := textsOf(credentials.at, "auth", auth)
	request.add(auth, credentials.at, credentials)
	return request
}

// use makes a tool use the source that sends the grant. The source's name is set at the end.
func (im *openapi) use(g *grant, name *node) {
	for _, variable := range g.variables {
		im.variable(variable)
	}
	for _, one := range g.notes {
		if !im.noted[one.Detail] {
			im.noted[one.Detail] = true
			im.notes.add(position{one.File, one.Line, one.Column}, "%s", one.Detail)
		}
	}
	i := slices.IndexFunc(im.usedSources, func(s *grantedSource) bool { return s.headers.equal(g.headers) && s.query.equal(g.query) })
	if i < 0 {
		i = len(im.usedSources)
		im.usedSources = append(im.usedSources, &grantedSource{grant: g})
	}
	im.usedSources[i].users = append(im.usedSources[i].users, name)
}

// sources returns the tools' sources, the one without credentials first. If there are several, their names include
// their schemes.
func (im *openapi) sources() []*node {
	var made []*node
	taken := map[string]bool{}
	slices.SortStableFunc(im.usedSources, func(a, b *grantedSource) int { return cmp.Compare(len(a.schemes), len(b.schemes)) })
	for _, source := range im.usedSources {
		name := im.name
		if len(im.usedSources) > 1 && len(source.schemes) > 0 {
			ids := make([]string, len(source.schemes))
			for i, scheme := range source.schemes {
				ids[i] = cmp.Or(idOf(scheme), "scheme")
			}
			name = fmt.Sprintf("%.120s", im.name+"-"+strings.Join(ids, "-and-"))
		}
		first := name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", first, n)
		}
		taken[name] = true
		for _, user := range source.users {
			user.text = name
		}
		made = append(made, source.addTo(im.textsOf("kind", kindSource, "name", name, "type", repositories.SourceHTTP, "baseUrl", im.base)))
	}
	return made
}
