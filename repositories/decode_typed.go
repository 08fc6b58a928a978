package repositories

import (
	"fmt"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/template"
)

// toolTypes are the types that a tool may have.
var toolTypes = []string{ToolHTTP, ToolPostgres, ToolSQLite}

func checkToolType(text string) error {
	if slices.Contains(toolTypes, text) {
		return nil
	}
	return fmt.Errorf("%q is not a supported type of tool: %s%s; a tool without a type fires an event and calls its url",
		fault.Clip(text), fault.OneOf(toolTypes), fault.DidYouMean(text, toolTypes))
}

// toolField is a field that not every type of tool has.
type toolField struct {
	name   string
	of     []string
	needed bool // by all of these types
	given  func(*Tool) bool
}

var (
	sqlTypes  = []string{ToolPostgres, ToolSQLite}
	httpTypes = []string{ToolHTTP}
	untyped   = []string{""}
)

var toolFields = []toolField{
	{"source", toolTypes, true, func(t *Tool) bool { return t.Source != "" }},
	{"statement", sqlTypes, true, func(t *Tool) bool { return t.Statement != "" }},
	{"method", httpTypes, true, func(t *Tool) bool { return t.Method != "" }},
	{"path", httpTypes, true, func(t *Tool) bool { return t.Path != "" }},
	{"headers", httpTypes, false, func(t *Tool) bool { return len(t.Headers) > 0 }},
	{"requestBody", httpTypes, false, func(t *Tool) bool { return t.RequestBody != "" }},
	{"pathParams", httpTypes, false, func(t *Tool) bool { return given(t.PathParams) }},
	{"queryParams", httpTypes, false, func(t *Tool) bool { return given(t.QueryParams) }},
	{"bodyParams", httpTypes, false, func(t *Tool) bool { return given(t.BodyParams) }},
	{"headerParams", httpTypes, false, func(t *Tool) bool { return given(t.HeaderParams) }},
	{"schema", append(sqlTypes[:2:2], untyped...), false, func(t *Tool) bool { return given(t.Schema) }},
	{"parameters", append(sqlTypes[:2:2], untyped...), false, func(t *Tool) bool { return given(t.Parameters) }},
	{"templateParameters", append(sqlTypes[:2:2], untyped...), false, func(t *Tool) bool { return given(t.TemplateParameters) }},
	{"url", untyped, false, func(t *Tool) bool { return t.URL != "" }},
}

// typed checks what the type of a tool asks for.
func (d *decoding) typed(t *Tool, at string) {
	t.Method = strings.ToUpper(t.Method)
	if d.faulty(at + fault.Point("type")) {
		return // nobody knows what it needs
	}
	d.toolFields(t, at)
	switch {
	case t.RunsStatement():
		d.statement(t, at)
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
			d.add(at+fault.Point(field.name), "is for tools of type %s%s", fault.OneOf(field.of), onRequest(field.name))
		case there && !its:
			d.add(at+fault.Point(field.name), "is not for tools of type %s%s", t.Type, inPlaceOf(field.name, t.Type))
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
			d.add(at+fault.Point(field), "is for calls of a url; %s", reason)
		}
	}
	const stands = "of a tool with a source it stands on the tool"
	refuse(r.Method != "", "method", stands)
	refuse(len(r.Headers) > 0, "headers", stands)
	refuse(given(r.Body), "body", stands+", as requestBody")
	if authenticates {
		return
	}
	const sourceHas = "the source of a statement has the credentials"
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
		d.add(at+fault.Point("statement"), "has a zero byte, at which a database stops reading")
	}
	parsed, err := template.Parse(t.Statement, template.Array)
	names := ParameterNames(t.TemplateParameters)
	if err != nil {
		if len(names) > 0 {
			d.add(at+fault.Point("statement"), "%s", err)
		}
		return
	}
	bound := t.BoundNames()
	for _, name := range parsed.Names() {
		switch {
		case slices.Contains(names, name):
		case slices.Contains(bound, name):
			d.add(at+fault.Point("statement"), "pastes %s, which is a parameter that is bound: write $%d for it, or move it to templateParameters", fault.Show(name), slices.Index(bound, name)+1)
		default:
			d.add(at+fault.Point("statement"), "pastes %s, which is none of the templateParameters%s", fault.Show(name), fault.DidYouMean(name, names))
		}
	}
}
