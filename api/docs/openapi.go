package docs

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"earshot/api/answer"
	"earshot/api/server"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// The operations of the API and their components.
var (
	//go:embed openapi.json
	openapiPaths []byte
	//go:embed openapi_components.json
	openapiComponents []byte
)

type object = map[string]any

// openapi builds the OpenAPI 3.1 document. It fails only for malformed embedded files.
func openapi(table []Route, schemas [][]byte) (object, error) {
	var document, components object
	for _, part := range []struct {
		text []byte
		into *object
	}{{openapiPaths, &document}, {openapiComponents, &components}} {
		if err := json.Unmarshal(part.text, part.into); err != nil {
			return nil, fmt.Errorf("an embedded description is not JSON: %w", err)
		}
	}
	for _, text := range schemas {
		var schema object
		if err := json.Unmarshal(text, &schema); err != nil {
			return nil, fmt.Errorf("an embedded schema is not JSON: %w", err)
		}
		definitions, _ := schema["$defs"].(object)
		for name, definition := range definitions {
			components["schemas"].(object)[name] = plain(definition)
		}
	}
	var problems, faults []any
	for _, one := range answer.Codes {
		problems = append(problems, string(one.Code))
	}
	for _, one := range fault.Codes {
		faults = append(faults, string(one.Code))
	}
	all := components["schemas"].(object)
	all["ProblemCode"].(object)["enum"], all["FaultCode"].(object)["enum"] = problems, faults
	// x-extends copies the fields of another component, with more of them required.
	for _, component := range components["schemas"].(object) {
		schema := component.(object)
		if name, ok := schema["x-extends"].(string); ok {
			delete(schema, "x-extends")
			schema["type"], schema["properties"] = "object", components["schemas"].(object)[name].(object)["properties"]
		}
	}
	document["components"] = components
	for _, endpoint := range table {
		if operation, ok := operationOf(document, endpoint); ok {
			complete(operation, endpoint)
		}
	}
	identify(document)
	examples := components["x-examples"].(object)
	delete(components, "x-examples")
	illustrate(document, examples)
	return document, nil
}

// identify adds the request id header to each answer.
func identify(document object) {
	name := func(responses object) {
		for _, one := range responses {
			shown := one.(object)
			if shown["$ref"] != nil {
				continue
			}
			headers, _ := shown["headers"].(object)
			if headers == nil {
				headers = object{}
				shown["headers"] = headers
			}
			headers[server.RequestIDHeader] = reference("headers", server.RequestIDHeader)
		}
	}
	name(document["components"].(object)["responses"].(object))
	for _, path := range document["paths"].(object) {
		for _, operation := range path.(object) {
			if operation, is := operation.(object); is {
				name(operation["responses"].(object))
			}
		}
	}
}

func operationOf(document object, endpoint Route) (object, bool) {
	item, _ := document["paths"].(object)[templated(endpoint.Path)].(object)
	operation, ok := item[strings.ToLower(endpoint.Method)].(object)
	return operation, ok
}

// templated converts a path from echo's syntax (/apps/:appId) to OpenAPI's (/apps/{appId}).
func templated(path string) string {
	parts := strings.Split(strings.Replace(path, "*", ":path", 1), "/") // * is the rest of a path
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// complete adds the table's knowledge to an operation: path and query parameters, security, and the answers of
// the middleware.
func complete(operation object, endpoint Route) {
	parameters, _ := operation["parameters"].([]any)
	for _, found := range idInBraces.FindAllStringSubmatch(templated(endpoint.Path), -1) {
		parameters = append(parameters, reference("parameters", found[1]))
	}
	for _, name := range endpoint.Query {
		parameters = append(parameters, reference("parameters", cmp.Or(renamed[endpoint.Path+" "+name], renamed[name], name)))
	}
	for _, name := range conditionsOf(endpoint) {
		parameters = append(parameters, reference("parameters", name))
	}
	if parameters != nil {
		operation["parameters"] = parameters
	}
	operation["security"] = securityOf(operation, endpoint)
	responses := operation["responses"].(object)
	for _, status := range []string{"200", "201"} {
		if shown, shows := responses[status].(object); shows && endpoint.Tagged {
			if shown["headers"] == nil {
				shown["headers"] = object{}
			}
			shown["headers"].(object)["ETag"] = reference("headers", "ETag")
		}
	}
	for status, name := range answersOf(endpoint) {
		if strings.Contains(endpoint.Path, answer.OpenAIPath) {
			name = "OpenAIRefusal"
		}
		if responses[status] == nil {
			responses[status] = reference("responses", name)
		}
	}
}

func conditionsOf(endpoint Route) []string {
	switch {
	case !endpoint.Tagged:
		return nil
	case endpoint.Method == http.MethodGet:
		return []string{"If-None-Match"}
	case endpoint.Method == http.MethodDelete:
		return []string{"If-Match"}
	case endpoint.Method == http.MethodPost && !strings.HasSuffix(endpoint.Path, "/restore"):
		return nil // it creates an object
	}
	return []string{"If-Match", "If-None-Match"}
}

// renamed maps query parameters to components whose name is taken by another parameter or a schema: generators
// would confuse the two. A key with a path is for that path only.
var renamed = map[string]string{
	"messageId": "ofMessage", "source": "ofSource", "session": "ofSession", "user": "ofUser", "metadata.*": "metadata",
	"/v1/apps/:appId/sessions state":                         "sessionState",
	"/v1/apps/:appId/sessions order":                         "sessionOrder",
	"/v1/apps/:appId/webhooks/:webhookName/deliveries state": "deliveryState",
}

func answersOf(endpoint Route) map[string]string {
	answers := map[string]string{"408": "RequestTimeout", "413": "TooLarge", "500": "InternalError"}
	if endpoint.Open {
		return answers
	}
	answers["400"], answers["401"], answers["403"], answers["429"], answers["503"] = "BadRequest", "Unauthorized", "Forbidden", "TooMany", "Unavailable"
	if len(conditionsOf(endpoint)) > 0 {
		answers["412"] = "PreconditionFailed"
	}
	if endpoint.Tagged && endpoint.Method == http.MethodGet {
		delete(answers, "412")
		answers["304"] = "NotModified"
	}
	if endpoint.Reads && !strings.Contains(endpoint.Path, answer.OpenAIPath) {
		answers["415"] = "UnsupportedMediaType"
	}
	return answers
}

// securityOf returns the keys for an operation: one with one of the roles, which are scopes, and session for a
// session's token. A user's ID token is no scheme, since its header has the name of an authService of the app:
// generated clients would send a header of the scheme's name.
func securityOf(operation object, endpoint Route) []any {
	if endpoint.Open {
		return []any{}
	}
	roles := []any{}
	for _, scope := range endpoint.Scopes {
		roles = append(roles, scope)
	}
	if endpoint.FrontEnd {
		roles = append(roles, "session")
	}
	if operation["x-idToken"] == true {
		delete(operation, "x-idToken")
		if about, _ := operation["description"].(string); !strings.Contains(about, "{name}_token") {
			operation["description"] = about + " A user's ID token, if any, goes in the header {name}_token of an authService."
		}
	}
	return []any{object{"key": roles}}
}

func reference(kind, name string) object {
	return object{"$ref": "#/components/" + kind + "/" + name}
}

// illustrate adds the example of its schema to a body without one; for a choice, of its first schema.
func illustrate(value any, examples object) {
	switch value := value.(type) {
	case object:
		if schema, ok := value["schema"].(object); ok && value["example"] == nil {
			if choice, ok := schema["anyOf"].([]any); ok {
				schema = choice[0].(object)
			}
			name, _ := schema["$ref"].(string)
			if example, ok := examples[strings.TrimPrefix(name, "#/components/schemas/")]; ok {
				value["example"] = example
			}
		}
		for _, part := range value {
			illustrate(part, examples)
		}
	case []any:
		for _, part := range value {
			illustrate(part, examples)
		}
	}
}

// formats maps our formats to JSON Schema, where possible.
var formats = map[string]object{
	"id":            {"pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
	"tool-name":     {"pattern": "^[A-Za-z0-9_-]{1,64}$"},
	"emitter":       {"pattern": `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}\.[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`},
	"message-id":    {"minLength": 1, "maxLength": 128},
	"user":          {"minLength": 1, "maxLength": 128},
	"url":           {"format": "uri"},
	"method":        {"examples": []any{"POST"}},
	"timeout":       {"examples": []any{"10s"}},
	"retry-for":     {"examples": []any{"15m"}},
	"settle":        {"examples": []any{"800ms"}},
	"dedupe-within": {"examples": []any{"10m"}},
	"answer-within": {"examples": []any{"30s"}},
	"key-life":      {"examples": []any{"720h"}},
	"token-life":    {"examples": []any{"30m"}},
	"model":         {"examples": []any{"openai/gpt-4o-mini"}},
}

// plain copies a JSON Schema in a form for client generators: without fields that are only refused with a hint
// (schema false), lists of types, and our formats.
func plain(value any) any {
	switch value := value.(type) {
	case object:
		return plainObject(value)
	case []any:
		return lists.Map(value, plain)
	default:
		return value
	}
}

func plainObject(schema object) object {
	copied := object{}
	for key, part := range schema {
		switch text, _ := part.(string); {
		case key == "$ref":
			copied[key] = strings.Replace(text, "#/$defs/", "#/components/schemas/", 1)
		case key == "format" && strings.HasPrefix(text, "earshot-"):
			maps.Copy(copied, formats[strings.TrimPrefix(text, "earshot-")])
		case key == "properties":
			kept := object{}
			for name, schema := range part.(object) {
				if schema != false { // refused with a hint, like any unknown field
					kept[name] = plain(schema)
				}
			}
			copied[key] = kept
		case key == "x-doc" || key == "x-default": // for the tables of the documents
		default:
			copied[key] = plain(part)
		}
	}
	if copied["enum"] != nil && copied["type"] == nil {
		copied["type"] = "string" // without a type, generators assume any
	}
	splitTypes(copied)
	if value, ok := copied["default"]; ok { // generators would require such a field
		delete(copied, "default")
		description, _ := copied["description"].(string)
		copied["description"] = description + " Default: " + plainText(value) + "."
	}
	opened(copied)
	return copied
}

// opened allows any fields in an object without described ones: some generators would take it for empty.
func opened(schema object) {
	if schema["type"] == "object" && schema["properties"] == nil && schema["additionalProperties"] == nil {
		schema["additionalProperties"] = true
	}
}

// splitTypes converts several types to a choice of schemas. Null may stay with one type; with several it is
// dropped, as it equals omitting the field.
func splitTypes(schema object) {
	types, _ := schema["type"].([]any)
	kinds := slices.DeleteFunc(slices.Clone(types), func(kind any) bool { return kind == "null" })
	if len(kinds) < 2 {
		return
	}
	var choice []any
	for _, kind := range kinds {
		one := object{"type": kind}
		if kind == "array" {
			one["items"] = schema["items"]
		}
		opened(one)
		choice = append(choice, one)
	}
	delete(schema, "type")
	delete(schema, "items")
	schema["anyOf"] = choice
}

// plainText formats a value for people: numbers without exponent, strings unquoted.
func plainText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(value) // it came from JSON
	return string(text)
}
