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
	at              position
	label           string // method and path, for notes
	method          string
	path            string
	parameters      map[string][]parameter
	body            string // template of the body
	headers         *node
	extensionFields []field // set by the document
	// grant authenticates the operation, and source names its source.
	grant       *grant
	source      *node
	unsupported string
}

// operation converts an operation to a tool, or notes why it cannot.
func (im *openapi) operation(path string, method field, item *node) {
	o := &operation{
		openapi: im, at: method.at, label: strings.ToUpper(method.name) + " " + fault.Clip(path), method: strings.ToUpper(method.name), path: path,
		parameters: map[string][]parameter{}, headers: newObject(method.at), source: newText(im.name, method.at),
	}
	o.extensionFields = o.extensions(item, method.value)
	var merged []*node // parameters of the path, overridden by the operation's
	known := map[string]int{}
	for _, entry := range slices.Concat(item.itemsOf("parameters"), method.value.itemsOf("parameters")) {
		resolved := o.resolved(entry)
		key := resolved.textOf("in") + " " + resolved.textOf("name")
		if index, repeated := known[key]; repeated {
			merged[index] = resolved
			continue
		}
		known[key] = len(merged)
		merged = append(merged, resolved)
	}
	for _, entry := range merged {
		if entry != nil {
			o.parameter(entry)
		}
	}
	for _, match := range pathParameter.FindAllStringSubmatch(path, -1) {
		if _, ok := known["path "+match[1]]; !ok {
			o.parameters["pathParams"] = append(o.parameters["pathParams"], parameter{name: match[1], schema: schema{kind: "string"}, required: true})
		}
	}
	o.requestBody(method.value)
	for _, name := range []string{"callbacks", "servers"} {
		if current := method.value.field(name); current != nil {
			im.notes.add(current.at, "%s: its %s are left out", o.label, name)
		}
	}
	linked := func(f field) bool { return f.value.field("$ref") == nil && f.value.get("links") != nil }
	if slices.ContainsFunc(method.value.fieldsOf("responses"), linked) {
		im.notes.add(method.at, "%s: the links of its answers are left out", o.label)
	}
	if o.unsupported == "" {
		o.addTool(method.value)
	}
	if o.unsupported != "" {
		im.notes.add(method.at, "%s is left out: %s", o.label, o.unsupported)
	}
}

var pathParameter = regexp.MustCompile(`\{([^{}/]+)\}`)

var parameterLists = map[string]string{"path": "pathParams", "query": "queryParams", "header": "headerParams"}

// parameter converts one, or notes why it cannot be sent as the document requires.
func (o *operation) parameter(source *node) {
	name, in, style, explode := source.textOf("name"), source.textOf("in"), source.textOf("style"), source.get("explode")
	schemaNode := source.get("schema")
	content := source.get("content")
	if content != nil && len(content.fields) > 0 {
		schemaNode = content.fields[0].value.get("schema")
	}
	p := parameter{name: name, schema: o.schemaOf(schemaNode), description: source.textOf("description"), required: isTrue(source.get("required")) || in == "path"}
	compound := p.schema.kind == "array" || p.schema.kind == "object"
	problem := ""
	switch {
	case in == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(name)):
		return // ignored, by OpenAPI's rules
	case in == "header" && (repositories.IsAttemptHeader(name) || strings.EqualFold(name, "Accept-Encoding")):
		return // as Idempotency-Key: every call has its own
	case in == "cookie":
		problem = "is a cookie"
	case parameterLists[in] == "":
		problem = "is sent in " + fault.Show(in)
	case content != nil && compound:
		problem = "is sent in a form of its own"
	case in == "query" && p.schema.kind == "object":
		problem = "is an object"
	case in == "query" && compound && (style != "" && style != "form" || explode != nil && !isTrue(explode)):
		problem = "is a list that is not sent by repeating its name"
	case in != "query" && compound:
		problem = "is a list or an object"
	case in == "path" && style != "" && style != "simple":
		problem = "has the style " + style
	}
	switch {
	case problem != "" && p.required:
		o.unsupported = cmp.Or(o.unsupported, fmt.Sprintf("its %s parameter %s %s", in, fault.Show(name), problem))
		return
	case problem != "":
		o.notes.add(source.at, "%s: the %s parameter %s is left out: it %s", o.label, in, fault.Show(name), problem)
		return
	}
	if in == "header" && p.schema.kind != "string" {
		p.schema = schema{kind: "string", description: p.schema.description, hints: append(p.schema.hints, cmp.Or(p.schema.kind, "any text"))}
	}
	o.parameters[parameterLists[in]] = append(o.parameters[parameterLists[in]], p)
}

func (o *operation) requestBody(source *node) {
	body := o.resolved(source.get("requestBody"))
	if body == nil || o.method == "GET" || o.method == "DELETE" && body.get("content") == nil {
		return
	}
	required := isTrue(body.get("required"))
	content := body.fieldsOf("content")
	mediaTypes := []string{}
	for _, entry := range content {
		media, _, _ := strings.Cut(strings.ToLower(entry.name), ";")
		mediaTypes = append(mediaTypes, media)
		if media == "application/json" || strings.HasSuffix(media, "+json") {
			o.jsonBody(entry.value, media, required)
			return
		}
	}
	if form := slices.Index(mediaTypes, "application/x-www-form-urlencoded"); form >= 0 {
		o.formBody(content[form].value, required)
		return
	}
	// Without its body, even an optional one, the tool would do only half of its description.
	o.unsupported = cmp.Or(o.unsupported, fmt.Sprintf("its body is %s, and JSON and forms are sent", cmp.Or(strings.Join(mediaTypes, " or "), "of no type")))
}

// jsonBody makes parameters of the body's members, or of the body if it is not an object or names clash.
func (o *operation) jsonBody(media *node, mediaType string, required bool) {
	if mediaType != "application/json" {
		o.set(o.headers, "Content-Type", mediaType)
	}
	s := o.schemaOf(media.get("schema"))
	members := o.memberParameters(s, required)
	clash := slices.ContainsFunc(members, func(p parameter) bool { return o.nameTaken(p.name) })
	if len(members) > 0 && !clash {
		o.parameters["bodyParams"], o.body = members, "{{json .}}"
		return
	}
	s.kind = cmp.Or(s.kind, "object")
	name := "body"
	for o.nameTaken(name) {
		name = "request_" + name
	}
	o.parameters["bodyParams"] = []parameter{{name: name, schema: s, description: cmp.Or(s.description, "the body of the request"), required: true}}
	o.body = placeholderFor(name, "json %s")
}

// formBody sends the members of the body as a form, without missing values.
func (o *operation) formBody(media *node, required bool) {
	o.set(o.headers, "Content-Type", "application/x-www-form-urlencoded")
	var parts []string
	for _, p := range o.memberParameters(o.schemaOf(media.get("schema")), required) {
		if o.nameTaken(p.name) || p.schema.kind == "array" || p.schema.kind == "object" {
			if p.required || p.inBody {
				o.unsupported = cmp.Or(o.unsupported, fmt.Sprintf("the field %s of its form is a list, an object, or has the name of another parameter", fault.Show(p.name)))
			}
			o.notes.add(media.at, "%s: the field %s of its form is left out", o.label, fault.Show(p.name))
			continue
		}
		o.parameters["bodyParams"] = append(o.parameters["bodyParams"], p)
		pair := fmt.Sprintf("&%s=%s", p.name, placeholderFor(p.name, "%s"))
		if !p.required && !p.inBody { // 0 and false are values
			pair = placeholderFor(p.name, "if or %[1]s (eq %[1]s 0) (eq %[1]s false)") + pair + "{{end}}"
		}
		parts = append(parts, pair)
	}
	o.body = strings.TrimPrefix(strings.Join(parts, ""), "&")
}

func (o *operation) memberParameters(s schema, required bool) []parameter {
	var members []parameter
	if s.kind != "object" {
		return nil
	}
	// A default would make the tool send a body without its required members; the API applies it anyway.
	conditional := !required && len(s.required) > 0
	for _, member := range s.members {
		memberSchema := o.schemaOf(member.value)
		if !memberSchema.readOnly {
			isRequired := s.required[member.name]
			if value, ok := memberSchema.defaultValue.scalarText(); conditional && ok {
				memberSchema.hints = append(memberSchema.hints, "default "+fault.Clip(value))
			}
			if conditional {
				memberSchema.defaultValue = nil
			}
			members = append(members, parameter{name: member.name, schema: memberSchema, required: isRequired && required, inBody: isRequired && !required})
		}
	}
	return members
}

// nameTaken reports whether a parameter outside the path has the name.
func (o *operation) nameTaken(name string) bool {
	return slices.ContainsFunc([]string{"queryParams", "headerParams", "bodyParams"}, func(listName string) bool {
		return slices.ContainsFunc(o.parameters[listName], func(p parameter) bool { return p.name == name })
	})
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// placeholderFor returns the template's syntax for a value, with a format around its name.
func placeholderFor(name, format string) string {
	reference := "." + name
	if !identifier.MatchString(name) {
		reference = `index . ` + quote(name)
		if format != "%s" {
			reference = "(" + reference + ")"
		}
	}
	return "{{" + fmt.Sprintf(format, reference) + "}}"
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// addTool writes the tool, without the rules of its values if a parameter cannot have them.
func (o *operation) addTool(source *node) {
	id := source.textOf("operationId")
	for _, f := range o.extensionFields {
		if f.name == "name" {
			id, _ = f.value.scalarText()
		}
	}
	if id == "" {
		id = strings.ToLower(o.method) + strings.NewReplacer("/", "_", "{", "", "}", "").Replace(strings.TrimSuffix(o.path, "/"))
	}
	stem := strings.Trim(fmt.Sprintf("%.60s", notInNames.ReplaceAllString(id, "_")), "_-")
	stem = cmp.Or(stem, strings.ToLower(o.method))
	name := stem
	for n := 2; o.toolNames[name] || name == repositories.CatchAll; n++ {
		name = fmt.Sprintf("%.58s_%d", stem, n)
	}

	// A parameter of the path whose name is taken is renamed.
	path := strings.TrimPrefix(o.path, "/")
	for i, p := range o.parameters["pathParams"] {
		name := p.name
		for o.nameTaken(name) {
			name = "path_" + name
		}
		path = strings.ReplaceAll(path, "{"+p.name+"}", placeholderFor(name, "%s"))
		o.parameters["pathParams"][i].name, o.parameters["pathParams"][i].description = name, cmp.Or(p.description, p.schema.description, wordsOfName(p.name))
	}
	if path == "" { // the source itself
		if base, _ := url.Parse(o.base); base != nil {
			path = base.EscapedPath()
		}
		path = cmp.Or(path, "/")
	} else {
		path = withoutPlaceholders(path)
	}

	o.grant = o.authenticate(source)
	tool := o.buildTool(name, path, source, false)
	if err := checkTool(tool); err != nil {
		tool = o.buildTool(name, path, source, true)
		if looseErr := checkTool(tool); looseErr != nil {
			o.unsupported = firstLine(looseErr)
			return
		}
		o.notes.add(o.at, "%s: the rules of its values are left out: %s", o.label, firstLine(err))
	}
	tool = o.extended(tool)
	if err := checkTool(tool); err != nil {
		o.faults.add(o.extensionFields[0].at, "%s: its fields %s… do not make a tool: %s", o.label, extension, firstLine(err))
		return
	}
	o.toolNames[name] = true
	o.use(o.grant, o.source)
	o.tools = append(o.tools, tool)
}

func (o *operation) buildTool(name, path string, source *node, loose bool) *node {
	summary, description := source.textOf("summary"), source.textOf("description")
	if summary != "" && description != "" && !strings.HasPrefix(description, summary) {
		description = strings.TrimRight(summary, ". \n") + ". " + description
	}
	shortened := fault.ClipTo(strings.TrimSpace(withoutPlaceholders(cmp.Or(description, summary, o.method+" "+o.path))), maxDescribed)
	tool := newTextObject(o.at, "kind", kindTool, "name", name, "description", shortened, "type", repositories.ToolHTTP)
	tool.add("source", o.at, o.source)
	o.set(tool, "method", o.method)
	o.set(tool, "path", path)
	for _, listName := range []string{"pathParams", "queryParams", "headerParams", "bodyParams"} {
		if len(o.parameters[listName]) == 0 {
			continue
		}
		params := &node{kind: listValue, at: o.at}
		for _, p := range o.parameters[listName] {
			param := newObject(o.root.at)
			o.set(param, "name", p.name)
			o.rules(param, p.schema, cmp.Or(p.description, p.schema.description, wordsOfName(p.name)), loose, 0)
			if p.inBody {
				param.add("requiredInBody", o.root.at, &node{kind: booleanValue, text: "true", at: o.root.at})
			} else if !p.required {
				param.add("required", o.root.at, &node{kind: booleanValue, text: "false", at: o.root.at})
			}
			params.items = append(params.items, param)
		}
		tool.add(listName, o.at, params)
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
