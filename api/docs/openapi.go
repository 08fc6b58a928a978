package docs

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"earshot/api/answer"
)

// The description of the API: its operations, and the components that they refer to.
// What the table of routes knows already is not written there but added here.
var (
	//go:embed openapi.json
	openapiPaths []byte
	//go:embed openapi_components.json
	openapiComponents []byte
)

// object is a JSON object of a description.
type object = map[string]any

// openapi builds the OpenAPI 3.1 document of the given routes. What is embedded is
// part of the program, hence an error is a mistake in it that every test would show.
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
		addDefinitions(components["schemas"].(object), schema)
	}
	extend(components["schemas"].(object))
	document["components"] = components
	for _, endpoint := range table {
		if operation, ok := operationOf(document, endpoint); ok {
			complete(operation, endpoint)
		}
	}
	examples := components["x-examples"].(object)
	delete(components, "x-examples")
	illustrate(document, examples)
	return document, nil
}

// operationOf finds the operation that describes a route.
func operationOf(document object, endpoint Route) (object, bool) {
	item, _ := document["paths"].(object)[templated(endpoint.Path)].(object)
	operation, ok := item[strings.ToLower(endpoint.Method)].(object)
	return operation, ok
}

// templated writes a path of echo's (/apps/:appId) as OpenAPI does (/apps/{appId}).
func templated(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// complete adds to an operation what holds for its route by the table: the parameters
// of the path and the query, who may ask, and the answers that the middleware gives.
func complete(operation object, endpoint Route) {
	parameters, _ := operation["parameters"].([]any)
	for _, name := range parametersOf(endpoint.Path) {
		parameters = append(parameters, reference("parameters", name))
	}
	for _, name := range endpoint.Query {
		parameters = append(parameters, reference("parameters", cmp.Or(renamed[name], name)))
	}
	for _, name := range conditionsOf(endpoint) {
		parameters = append(parameters, reference("parameters", name))
	}
	if parameters != nil {
		operation["parameters"] = parameters
	}
	operation["security"] = securityOf(operation, endpoint)
	responses := operation["responses"].(object)
	if endpoint.Tagged {
		addTags(responses)
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

// conditionsOf names the headers by which a request makes a condition of what is there.
func conditionsOf(endpoint Route) []string {
	switch {
	case !endpoint.Tagged:
		return nil
	case endpoint.Method == http.MethodGet:
		return []string{"If-None-Match"}
	case endpoint.Method == http.MethodDelete:
		return []string{"If-Match"}
	case endpoint.Method == http.MethodPost:
		return nil // it creates, and nothing is there
	}
	return []string{"If-Match", "If-None-Match"}
}

// addTags adds to the answers that show what is stored the header that says which state that
// is.
func addTags(responses object) {
	for _, status := range []string{"200", "201"} {
		shown, shows := responses[status].(object)
		if !shows {
			continue
		}
		headers, _ := shown["headers"].(object)
		if headers == nil {
			headers = object{}
			shown["headers"] = headers
		}
		headers["ETag"] = reference("headers", "ETag")
	}
}

// renamed are the components of parameters of the query whose names others have: a parameter
// of paths, and a schema, of which generators would make two types of one name.
var renamed = map[string]string{"messageId": "ofMessage", "source": "ofSource", "session": "ofSession"}

// answersOf names the answers that are the same for all routes of a sort.
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

// securityOf says with which keys an operation may be called: the roles are the scopes of
// which a key needs one, and session for a session's token. A user's ID token may come
// along where the operation takes it.
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
	needed := []any{object{"key": roles}}
	if operation["x-idToken"] == true {
		delete(operation, "x-idToken")
		needed = append(needed, object{"key": roles, "idToken": []any{}})
	}
	return needed
}

// parametersOf names the parameters in a path of echo's.
func parametersOf(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			names = append(names, name)
		}
	}
	return names
}

func reference(kind, name string) object {
	return object{"$ref": "#/components/" + kind + "/" + name}
}

// illustrate gives the bodies of a schema that has an example this example, where they
// have none of their own.
func illustrate(value any, examples object) {
	switch value := value.(type) {
	case object:
		if schema, ok := value["schema"].(object); ok && value["example"] == nil {
			if example, ok := exampleOf(schema, examples); ok {
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

// exampleOf finds the example of a schema; of a choice, that of the first.
func exampleOf(schema, examples object) (any, bool) {
	if choice, ok := schema["anyOf"].([]any); ok {
		schema = choice[0].(object)
	}
	name, _ := schema["$ref"].(string)
	example, ok := examples[strings.TrimPrefix(name, "#/components/schemas/")]
	return example, ok
}
