package repositories

import (
	"mime"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/template"
)

// httpParameters checks that the parameters of an http tool can stand where they are
// sent.
func (d *decoding) httpParameters(t *Tool, at string) {
	if t.params == nil {
		return // its parameters are at fault
	}
	for _, p := range t.params.list {
		switch {
		case strings.HasPrefix(p.place, fault.Point(headerList.field)+"/"):
			d.headerParameter(p, at+p.place)
		case strings.HasPrefix(p.place, fault.Point(pathList.field)+"/"):
			if p.kind == kindArray || p.kind.mapping() {
				d.add(at+p.place+"/type", "is %s: a path takes a text, a number or a boolean", p.kind)
			}
		}
	}
}

func (d *decoding) headerParameter(p *parameter, at string) {
	if p.kind != kindString {
		d.add(at+"/type", "is %s: headers are strings", p.kind)
	}
	if err := checkHeaderName(p.name); err != nil {
		d.add(at+"/name", "%s", err)
	}
	if strings.EqualFold(p.name, "Content-Type") {
		d.add(at+"/name", "is the type of the body, by which its values are escaped: it stands in headers")
	}
}

// path checks the template of a path.
func (d *decoding) path(t *Tool, at string) {
	if t.Path == "" || d.faulty(at+fault.Point("path")) {
		return
	}
	parsed, err := template.Parse(t.Path, template.PathEscape, template.QueryEscape)
	if err != nil {
		d.add(at+fault.Point("path"), "%s", err)
		return
	}
	d.pasted(parsed.Names(), ParameterNames(t.PathParams), pathList.field, at+fault.Point("path"))
	if _, err := resolved(t.Path, "http://h/"); err != nil {
		d.add(at+fault.Point("path"), "%s", err)
	}
}

// Types of request bodies, by how values are escaped in them.
const (
	BodyJSON = "json"
	BodyForm = "form"
	BodyXML  = "xml"
	BodyText = "text"
)

// BodyType returns how values are escaped in the body of a request with these headers,
// of which the last that has a Content-Type decides: JSON where there is none, and
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
			d.add(at+fault.Point("requestBody"), "is missing: bodyParams are pasted into it")
		}
		return
	}
	parsed, err := template.Parse(t.RequestBody, template.ToJSON)
	if err != nil {
		d.add(at+fault.Point("requestBody"), "%s", err)
		return
	}
	d.pasted(parsed.Names(), names, bodyList.field, at+fault.Point("requestBody"))
	if BodyType(t.Headers) == "" && len(parsed.Names()) > 0 {
		d.add(at+fault.Point("headers", "Content-Type"), "is no type that values can be escaped for: JSON, application/x-www-form-urlencoded, XML or text/plain")
	}
}

// pasted finds names that a template asks for and its list does not have.
func (d *decoding) pasted(asked, known []string, field, at string) {
	for _, name := range asked {
		if !slices.Contains(known, name) {
			d.add(at, "pastes %s, which is none of the %s%s", fault.Show(name), field, fault.DidYouMean(name, known))
		}
	}
}
