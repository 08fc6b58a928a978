package files

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// operation is one operation of the document while it becomes a tool.
type operation struct {
	*openapi
	at     position
	label  string // its method and path, for notes
	method string
	path   string
	// lists are the parameters, by the field of a tool that has them.
	lists   map[string][]parameter
	body    string // the template of the body
	headers *node
	// granted is what is sent to authenticate, and on the name of the source that sends it.
	granted *grant
	on      *node
	// lost says why it is no tool; empty where it is one.
	lost string
}

// operation makes a tool of an operation, or notes why it is none.
func (im *openapi) operation(path string, of field, item *node) {
	o := &operation{
		openapi: im, at: of.at, label: strings.ToUpper(of.name) + " " + fault.Clip(path), method: strings.ToUpper(of.name), path: path,
		lists: map[string][]parameter{}, headers: newObject(of.at), on: newText(im.name, of.at),
	}
	o.parameters(item, of.value)
	o.requestBody(of.value)
	for _, name := range []string{"callbacks", "servers"} {
		if there := of.value.field(name); there != nil {
			im.notes.add(there.at, "%s: its %s are left out", o.label, name)
		}
	}
	if o.linked(of.value) {
		im.notes.add(of.at, "%s: the links of its answers are left out", o.label)
	}
	if o.lost == "" {
		o.asTool(of.value)
	}
	if o.lost != "" {
		im.notes.add(of.at, "%s is left out: %s", o.label, o.lost)
	}
}

// linked reports whether an answer of the operation has links.
func (o *operation) linked(from *node) bool {
	responses := from.get("responses")
	return responses != nil && slices.ContainsFunc(responses.fields, func(f field) bool {
		return f.value.field("$ref") == nil && f.value.get("links") != nil
	})
}

// asTool writes the tool, and again without the rules of its values where these are none that
// a parameter can have.
func (o *operation) asTool(from *node) {
	name := o.nameOf(from)
	o.granted = o.authenticate(from)
	path := o.template()
	tool := o.write(name, path, from, false)
	err := checkTool(tool)
	if err != nil {
		tool = o.write(name, path, from, true)
		if checkTool(tool) == nil {
			o.notes.add(o.at, "%s: the rules of its values are left out: %s", o.label, firstLine(err))
			err = nil
		}
	}
	if err != nil {
		o.lost = firstLine(checkTool(tool))
		return
	}
	o.names[name] = true
	o.use(o.granted, o.on)
	o.tools = append(o.tools, tool)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// checkTool checks a tool as the API does.
func checkTool(tool *node) error {
	all := &node{kind: list, items: []*node{tool.without("kind")}}
	body := newObject(tool.at)
	body.add("tools", tool.at, all)
	_, err := repositories.DecodeRepository(repositories.Scope{AppID: "import"}, "import", body.json())
	return err
}

// checkRequest checks the request of a tool as the API does.
func checkRequest(request *node) error {
	tool := textsOf(request.at, "name", "t", "type", repositories.ToolHTTP, "source", "s", "method", "GET", "path", "/")
	tool.add("request", request.at, request)
	return checkTool(tool)
}

// write writes the tool.
func (o *operation) write(name, path string, from *node, loose bool) *node {
	tool := newObject(o.at)
	o.set(tool, "kind", kindTool)
	o.set(tool, "name", name)
	o.set(tool, "description", o.description(from))
	o.set(tool, "type", repositories.ToolHTTP)
	tool.add("source", o.at, o.on)
	o.set(tool, "method", o.method)
	o.set(tool, "path", path)
	for _, where := range []string{"pathParams", "queryParams", "headerParams", "bodyParams"} {
		if len(o.lists[where]) == 0 {
			continue
		}
		made := &node{kind: list, at: o.at}
		for _, p := range o.lists[where] {
			p.loose = loose
			made.items = append(made.items, o.definition(p))
		}
		tool.add(where, o.at, made)
	}
	if o.body != "" {
		o.set(tool, "requestBody", o.body)
	}
	if len(o.headers.fields) > 0 {
		tool.add("headers", o.at, o.headers)
	}
	if o.granted.request != nil {
		tool.add("request", o.at, o.granted.request)
	}
	return tool
}

// description is what the operation does: its summary and its description.
func (o *operation) description(from *node) string {
	summary, _ := from.get("summary").scalarText()
	long, _ := from.get("description").scalarText()
	if summary != "" && long != "" && !strings.HasPrefix(long, summary) {
		long = strings.TrimRight(summary, ". \n") + ". " + long
	}
	return clipped(unfilled(cmp.Or(long, summary, o.method+" "+o.path)), maxDescribed)
}

// nameOf is the name of the tool: the operationId, or else method and path, made to fit.
func (o *operation) nameOf(from *node) string {
	given, _ := from.get("operationId").scalarText()
	if given == "" {
		given = strings.ToLower(o.method) + strings.NewReplacer("/", "_", "{", "", "}", "").Replace(strings.TrimSuffix(o.path, "/"))
	}
	foreign := regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	name := strings.Trim(fmt.Sprintf("%.60s", foreign.ReplaceAllString(given, "_")), "_-")
	name = cmp.Or(name, strings.ToLower(o.method))
	unique := name
	for n := 2; o.names[unique] || unique == repositories.CatchAll; n++ {
		unique = fmt.Sprintf("%.58s_%d", name, n)
	}
	return unique
}

// parameters reads those of the path and of the operation, of which the latter win.
func (o *operation) parameters(item, from *node) {
	var all []*node
	known := map[string]int{}
	for _, given := range []*node{item.get("parameters"), from.get("parameters")} {
		if given == nil {
			continue
		}
		for _, one := range given.items {
			resolved := o.resolved(one)
			name, _ := resolved.get("name").scalarText()
			in, _ := resolved.get("in").scalarText()
			if at, again := known[in+" "+name]; again {
				all[at] = resolved
				continue
			}
			known[in+" "+name] = len(all)
			all = append(all, resolved)
		}
	}
	for _, one := range all {
		if one != nil {
			o.parameter(one)
		}
	}
	for _, named := range inPath.FindAllStringSubmatch(o.path, -1) {
		if _, is := known["path "+named[1]]; !is { // a text, as nobody says otherwise
			o.lists["pathParams"] = append(o.lists["pathParams"], parameter{name: named[1], schema: schema{kind: "string"}, required: true})
		}
	}
}

// inPath are the places of a path that parameters fill.
var inPath = regexp.MustCompile(`\{([^{}/]+)\}`)

// placesOf are the fields of a tool for the places of a parameter.
var placesOf = map[string]string{"path": "pathParams", "query": "queryParams", "header": "headerParams"}

func (o *operation) parameter(from *node) {
	name, _ := from.get("name").scalarText()
	in, _ := from.get("in").scalarText()
	described, _ := from.get("description").scalarText()
	p := parameter{name: name, schema: o.schemaOf(schemaIn(from)), words: described, required: isOn(from.get("required")) || in == "path"}
	why := o.unsendable(in, from, p)
	switch {
	case in == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(name)):
		return // as OpenAPI has it, they are said elsewhere
	case why != "" && p.required:
		o.lost = cmp.Or(o.lost, fmt.Sprintf("its %s parameter %s %s", in, fault.Show(name), why))
		return
	case why != "":
		o.notes.add(from.at, "%s: the %s parameter %s is left out: it %s", o.label, in, fault.Show(name), why)
		return
	}
	if in == "header" && p.schema.kind != "string" {
		p.schema = schema{kind: "string", description: p.schema.description, hints: append(p.schema.hints, cmp.Or(p.schema.kind, "any text"))}
	}
	o.lists[placesOf[in]] = append(o.lists[placesOf[in]], p)
}

// schemaIn is the schema of a parameter, which may stand in its content.
func schemaIn(from *node) *node {
	if content := from.get("content"); content != nil && len(content.fields) > 0 {
		return content.fields[0].value.get("schema")
	}
	return from.get("schema")
}

// unsendable says why a parameter cannot be sent as the document says; empty where it can.
func (o *operation) unsendable(in string, from *node, p parameter) string {
	style, _ := from.get("style").scalarText()
	explode := from.get("explode")
	compound := p.schema.kind == "array" || p.schema.kind == "object"
	switch {
	case in == "cookie":
		return "is a cookie"
	case placesOf[in] == "":
		return "is sent in " + fault.Show(in)
	case from.get("content") != nil && compound:
		return "is sent in a form of its own"
	case in == "query" && p.schema.kind == "object":
		return "is an object"
	case in == "query" && compound && (style != "" && style != "form" || explode != nil && !isOn(explode)):
		return "is a list that is not sent by repeating its name"
	case in != "query" && compound:
		return "is a list or an object"
	case in == "path" && style != "" && style != "simple":
		return "has the style " + style
	}
	return ""
}

// template is the path with places for its parameters. One that has the name of another
// parameter gets a name of its own.
func (o *operation) template() string {
	path := strings.TrimPrefix(o.path, "/")
	for i, p := range o.lists["pathParams"] {
		name := p.name
		for o.isTaken(name) {
			name = "path_" + name
		}
		path = strings.ReplaceAll(path, "{"+p.name+"}", place(name, "%s"))
		o.lists["pathParams"][i].name, o.lists["pathParams"][i].words = name, cmp.Or(p.words, p.schema.description, words(p.name))
	}
	if path == "" { // the source itself
		base, _ := url.Parse(o.base)
		if base == nil || base.EscapedPath() == "" {
			return "/"
		}
		return base.EscapedPath()
	}
	return unfilled(path)
}

// isTaken reports whether another place than the path has a parameter of the name.
func (o *operation) isTaken(name string) bool {
	return slices.ContainsFunc([]string{"queryParams", "headerParams", "bodyParams"}, func(where string) bool {
		return slices.ContainsFunc(o.lists[where], func(p parameter) bool { return p.name == name })
	})
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// place is where a template pastes a value, with the format around its name.
func place(name, format string) string {
	in := "." + name
	if !identifier.MatchString(name) {
		in = `index . ` + string(quote(name))
		if format != "%s" {
			in = "(" + in + ")"
		}
	}
	return "{{" + fmt.Sprintf(format, in) + "}}"
}

// requestBody reads what is sent: JSON, or a form.
func (o *operation) requestBody(from *node) {
	body := o.resolved(from.get("requestBody"))
	if body == nil || o.method == "GET" || o.method == "DELETE" && body.get("content") == nil {
		return
	}
	required := isOn(body.get("required"))
	content := body.get("content")
	kinds := []string{}
	if content != nil {
		for _, kind := range content.fields {
			media, _, _ := strings.Cut(strings.ToLower(kind.name), ";")
			kinds = append(kinds, media)
			if media == "application/json" || strings.HasSuffix(media, "+json") {
				o.jsonBody(kind.value, media, required)
				return
			}
		}
		if form := slices.Index(kinds, "application/x-www-form-urlencoded"); form >= 0 {
			o.formBody(content.fields[form].value)
			return
		}
	}
	why := fmt.Sprintf("its body is %s, and JSON and forms are sent", cmp.Or(strings.Join(kinds, " or "), "of no type"))
	if required {
		o.lost = cmp.Or(o.lost, why)
		return
	}
	o.notes.add(body.at, "%s: no body is sent: %s", o.label, why)
}

// jsonBody has the members of the body as parameters, or the body itself where it is no
// object, or where a member has the name of another parameter.
func (o *operation) jsonBody(media *node, kind string, required bool) {
	if kind != "application/json" {
		o.set(o.headers, "Content-Type", kind)
	}
	s := o.schemaOf(media.get("schema"))
	members := o.memberParameters(s, required)
	clash := slices.ContainsFunc(members, func(p parameter) bool { return o.isTaken(p.name) })
	if len(members) > 0 && !clash {
		o.lists["bodyParams"], o.body = members, "{{json .}}"
		return
	}
	s.kind = cmp.Or(s.kind, "object")
	name := "body"
	for o.isTaken(name) {
		name = "request_" + name
	}
	o.lists["bodyParams"] = []parameter{{name: name, schema: s, words: cmp.Or(s.description, "the body of the request"), required: true}}
	o.body = place(name, "json %s")
}

func (o *operation) memberParameters(s schema, required bool) []parameter {
	var members []parameter
	if s.kind != "object" {
		return nil
	}
	for _, member := range s.members {
		inner := o.schemaOf(member.value)
		if !inner.readOnly {
			members = append(members, parameter{name: member.name, schema: inner, required: required && s.required[member.name]})
		}
	}
	return members
}

// formBody sends the members of the body as a form. One without a value is left out.
func (o *operation) formBody(media *node) {
	o.set(o.headers, "Content-Type", "application/x-www-form-urlencoded")
	var parts []string
	for _, p := range o.memberParameters(o.schemaOf(media.get("schema")), true) {
		if o.isTaken(p.name) || p.schema.kind == "array" || p.schema.kind == "object" {
			if p.required {
				o.lost = cmp.Or(o.lost, fmt.Sprintf("the field %s of its form is a list, an object, or has the name of another parameter", fault.Show(p.name)))
			}
			o.notes.add(media.at, "%s: the field %s of its form is left out", o.label, fault.Show(p.name))
			continue
		}
		o.lists["bodyParams"] = append(o.lists["bodyParams"], p)
		sent := fmt.Sprintf("&%s=%s", p.name, place(p.name, "%s"))
		if !p.required { // 0 and false are values
			sent = place(p.name, "if or %[1]s (eq %[1]s 0) (eq %[1]s false)") + sent + "{{end}}"
		}
		parts = append(parts, sent)
	}
	o.body = strings.TrimPrefix(strings.Join(parts, ""), "&")
}
