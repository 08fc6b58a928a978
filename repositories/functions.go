package repositories

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/bodies"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
)

const functionType = "function"

// misplacedFields are the fields of a tool that authors put into its function by mistake.
var misplacedFields = []string{"url", "request", "emitter", "examples", "returnDirect", "skipResponse", "schema", "type", "answer", "confirm", "settle"}

// schemaFields hold a JSON Schema in place of parameters: for MCP, Anthropic, and SERMAS if it is an object.
var schemaFields = []string{"inputSchema", "input_schema", "schema"}

// functions converts tools of other forms: a JSON Schema moves to parameters, the URL to the tool.
type functions struct {
	moved  bodies.Moved
	faults fault.List
}

func (f *functions) move(tree any) bodies.Moved {
	body, _ := tree.(map[string]any)
	tools, _ := body["tools"].([]any)
	for i := range tools {
		if tool, ok := tools[i].(map[string]any); ok {
			f.tool(tool, fault.Point("tools", i))
		}
	}
	return f.moved
}

func (f *functions) tool(tool map[string]any, at string) {
	if tool["type"] == functionType {
		delete(tool, "type")
	}
	if function, ok := tool[functionType].(map[string]any); ok {
		f.function(tool, function, at)
	}
	for _, field := range schemaFields {
		if _, ok := tool[field].(map[string]any); ok {
			f.take(tool, "parameters", tool, field, at, "")
		}
	}
	leaveStrict(tool)

	// JSON Schema ignores keywords in another case, so the tool would have no parameters.
	schema, _ := tool["parameters"].(map[string]any)
	for _, word := range []string{"Type", "Properties", "Required"} {
		if _, given := schema[word]; given {
			f.faults.Add(at+fault.Point("parameters", word), "is not a keyword of JSON Schema; did you mean %q?", strings.ToLower(word))
		}
	}

	// SERMAS writes all known fields, also of absent credentials.
	request, _ := tool["request"].(map[string]any)
	for _, way := range []string{"basic", "bearer"} {
		credentials, ok := request[way].(map[string]any)
		given := maps.Clone(credentials)
		maps.DeleteFunc(given, func(field string, value any) bool { return value == nil || value == "" || field == "clientType" })
		if ok && len(given) == 0 {
			delete(request, way)
		}
	}
	if headers, ok := request["headers"].(map[string]any); ok && len(headers) == 0 {
		delete(request, "headers")
	}
	if request != nil && len(request) == 0 && tool["url"] == nil {
		delete(tool, "request")
	}
	if tool["url"] == nil || tool["url"] == "" {
		f.take(tool, "url", request, "url", at, "/request")
	}
}

func (f *functions) function(tool, function map[string]any, at string) {
	leaveStrict(function)
	f.moved[at+"/name"] = at + "/function/name" // if it is missing
	for _, field := range []string{"name", "description", "parameters"} {
		f.take(tool, field, function, field, at, "/function")
	}
	for _, field := range slices.Sorted(maps.Keys(function)) {
		if slices.Contains(misplacedFields, field) {
			f.faults.Add(at+fault.Point(functionType, field), "belongs beside function, not in it")
			delete(function, field)
		}
	}
	if len(function) == 0 {
		delete(tool, functionType)
	}
}

// leaveStrict removes a boolean strict, because every value is checked here.
func leaveStrict(of map[string]any) {
	if _, ok := of["strict"].(bool); ok || of["strict"] == nil {
		delete(of, "strict")
	}
}

// take moves a field to its place, unless the place is taken.
func (f *functions) take(tool map[string]any, field string, from map[string]any, given, at, within string) {
	value := from[given]
	delete(from, given)
	if value == nil {
		return
	}
	place := at + within + fault.Point(given)
	taken, old := tool[field], "the tool's "+field
	if taken == nil || taken == "" {
		tool[field], f.moved[at+fault.Point(field)] = value, place
		return
	}
	if origin, moved := f.moved[at+fault.Point(field)]; moved && field == "parameters" {
		old = "that of " + origin[len(at)+1:]
	}
	one, err := exactjson.Encode(taken)
	other, otherErr := exactjson.Encode(value)
	if err != nil || otherErr != nil || !bytes.Equal(one, other) {
		f.faults.Add(place, "differs from %s, which is also given; give one of them", old)
	}
}

// restore puts the parameters back into their given order, which informs models.
func (t *Tool) restore(given map[string]json.RawMessage) {
	if t.Parameters != nil {
		var function struct{ Parameters json.RawMessage }
		_ = json.Unmarshal(given[functionType], &function) // a non-object was a fault
		for _, schema := range [][]byte{function.Parameters, given["inputSchema"], given["input_schema"], given["schema"]} {
			if !parameters.Present(given["parameters"]) && bytes.HasPrefix(schema, []byte("{")) {
				given["parameters"] = schema
			}
		}
	}
	for field, into := range map[string]*json.RawMessage{
		"schema": &t.Schema, "parameters": &t.Parameters, "templateParameters": &t.TemplateParameters,
		"pathParams": &t.PathParams, "queryParams": &t.QueryParams, "bodyParams": &t.BodyParams, "headerParams": &t.HeaderParams,
	} {
		var text bytes.Buffer
		if !parameters.Present(*into) {
			*into = nil
		} else if json.Compact(&text, given[field]) == nil {
			*into = text.Bytes()
		}
	}
}
