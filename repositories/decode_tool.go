package repositories

import (
	"bytes"
	"encoding/json"
	"strings"
)

// prepareTools brings the tools of a body to the form of the structs: request.url is
// the tool's url, and a null is a field that is not there.
func (d *decoding) prepareTools() {
	tools, _ := d.object()["tools"].([]any)
	for i := range tools {
		tool, _ := tools[i].(map[string]any)
		for name, value := range tool {
			if value == nil {
				delete(tool, name)
			}
		}
		delete(tool, "annotations") // hints of Toolbox's for its clients
		request, _ := tool["request"].(map[string]any)
		if request == nil {
			continue
		}
		d.prepareURL(tool, request, Point("tools", i))
		delete(request, "url")
		delete(request, "description")
	}
}

func (d *decoding) prepareURL(tool, request map[string]any, at string) {
	url, given := request["url"]
	if !given {
		if tool["url"] == nil && tool["type"] == nil && !d.faulty(at+Point("request", "url")) {
			d.add(at+Point("url"), "is missing: request says how to call, and there is nothing to call")
		}
		return
	}
	if tool["url"] != nil && tool["url"] != url {
		d.add(at+Point("request", "url"), "is not the tool's url, which is given as well; one is enough")
		return
	}
	tool["url"] = url
}

// tools checks the tools and compiles their parameters.
func (d *decoding) tools(tools []Tool) {
	seen := map[string]int{}
	given := d.asGiven()
	for i := range tools {
		if d.faults.full() {
			return
		}
		at := Point("tools", i)
		if len(given) == len(tools) && len(d.faults) == 0 {
			tools[i].restore(given[i])
		}
		d.name(tools[i].Name, seen, i)
		d.parameters(&tools[i], at)
		d.typed(&tools[i], at)
		if tools[i].Request != nil {
			d.request(tools[i].Request, at+Point("request"))
		}
	}
}

// restore puts the parameters back into the order in which they were given.
func (t *Tool) restore(given map[string]json.RawMessage) {
	for field, into := range map[string]*json.RawMessage{
		"schema": &t.Schema, "parameters": &t.Parameters, "templateParameters": &t.TemplateParameters,
		"pathParams": &t.PathParams, "queryParams": &t.QueryParams, "bodyParams": &t.BodyParams, "headerParams": &t.HeaderParams,
	} {
		var text bytes.Buffer
		if len(*into) > 0 && json.Compact(&text, given[field]) == nil {
			*into = text.Bytes()
		}
	}
}

func (d *decoding) name(name string, seen map[string]int, i int) {
	if name == "" {
		return
	}
	if first, twice := seen[name]; twice {
		d.add(Point("tools", i, "name"), "%q is the name of tool %d as well; each has its own", name, first)
		return
	}
	seen[name] = i
}

// parameters compiles the tool's parameters and finds the ones that its URL names
// and it does not have.
func (d *decoding) parameters(t *Tool, at string) {
	parameters, faults := t.compile(&d.patterns)
	for _, fault := range faults {
		if fault.more > 0 {
			d.faults.skip(fault.more)
			continue
		}
		d.add(at+fault.Pointer, "%s", fault.Detail)
	}
	if parameters == nil || d.faulty(at+Point("url")) {
		return
	}
	known := append(parameters.Names(), "appId")
	for _, name := range unknownURLParameters(t.URL, known) {
		if d.faults.full() {
			d.faults.skip(1) // a hint for each would cost the square of their number
			continue
		}
		d.faults.Add(at+Point("url"), "%s names no parameter of the tool%s", clip(name), colonHint(name, known))
	}
}

// colonHint says what may be meant by an unknown :param.
func colonHint(name string, known []string) string {
	if hint := didYouMean(strings.TrimPrefix(name, ":"), known); hint != "" {
		return hint
	}
	return "; write %3A for a colon that is meant as it is"
}
