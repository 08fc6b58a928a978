package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
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
	definition  *node
	kind        string // how its credentials are sent
	unsupported string
	variables   []string
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
	im.schemes, im.notesGiven = map[string]*securityScheme{}, map[string]bool{}
	definitions := im.root.get("components").fieldsOf("securitySchemes")
	kinds := map[string]int{}
	for _, definition := range definitions {
		s := &securityScheme{definition: im.resolved(definition.value)}
		s.kind, s.unsupported = classifyScheme(s.definition)
		im.schemes[definition.name] = s
		kinds[s.kind]++
	}
	usedVariables := map[string]bool{"URL": true}
	for _, definition := range definitions {
		s := im.schemes[definition.name]
		id := strings.ToUpper(strings.ReplaceAll(cmp.Or(idFrom(definition.name), "scheme"), "-", "_"))
		s.variables = s.variablesFrom(id)
		if kinds[s.kind] == 1 && (s.kind != sentKey || len(definitions) == 1) {
			s.variables = credentialNames[s.kind]
		}
		for n := 2; slices.ContainsFunc(s.variables, func(name string) bool { return usedVariables[name] }); n++ {
			s.variables = s.variablesFrom(fmt.Sprintf("%s_%d", id, n))
		}
		for _, name := range s.variables {
			usedVariables[name] = true
		}
	}
}

// variablesFrom names the variables of a scheme that is not the only one of its kind.
func (s *securityScheme) variablesFrom(id string) []string {
	if s.kind == sentKey {
		return []string{id}
	}
	return lists.Map(credentialNames[s.kind], func(name string) string { return id + "_" + name })
}

func classifyScheme(definition *node) (kind, unsupported string) {
	switch kind := definition.textOf("type"); kind {
	case "apiKey":
		location, name := definition.textOf("in"), definition.textOf("name")
		if !slices.Contains([]string{"header", "query", "cookie"}, location) || name == "" || location == "cookie" && !httpguts.ValidHeaderFieldName(name) {
			return "", "it has no name that a header, a query or a cookie can have"
		}
		return sentKey, ""
	case "http":
		switch scheme := definition.textOf("scheme"); strings.ToLower(scheme) {
		case "basic":
			return sentBasic, ""
		case "bearer":
			return sentToken, ""
		default:
			return "", "it is http with " + cmp.Or(fault.Clip(scheme), "no scheme")
		}
	case "oauth2":
		flow := definition.get("flows").get("clientCredentials")
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
func (im *openapi) authenticate(source *node) *grant {
	security := source.get("security")
	if security == nil {
		security = im.root.get("security")
	}
	g := im.newGrant()
	switch {
	case security == nil:
		return g
	case security.kind != listValue:
		g.notes.add(security.at, "security is %s and no list: calls are made without credentials", security.kind)
		return g
	}
	refusal, consequence := "", "calls are made without it"
	for i, alternative := range security.items {
		next, problem := im.grantOf(alternative)
		if i == 0 {
			refusal = problem
		}
		if problem != "" {
			continue
		}
		g, consequence = next, ""
		if i > 0 {
			consequence = "credentials of " + schemesOf(alternative) + ", a later alternative, are sent"
			if len(alternative.fields) == 0 {
				consequence = "calls are made without credentials, as a later alternative has it"
			}
		}
		break
	}
	if refusal != "" {
		first := security.items[0]
		g.notes.add(first.at, "asks for %s, which cannot be carried over (%s): %s", schemesOf(first), refusal, consequence)
	}
	return g
}

func (im *openapi) newGrant() *grant {
	return &grant{at: im.root.at, headers: newObject(im.root.at), query: newObject(im.root.at)}
}

func schemesOf(alternative *node) string {
	names := lists.Map(alternative.fields, func(scheme field) string { return fault.Clip(scheme.name) })
	return cmp.Or(strings.Join(names, " and "), "something that is not a map of schemes")
}

// grantOf returns the grant of an alternative, or why it cannot be sent, checked like the API's sources and tools.
func (im *openapi) grantOf(alternative *node) (*grant, string) {
	g := im.newGrant()
	if alternative.kind != objectValue {
		return nil, "it is " + alternative.kind.String()
	}
	for _, scheme := range alternative.fields {
		s := im.schemes[scheme.name]
		switch {
		case s == nil:
			return nil, "the document has no such security scheme"
		case s.unsupported != "":
			return nil, s.unsupported
		case !im.addCredential(g, scheme, s):
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
	body, source := newObject(g.at), newTextObject(g.at, "name", "s", "type", repositories.SourceHTTP, "baseUrl", "https://api.example/")
	body.add("sources", g.at, &node{kind: listValue, items: []*node{g.addTo(source)}})
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

// addCredential adds the credentials of a scheme. It returns false if their place is taken.
func (im *openapi) addCredential(g *grant, scheme field, s *securityScheme) bool {
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
			g.request = clientOf(s.definition.get("flows").get("clientCredentials"), scheme.value, value, other)
		}
		return true
	case sentToken:
		if s.definition.textOf("type") != "http" {
			g.notes.add(s.definition.at, "%s has no client_credentials that can be asked for a token: one that was asked for elsewhere is sent, and nobody renews it", fault.Clip(scheme.name))
		}
		return im.send(g, scheme.name, "Authorization", "Bearer "+value)
	}

	name := s.definition.textOf("name")
	switch s.definition.textOf("in") {
	case "cookie": // all cookies share one header (RFC 6265, section 5.4)
		current := g.headers.get("Cookie")
		if current == nil {
			return im.send(g, scheme.name, "Cookie", name+"="+value)
		}
		g.schemes = append(g.schemes, scheme.name)
		current.text += "; " + name + "=" + value
		return true
	case "query":
		if g.query.field(name) != nil {
			return false
		}
		g.schemes = append(g.schemes, scheme.name)
		im.set(g.query, name, value)
	default:
		if !im.send(g, scheme.name, name, value) {
			return false
		}
	}
	if !repositories.NamesCredential(name) {
		g.notes.add(s.definition.at, "%s is sent in %s, which the service shows to those who may read the app: its name is not that of a credential", fault.Clip(scheme.name), fault.Show(name))
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
	client := newTextObject(flow.at, "clientId", id, "clientSecret", secret, "tokenUrl", withoutPlaceholders(flow.textOf("tokenUrl")))
	if scopes != nil && len(scopes.items) > 0 {
		named := &node{kind: listValue}
		for _, scope := range scopes.items {
			named.items = append(named.items, newText(withoutPlaceholders(scope.text), scope.at))
		}
		client.add("scopes", flow.at, named)
	}
	return requestWith(repositories.AuthBearer, client)
}

func requestWith(auth string, credentials *node) *node {
	request := newTextObject(credentials.at, "auth", auth)
	request.add(auth, credentials.at, credentials)
	return request
}

// use makes a tool use the source that sends the grant. The source's name is set at the end.
func (im *openapi) use(g *grant, name *node) {
	for _, variable := range g.variables {
		im.variables[im.variableName(variable)] = true
	}
	for _, note := range g.notes {
		if !im.notesGiven[note.Detail] {
			im.notesGiven[note.Detail] = true
			im.notes.add(position{note.File, note.Line, note.Column}, "%s", note.Detail)
		}
	}
	i := slices.IndexFunc(im.grantedSources, func(s *grantedSource) bool { return s.headers.equal(g.headers) && s.query.equal(g.query) })
	if i < 0 {
		i = len(im.grantedSources)
		im.grantedSources = append(im.grantedSources, &grantedSource{grant: g})
	}
	im.grantedSources[i].users = append(im.grantedSources[i].users, name)
}

// sourceDocuments returns the tools' sources, the one without credentials first. If there are several, their names include
// their schemes.
func (im *openapi) sourceDocuments() []*node {
	var documents []*node
	used := map[string]bool{}
	slices.SortStableFunc(im.grantedSources, func(a, b *grantedSource) int { return cmp.Compare(len(a.schemes), len(b.schemes)) })
	for _, source := range im.grantedSources {
		name := im.name
		if len(im.grantedSources) > 1 && len(source.schemes) > 0 {
			ids := lists.Map(source.schemes, func(scheme string) string { return cmp.Or(idFrom(scheme), "scheme") })
			name = fmt.Sprintf("%.120s", im.name+"-"+strings.Join(ids, "-and-"))
		}
		first := name
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("%s-%d", first, n)
		}
		used[name] = true
		for _, user := range source.users {
			user.text = name
		}
		documents = append(documents, source.addTo(im.textsOf("kind", kindSource, "name", name, "type", repositories.SourceHTTP, "baseUrl", im.base)))
	}
	return documents
}
