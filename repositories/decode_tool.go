package repositories

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// DecodeRepository reads the body of a repository. Scope and id are those of the path; ids
// in the body must agree with them. An empty id means that the path has none: the body may
// give one, and if it does not, the caller generates it. The tools of one with From are nil:
// they are not said yet. All faults are returned at once, as a fault.List.
func DecodeRepository(scope Scope, id string, body []byte) (*Repository, error) {
	d, err := decode("Repository", body)
	if err != nil {
		return nil, err
	}
	d.place(scope, id)
	d.from()
	r := &Repository{}
	d.Into(r)
	d.tools(r.Tools)
	if err := d.Err(); err != nil {
		return nil, err
	}
	r.AppID, r.SessionID = scope.AppID, scope.SessionID
	if id != "" {
		r.ID = id
	}
	if r.Tools == nil && r.From == "" {
		r.Tools = []Tool{}
	}
	return r, nil
}

// DecodePatch reads the body of a PATCH of a repository, by the same rules: the tools
// to add or override, and the options that replace those that are there.
func DecodePatch(scope Scope, id string, body []byte) (*Patch, error) {
	d, err := decode("Patch", body)
	if err != nil {
		return nil, err
	}
	d.place(scope, id)
	p := &Patch{}
	d.Into(p)
	d.tools(p.Tools)
	if err := d.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// place compares the ids of a body with its path and removes the fields that only the
// service sets: clients read the times and send them back with the rest.
func (d *decoding) place(scope Scope, id string) {
	d.Agree("appId", scope.AppID)
	d.Agree("sessionId", scope.SessionID)
	if id != "" {
		d.Agree("repositoryId", id)
	}
	delete(d.Object(), "created")
	delete(d.Object(), "updated")
	d.prepareTools()
}

// prepareTools brings the tools of a body to the form of the structs: request.url is
// the tool's url, and a null is a field that is not there.
func (d *decoding) prepareTools() {
	tools, _ := d.Object()["tools"].([]any)
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
		d.prepareURL(tool, request, fault.Point("tools", i))
		delete(request, "url")
	}
}

func (d *decoding) prepareURL(tool, request map[string]any, at string) {
	url, given := request["url"]
	if !given {
		if tool["url"] == nil && tool["type"] == nil && tool["answer"] == nil && !d.Faulty(at+fault.Point("request", "url")) {
			d.Add(at+fault.Point("url"), "is missing: request says how to call, and there is nothing to call")
		}
		return
	}
	if tool["url"] != nil && tool["url"] != url {
		d.Add(at+fault.Point("request", "url"), "is not the tool's url, which is given as well; one is enough")
		return
	}
	if tool["url"] == nil {
		d.Move(at+fault.Point("url"), at+fault.Point("request", "url"))
	}
	tool["url"] = url
}

// tools checks the tools and compiles their parameters.
func (d *decoding) tools(tools []Tool) {
	seen := map[string]int{}
	given := d.asGiven()
	for i := range tools {
		if d.Full() {
			return
		}
		at := fault.Point("tools", i)
		if len(given) == len(tools) && d.Faultless() {
			tools[i].restore(inOrder(given[i]))
		}
		d.name(tools[i].Name, seen, i)
		d.parameters(&tools[i], at)
		d.marks(&tools[i], at)
		d.typed(&tools[i], at)
		d.held(&tools[i], at)
		if tools[i].Request != nil {
			d.request(tools[i].Request, at+fault.Point("request"))
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
		d.Add(fault.Point("tools", i, "name"), "%q is the name of tool %d as well; each has its own", name, first)
		return
	}
	seen[name] = i
}

// parameters compiles the tool's parameters and finds the ones that its URL names
// and it does not have.
func (d *decoding) parameters(t *Tool, at string) {
	parameters, faults := t.compile(&d.patterns)
	listed, more := faults.Listed()
	for _, one := range listed {
		d.Add(at+one.Pointer, "%s", one.Detail)
	}
	d.Skip(more)
	if parameters == nil || d.Faulty(at+fault.Point("url")) {
		return
	}
	known := append(parameters.Names(), "appId")
	for _, name := range unknownURLParameters(t.URL, known) {
		if d.Full() {
			d.Skip(1) // a hint for each would cost the square of their number
			continue
		}
		d.Another(at+fault.Point("url"), "%s names no parameter of the tool%s", fault.Clip(name), colonHint(name, known))
	}
	d.bracesOfURL(t, known, at+fault.Point("url"))
}

// bracesOfURL finds parameters in braces, which nothing fills in.
func (d *decoding) bracesOfURL(t *Tool, known []string, at string) {
	for _, found := range bracedIn(pathAndQuery(t.URL)) {
		switch {
		case !slices.Contains(known, found.name):
		case d.Full():
			d.Skip(1)
		default:
			d.Another(at, "%s is not filled in: %s; write %%7B and %%7D for braces that are meant as they are", fault.Clip(found.text), inURL(found.name))
		}
	}
}

// inURL says how a parameter is written in a URL.
func inURL(name string) string {
	if pathParameter.FindString(":"+name) != ":"+name {
		return "a parameter is written :name, and its name has A-Z a-z 0-9 _ - alone"
	}
	return "write :" + fault.Clip(name)
}

// colonHint says what may be meant by an unknown :param.
func colonHint(name string, known []string) string {
	if hint := fault.DidYouMean(strings.TrimPrefix(name, ":"), known); hint != "" {
		return hint
	}
	return "; write %3A for a colon that is meant as it is"
}

// asGiven returns the named fields of each tool as they stand in the body: what went
// through the tree has its fields sorted, and the order of parameters tells a model
// something.
func (d *decoding) asGiven() []map[string]json.RawMessage {
	var given struct {
		Tools []map[string]json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(d.Raw(), &given) != nil {
		return nil // something is of the wrong type, and named as a fault
	}
	return given.Tools
}
