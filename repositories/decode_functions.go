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

// functionType is what OpenAI calls the type of a tool that is a function.
const functionType = "function"

// functionFields are what a function of OpenAI's has, and strict, which says how a model is
// held to its parameters: here every value is checked.
var functionFields = []string{"name", "description", "parameters", "strict"}

// besideFunction are the fields that people write into a function, where they mean the tool.
var besideFunction = []string{"url", "request", "emitter", "examples", "returnDirect", "skipResponse", "schema", "type", "answer", "confirm", "settle"}

// schemaFields have a JSON Schema in place of parameters: those of MCP and of Anthropic, and
// the one of SERMAS where it is an object.
var schemaFields = []string{"inputSchema", "input_schema", "schema"}

// functions brings tools that are given as others define them to the one form, in which their
// JSON Schema stands in parameters.
type functions struct {
	moved  bodies.Moved
	faults fault.List
}

// move is for bodies.ReadMoved.
func (f *functions) move(tree any) bodies.Moved {
	body, _ := tree.(map[string]any)
	tools, _ := body["tools"].([]any)
	f.moved = bodies.Moved{}
	for i := range tools {
		if tool, is := tools[i].(map[string]any); is {
			f.tool(tool, i)
		}
	}
	return f.moved
}

func (f *functions) tool(tool map[string]any, i int) {
	if tool["type"] == functionType {
		delete(tool, "type")
	}
	f.function(tool, i)
	for _, field := range schemaFields {
		if _, is := tool[field].(map[string]any); is {
			f.take(tool, "parameters", tool, field, fault.Point("tools", i), "")
		}
	}
	leaveStrict(tool)
	f.words(tool, i)
	leaveEmpty(tool)
}

// leaveEmpty takes away credentials of which nothing is given, and a request of which nothing
// is: SERMAS writes every field that it knows.
func leaveEmpty(tool map[string]any) {
	request, _ := tool["request"].(map[string]any)
	for _, way := range []string{"basic", "bearer"} {
		if given, is := request[way].(map[string]any); is && nothingIn(given) {
			delete(request, way)
		}
	}
	if headers, is := request["headers"].(map[string]any); is && len(headers) == 0 {
		delete(request, "headers")
	}
	if request != nil && len(request) == 0 && tool["url"] == nil {
		delete(tool, "request")
	}
}

// nothingIn reports whether credentials hold no value; the grant alone is none.
func nothingIn(credentials map[string]any) bool {
	for field, value := range credentials {
		if value != nil && value != "" && field != "clientType" {
			return false
		}
	}
	return true
}

// words finds the words of a JSON Schema in another case, as Go writes the fields of a struct
// without tags: they would mean nothing, and the tool have no parameters.
func (f *functions) words(tool map[string]any, i int) {
	schema, _ := tool["parameters"].(map[string]any)
	for _, word := range []string{"Type", "Properties", "Required"} {
		if _, given := schema[word]; given {
			f.faults.Add(fault.Point("tools", i, "parameters", word), "is no word of a JSON Schema; did you mean %q?", strings.ToLower(word))
		}
	}
}

// leaveStrict takes away what is read and left; anything but true and false is a fault.
func leaveStrict(of map[string]any) {
	if _, is := of["strict"].(bool); is || of["strict"] == nil {
		delete(of, "strict")
	}
}

func (f *functions) function(tool map[string]any, i int) {
	function, is := tool[functionType].(map[string]any)
	if !is {
		return
	}
	at := fault.Point("tools", i)
	leaveStrict(function)
	f.moved[at+"/name"] = at + "/function/name" // where it is missing
	for _, field := range functionFields[:3] {
		f.take(tool, field, function, field, at, "/function")
	}
	for _, field := range slices.Sorted(maps.Keys(function)) {
		if slices.Contains(besideFunction, field) {
			f.faults.Add(at+fault.Point(functionType, field), "stands beside function, not in it")
			delete(function, field)
		}
	}
	if len(function) == 0 {
		delete(tool, functionType)
	}
}

// take puts a field where it belongs, and says so where something else is there already.
func (f *functions) take(tool map[string]any, field string, from map[string]any, given, at, within string) {
	value := from[given]
	delete(from, given)
	if value == nil {
		return
	}
	place := at + within + fault.Point(given)
	if there := tool[field]; there == nil || there == "" {
		tool[field], f.moved[at+fault.Point(field)] = value, place
	} else if !sameJSON(there, value) {
		f.faults.Add(place, "is not %s, which is given as well; one is enough", f.ofTool(field, at))
	}
}

// ofTool names a field that a tool has already.
func (f *functions) ofTool(field, at string) string {
	if was, moved := f.moved[at+fault.Point(field)]; moved && field == "parameters" {
		return "that of " + was[len(at)+1:]
	}
	return "the tool's " + field
}

func sameJSON(one, other any) bool {
	x, err := exactjson.Encode(one)
	y, fault := exactjson.Encode(other)
	return err == nil && fault == nil && bytes.Equal(x, y)
}

// inOrder finds a tool's JSON Schema as it was sent, wherever it stands, and returns the fields
// of the tool with it.
func inOrder(tool map[string]json.RawMessage) map[string]json.RawMessage {
	if parameters.Present(tool["parameters"]) {
		return tool
	}
	var function map[string]json.RawMessage
	_ = json.Unmarshal(tool[functionType], &function) // what is no object was a fault
	schemas := []json.RawMessage{function["parameters"]}
	for _, field := range schemaFields {
		schemas = append(schemas, tool[field])
	}
	if i := slices.IndexFunc(schemas, func(one json.RawMessage) bool { return bytes.HasPrefix(one, []byte("{")) }); i >= 0 {
		tool["parameters"] = schemas[i]
	}
	return tool
}
