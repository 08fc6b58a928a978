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

type operation struct {
	*openapi
	at      position
	label   string // method and path, for notes
	method  string
	path    string
	lists   map[string][]parameter
	body    string // template of the body
	headers *node
	own     []field // set by the document
	// grant authenticates the operation, and source names its source.
	grant  *grant
	source *node
	lost   string
}

// operation converts an operation to a tool, or notes why it cannot.
func (im *openapi) operation(path string, of field, item *node) {
	o := &operation{
		openapi: im, at: of.at, label: strings.ToUpper(of.name) + " " + fault.Clip(path), method: strings.ToUpper(of.name), path: path,
		lists: map[string][]parameter{}, headers: newObject(of.at), source: newText(im.name, of.at),
	}
	o.own = o.extensions(item, of.value)
	var all []*node // parameters of the path, overridden by the operation's
	known := map[string]int{}
	for _, one := range slices.Concat(item.itemsOf("parameters"), of.value.itemsOf("parameters")) {
		resolved := o.resolved(one)
		key := resolved.textOf("in") + " " + resolved.textOf("name")
		if at, repeated := known[key]; repeated {
			all[at] = resolved
			continue
		}
		known[key] = len(all)
		all = append(all, resolved)
	}
	for _, one := range all {
		if one != nil {
			o.parameter(one)
		}
	}
	for _, named := range inPath.FindAllStringSubmatch(path, -1) {
		if _, ok := known["path "+named[1]]; !ok {
			o.lists["pathParams"] = append(o.lists["pathParams"], parameter{name: named[1], schema: schema{kind: "string"}, required: true})
		}
	}
	o.requestBody(of.value)
	for _, name := range []string{"callbacks", "servers"} {
		if current := of.value.field(name); current != nil {
			im.notes.add(current.at, "%s: its %s are left out", o.label, name)
		}
	}
	linked := func(f field) bool { return f.value.field("$ref") == nil && f.value.get("links") != nil }
	if slices.ContainsFunc(of.value.fieldsOf("responses"), linked) {
		im.notes.add(of.at, "%s: the links of its answers are left out", o.label)
	}
	if o.lost == "" {
		o.asTool(of.value)
	}
	if o.lost != "" {
		im.notes.add(of.at, "%s is left out: %s", o.label, o.lost)
	}
}

var inPath = regexp.MustCompile(`\{([^{}/]+)\}`)

var placesOf = map[string]string{"path": "pathParams", "query": "queryParams", "header": "headerParams"}

// parameter converts one, or notes why it cannot be sent as the document requires.
func (o *operation) parameter(from *node) {
	name, in, style, explode := from.textOf("name"), from.textOf("in"), from.textOf("style"), from.get("explode")
	given := from.get("schema")
	content := from.get("content")
	if content != nil && len(content.fields) > 0 {
		given = content.fields[0].value.get("schema")
	}
	p := parameter{name: name, schema: o.schemaOf(given), words: from.textOf("description"), required: isOn(from.get("required")) || in == "path"}
	compound := p.schema.kind == "array" || p.schema.kind == "object"
	why := ""
	switch {
	case in == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(name)):
		return // ignored, by OpenAPI's rules
	case in == "cookie":
		why = "is a cookie"
	case placesOf[in] == "":
		why = "is sent in " + fault.Show(in)
	case content != nil && compound:
		why = "is sent in a form of its own"
	case in == "query" && p.schema.kind == "object":
		why = "is an object"
	case in == "query" && compound && (style != "" && style != "form" || explode != nil && !isOn(explode)):
		why = "is a list that is not sent by repeating its name"
	case in != "query" && compound:
		why = "is a list or an object"
	case in == "path" && style != "" && style != "simple":
		why = "has the style " + style
	}
	switch {
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

func (o *operation) requestBody(from *node) {
	body := o.resolved(from.get("requestBody"))
	if body == nil || o.method == "GET" || o.method == "DELETE" && body.get("content") == nil {
		return
	}
	required := isOn(body.get("required"))
	content := body.fieldsOf("content")
	kinds := []string{}
	for _, kind := range content {
		media, _, _ := strings.Cut(strings.ToLower(kind.name), ";")
		kinds = append(kinds, media)
		if media == "application/json" || strings.HasSuffix(media, "+json") {
			o.jsonBody(kind.value, media, required)
			return
		}
	}
	if form := slices.Index(kinds, "application/x-www-form-urlencoded"); form >= 0 {
		o.formBody(content[form].value, required)
		return
	}
	// Without its body, even an optional one, the tool would do only half of its description.
	o.lost = cmp.Or(o.lost, fmt.Sprintf("its body is %s, and JSON and forms are sent", cmp.Or(strings.Join(kinds, " or "), "of no type")))
}

// jsonBody makes parameters of the body's members, or of the body if it is not an object or names clash.
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

// formBody sends the members of the body as a form, without missing values.
func (o *operation) formBody(media *node, required bool) {
	o.set(o.headers, "Content-Type", "application/x-www-form-urlencoded")
	var parts []string
	for _, p := range o.memberParameters(o.schemaOf(media.get("schema")), required) {
		if o.isTaken(p.name) || p.schema.kind == "array" || p.schema.kind == "object" {
			if p.required || p.inBody {
				o.lost = cmp.Or(o.lost, fmt.Sprintf("the field %s of its form is a list, an object, or has the name of another parameter", fault.Show(p.name)))
			}
			o.notes.add(media.at, "%s: the field %s of its form is left out", o.label, fault.Show(p.name))
			continue
		}
		o.lists["bodyParams"] = append(o.lists["bodyParams"], p)
		sent := fmt.Sprintf("&%s=%s", p.name, place(p.name, "%s"))
		if !p.required && !p.inBody { // 0 and false are values
			sent = place(p.name, "if or %[1]s (eq %[1]s 0) (eq %[1]s false)") + sent + "{{end}}"
		}
		parts = append(parts, sent)
	}
	o.body = strings.TrimPrefix(strings.Join(parts, ""), "&")
}

func (o *operation) memberParameters(s schema, required bool) []parameter {
	var members []parameter
	if s.kind != "object" {
		return nil
	}
	// A default would make the tool send a body without its required members; the API applies it anyway.
	isBare := !required && len(s.required) > 0
	for _, member := range s.members {
		inner := o.schemaOf(member.value)
		if !inner.readOnly {
			needed := s.required[member.name]
			if value, ok := inner.byDefault.scalarText(); isBare && ok {
				inner.hints = append(inner.hints, "default "+fault.Clip(value))
			}
			if isBare {
				inner.byDefault = nil
			}
			members = append(members, parameter{name: member.name, schema: inner, required: needed && required, inBody: needed && !required})
		}
	}
	return members
}

// isTaken reports whether a parameter outside the path has the name.
func (o *operation) isTaken(name string) bool {
	return slices.ContainsFunc([]string{"queryParams", "headerParams", "bodyParams"}, func(where string) bool {
		return slices.ContainsFunc(o.lists[where], func(p parameter) bool { return p.name == name })
	})
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// place returns the template's syntax for a value, with a format around its name.
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

var foreignToNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// asTool writes the tool, without the rules of its values if a parameter cannot have them.
func (o *operation) asTool(from *node) {
	given := from.textOf("operationId")
	for _, f := range o.own {
		if f.name == "name" {
			given, _ = f.value.scalarText()
		}
	}
	if given == "" {
		given = strings.ToLower(o.method) + strings.NewReplacer("/", "_", "{", "", "}", "").Replace(strings.TrimSuffix(o.path, "/"))
	}
	fitting := strings.Trim(fmt.Sprintf("%.60s", foreignToNames.ReplaceAllString(given, "_")), "_-")
	fitting = cmp.Or(fitting, strings.ToLower(o.method))
	name := fitting
	for n := 2; o.names[name] || name == repositories.CatchAll; n++ {
		name = fmt.Sprintf("%.58s_%d", fitting, n)
	}

	// A parameter of the path whose name is taken is renamed.
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
		if base, _ := url.Parse(o.base); base != nil {
			path = base.EscapedPath()
		}
		path = cmp.Or(path, "/")
	} else {
		path = withoutPlaceholders(path)
	}

	o.grant = o.authenticate(from)
	tool := o.write(name, path, from, false)
	if err := checkTool(tool); err != nil {
		tool = o.write(name, path, from, true)
		if still := checkTool(tool); still != nil {
			o.lost = firstLine(still)
			return
		}
		o.notes.add(o.at, "%s: the rules of its values are left out: %s", o.label, firstLine(err))
	}
	tool = o.extended(tool)
	if err := checkTool(tool); err != nil {
		o.faults.add(o.own[0].at, "%s: what %s… says of it is no tool: %s", o.label, extension, firstLine(err))
		return
	}
	o.names[name] = true
	o.use(o.grant, o.source)
	o.tools = append(o.tools, tool)
}

func (o *operation) write(name, path string, from *node, loose bool) *node {
	summary, long := from.textOf("summary"), from.textOf("description")
	if summary != "" && long != "" && !strings.HasPrefix(long, summary) {
		long = strings.TrimRight(summary, ". \n") + ". " + long
	}
	described := fault.ClipTo(strings.TrimSpace(withoutPlaceholders(cmp.Or(long, summary, o.method+" "+o.path))), maxDescribed)
	tool := textsOf(o.at, "kind", kindTool, "name", name, "description", described, "type", repositories.ToolHTTP)
	tool.add("source", o.at, o.source)
	o.set(tool, "method", o.method)
	o.set(tool, "path", path)
	for _, where := range []string{"pathParams", "queryParams", "headerParams", "bodyParams"} {
		if len(o.lists[where]) == 0 {
			continue
		}
		made := &node{kind: list, at: o.at}
		for _, p := range o.lists[where] {
			one := newObject(o.root.at)
			o.set(one, "name", p.name)
			o.rules(one, p.schema, cmp.Or(p.words, p.schema.description, words(p.name)), loose, 0)
			if p.inBody {
				one.add("requiredInBody", o.root.at, &node{kind: boolean, text: "true", at: o.root.at})
			} else if !p.required {
				one.add("required", o.root.at, &node{kind: boolean, text: "false", at: o.root.at})
			}
			made.items = append(made.items, one)
		}
		tool.add(where, o.at, made)
	}
	if o.body != "" {
		o.set(tool, "requestBody", o.body)
	}
	if len(o.headers.fields) > 0 {
		tool.add("headers", o.at, o.headers)
	}
	if o.grant.request != nil {
		tool.add("request", o.at, o.grant.request)
	}
	return tool
}
