package repositories

import (
	"fmt"
	"mime"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/parameters"
	"earshot/repositories/template"
)

// toolTypes are the types that a tool may have.
var toolTypes = slices.Concat([]string{ToolHTTP, ToolMCP}, sqlTypes)

// CheckToolType returns an error that lists the types of tools where a type is none.
func CheckToolType(text string) error {
	if slices.Contains(toolTypes, text) {
		return nil
	}
	return fmt.Errorf("%q is not a supported type of tool: %s%s; a tool without a type fires an event and calls its url",
		fault.Clip(text), fault.OneOf(toolTypes), hintOfType(text, toolTypes))
}

// ToolTypes lists the types of tools that CheckToolType takes.
func ToolTypes() []string { return slices.Clone(toolTypes) }

// toolField is a field that not every type of tool has.
type toolField struct {
	name   string
	of     []string
	needed bool // by all of these types
	given  func(*Tool) bool
}

var (
	statementTypes = []string{ToolPostgres, ToolMySQL, ToolSQLite}
	executeTypes   = []string{ToolPostgresExecute, ToolMySQLExecute, ToolSQLiteExecute}
	tablesTypes    = []string{ToolPostgresTables, ToolMySQLTables}
	sqlTypes       = slices.Concat(statementTypes, executeTypes, tablesTypes)
	httpTypes      = []string{ToolHTTP}
	mcpTypes       = []string{ToolMCP}
	untyped        = []string{""}
	plainLists     = slices.Concat(statementTypes, mcpTypes, untyped)
)

var toolFields = []toolField{
	{"source", toolTypes, true, func(t *Tool) bool { return t.Source != "" }},
	{"remoteName", mcpTypes, false, func(t *Tool) bool { return t.RemoteName != "" }},
	{"statement", statementTypes, true, func(t *Tool) bool { return t.Statement != "" }},
	{"readOnly", slices.Concat(statementTypes, executeTypes), false, func(t *Tool) bool { return t.ReadOnly != nil }},
	{"method", httpTypes, true, func(t *Tool) bool { return t.Method != "" }},
	{"path", httpTypes, true, func(t *Tool) bool { return t.Path != "" }},
	{"headers", httpTypes, false, func(t *Tool) bool { return len(t.Headers) > 0 }},
	{"requestBody", httpTypes, false, func(t *Tool) bool { return t.RequestBody != "" }},
	{"pathParams", httpTypes, false, func(t *Tool) bool { return parameters.Present(t.PathParams) }},
	{"queryParams", httpTypes, false, func(t *Tool) bool { return parameters.Present(t.QueryParams) }},
	{"bodyParams", httpTypes, false, func(t *Tool) bool { return parameters.Present(t.BodyParams) }},
	{"headerParams", httpTypes, false, func(t *Tool) bool { return parameters.Present(t.HeaderParams) }},
	{"schema", plainLists, false, func(t *Tool) bool { return parameters.Present(t.Schema) }},
	{"parameters", plainLists, false, func(t *Tool) bool { return parameters.Present(t.Parameters) }},
	{"templateParameters", slices.Concat(statementTypes, untyped), false, func(t *Tool) bool { return parameters.Present(t.TemplateParameters) }},
	{"url", untyped, false, func(t *Tool) bool { return t.URL != "" }},
}

// typed checks what the type of a tool asks for.
func (d *decoding) typed(t *Tool, at string) {
	t.Method = strings.ToUpper(t.Method)
	if d.Faulty(at + fault.Point("type")) {
		return // nobody knows what it needs
	}
	d.toolFields(t, at)
	switch {
	case t.RunsStatement():
		d.statement(t, at)
		d.limitedRequest(t, at+fault.Point("request"), false)
	case t.Type == ToolMCP:
		d.limitedRequest(t, at+fault.Point("request"), false)
	case t.Type == ToolHTTP:
		d.headers(t.Headers, at+fault.Point("headers"))
		d.httpParameters(t, at)
		d.path(t, at)
		d.requestBody(t, at)
		d.limitedRequest(t, at+fault.Point("request"), true)
	}
}

func (d *decoding) toolFields(t *Tool, at string) {
	for _, field := range toolFields {
		there, its := field.given(t), slices.Contains(field.of, t.Type)
		switch {
		case there && !its && t.Type == "":
			d.Add(at+fault.Point(field.name), "is for tools of type %s%s", fault.OneOf(field.of), onRequest(field.name))
		case there && !its:
			d.Add(at+fault.Point(field.name), "is not for tools of type %s%s", t.Type, inPlaceOf(field.name, t.Type))
		case its && field.needed:
			d.needs(there, at+fault.Point(field.name), t.Type)
		}
	}
}

func onRequest(field string) string {
	if field == "method" || field == "headers" {
		return "; of a tool without a type it stands in its request"
	}
	return ""
}

func inPlaceOf(field, toolType string) string {
	switch {
	case field == "url":
		return "; what they reach is their source"
	case field == "readOnly" && slices.Contains(tablesTypes, toolType):
		return "; they change nothing"
	case slices.Contains(executeTypes, toolType):
		return "; they have one parameter, " + SQLParameter
	case slices.Contains(tablesTypes, toolType):
		return "; they have the parameters " + TablesParameter + " and " + FormatParameter
	case field == "readOnly":
		return ""
	case toolType == ToolHTTP:
		return "; they have pathParams, queryParams, bodyParams and headerParams"
	default:
		return ""
	}
}

// limitedRequest checks the request of a tool that has a source: it says how long and
// how often, and for an http tool how to authenticate.
func (d *decoding) limitedRequest(t *Tool, at string, authenticates bool) {
	r := t.Request
	if r == nil {
		return
	}
	refuse := func(given bool, field, reason string) {
		if given {
			d.Add(at+fault.Point(field), "is for calls of a url; %s", reason)
		}
	}
	const stands = "of a tool with a source it stands on the tool"
	refuse(r.Method != "", "method", stands)
	refuse(len(r.Headers) > 0, "headers", stands)
	refuse(parameters.Present(r.Body), "body", stands+", as requestBody")
	if authenticates {
		return
	}
	sourceHas := "the source has the credentials"
	if t.RunsStatement() {
		sourceHas = "the source of a statement has the credentials"
	}
	if r.Auth != "" && r.Auth != AuthNone {
		refuse(true, "auth", sourceHas)
		return
	}
	refuse(r.Basic != nil, "basic", sourceHas)
	refuse(r.Bearer != nil, "bearer", sourceHas)
	refuse(r.ModuleID != "", "moduleId", sourceHas)
}

// statement checks the names that are pasted into a statement. Without template
// parameters nothing is pasted, and braces that are no template are text.
func (d *decoding) statement(t *Tool, at string) {
	if strings.ContainsRune(t.Statement, 0) {
		d.Add(at+fault.Point("statement"), "has a zero byte, at which a database stops reading")
	}
	parsed, err := template.Parse(t.Statement, template.Array)
	names := ParameterNames(t.TemplateParameters)
	if err != nil {
		if len(names) > 0 {
			d.Add(at+fault.Point("statement"), "%s", err)
		}
		return
	}
	bound := t.BoundNames()
	for _, name := range parsed.Names() {
		switch {
		case slices.Contains(names, name):
		case slices.Contains(bound, name):
			d.Add(at+fault.Point("statement"), "pastes %s, which is a parameter that is bound: write %s for it, or move it to templateParameters", fault.Show(name), placeholder(t, slices.Index(bound, name)+1))
		default:
			d.Add(at+fault.Point("statement"), "pastes %s, which is none of the templateParameters%s", fault.Show(name), fault.DidYouMean(name, names))
		}
	}
}

// placeholder stands for a bound value of a statement.
func placeholder(t *Tool, number int) string {
	if t.Type == ToolMySQL {
		return "?"
	}
	return fmt.Sprintf("$%d", number)
}

// httpParameters checks that the parameters of an http tool can stand where they are
// sent.
func (d *decoding) httpParameters(t *Tool, at string) {
	if t.params == nil {
		return // its parameters are at fault
	}
	for _, p := range t.params.Placed() {
		switch {
		case strings.HasPrefix(p.Place, fault.Point(parameters.HeaderList.Field)+"/"):
			d.headerParameter(p, at+p.Place)
		case strings.HasPrefix(p.Place, fault.Point(parameters.PathList.Field)+"/"):
			if p.Type == "array" || p.Type == "object" {
				d.Add(at+p.Place+"/type", "is %s: a path takes a text, a number or a boolean", p.Kind)
			}
		}
	}
}

func (d *decoding) headerParameter(p parameters.Placed, at string) {
	if p.Type != "string" {
		d.Add(at+"/type", "is %s: headers are strings", p.Kind)
	}
	if err := checkHeaderName(p.Name); err != nil {
		d.Add(at+"/name", "%s", err)
	}
	if strings.EqualFold(p.Name, "Content-Type") {
		d.Add(at+"/name", "is the type of the body, by which its values are escaped: it stands in headers")
	}
}

// path checks the template of a path.
func (d *decoding) path(t *Tool, at string) {
	if t.Path == "" || d.Faulty(at+fault.Point("path")) {
		return
	}
	parsed, err := template.Parse(t.Path, template.PathEscape, template.QueryEscape)
	if err != nil {
		d.Add(at+fault.Point("path"), "%s", err)
		return
	}
	d.pasted(parsed.Names(), ParameterNames(t.PathParams), parameters.PathList.Field, at+fault.Point("path"))
	d.bracesOfPath(t, parsed, at+fault.Point("path"))
	if _, err := resolved(t.Path, "http://h/"); err != nil {
		d.Add(at+fault.Point("path"), "%s", err)
	}
}

// bracesOfPath finds parameters in single braces, which the template of a path leaves as they
// are.
func (d *decoding) bracesOfPath(t *Tool, path *template.Template, at string) {
	found := bracedIn(path.Literals()...)
	if len(found) == 0 {
		return
	}
	lists := t.listsByName()
	for _, one := range found {
		list := lists[one.name]
		switch {
		case list == "":
		case d.Full():
			d.Skip(1)
		case list == parameters.PathList.Field:
			d.Another(at, "%s is not filled in: write %s; write %%7B and %%7D for braces that are meant as they are", fault.Clip(one.text), pasting(one.name))
		default:
			d.Another(at, "%s is not filled in: it is one of the %s, and a path has pathParams, as {{.name}}", fault.Clip(one.text), list)
		}
	}
}

// listsByName are the fields of the lists that the tool's parameters stand in, by the names of
// the parameters.
func (t *Tool) listsByName() map[string]string {
	fields := map[string]string{}
	for _, list := range t.lists() {
		for _, name := range ParameterNames(list.Raw) {
			fields[name] = list.Field
		}
	}
	return fields
}

// identifier is a name that a template reads after a point.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pasting is the action of a template that pastes a value.
func pasting(name string) string {
	if identifier.MatchString(name) {
		return "{{." + fault.Clip(name) + "}}"
	}
	return "{{index . " + fault.Show(name) + "}}"
}

// Types of request bodies, by how values are escaped in them.
const (
	BodyJSON = "json"
	BodyForm = "form"
	BodyXML  = "xml"
	BodyText = "text"
)

// BodyType returns how values are escaped in the body of a request with these headers,
// of which the last that has a Content-Type decides: JSON if there is none, and
// empty for a type that values cannot be written in.
func BodyType(headers ...Headers) string {
	content := ""
	for _, given := range headers {
		for name, value := range given {
			if strings.EqualFold(name, "Content-Type") {
				content = value.Reveal()
			}
		}
	}
	if content == "" {
		return BodyJSON
	}
	kind, _, err := mime.ParseMediaType(content)
	switch {
	case err != nil:
		return ""
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return BodyJSON
	case kind == "application/x-www-form-urlencoded":
		return BodyForm
	case kind == "application/xml" || kind == "text/xml" || strings.HasSuffix(kind, "+xml"):
		return BodyXML
	case kind == "text/plain":
		return BodyText
	default:
		return ""
	}
}

// requestBody checks the template of a body.
func (d *decoding) requestBody(t *Tool, at string) {
	names := ParameterNames(t.BodyParams)
	if t.RequestBody == "" {
		if len(names) > 0 {
			d.Add(at+fault.Point("requestBody"), "is missing: bodyParams are pasted into it")
		}
		return
	}
	parsed, err := template.Parse(t.RequestBody, template.ToJSON)
	if err != nil {
		d.Add(at+fault.Point("requestBody"), "%s", err)
		return
	}
	d.pasted(parsed.Names(), names, parameters.BodyList.Field, at+fault.Point("requestBody"))
	if BodyType(t.Headers) == "" && len(parsed.Names()) > 0 {
		d.Add(at+fault.Point("headers", "Content-Type"), "is no type that values can be escaped for: JSON, application/x-www-form-urlencoded, XML or text/plain")
	}
}

// pasted finds names that a template asks for and its list does not have.
func (d *decoding) pasted(asked, known []string, field, at string) {
	for _, name := range asked {
		if !slices.Contains(known, name) {
			d.Add(at, "pastes %s, which is none of the %s%s", fault.Show(name), field, fault.DidYouMean(name, known))
		}
	}
}
