package docs

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
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
	document["components"] = components
	for _, endpoint := range table {
		if operation, ok := operationOf(document, endpoint); ok {
			complete(operation, endpoint)
		}
	}
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
// of the path and the query, and the answers that the middleware gives.
func complete(operation object, endpoint Route) {
	parameters, _ := operation["parameters"].([]any)
	for _, name := range append(parametersOf(endpoint.Path), endpoint.Query...) {
		parameters = append(parameters, reference("parameters", name))
	}
	if parameters != nil {
		operation["parameters"] = parameters
	}
	responses := operation["responses"].(object)
	responses["default"] = reference("responses", "Problem")
	if endpoint.Open {
		operation["security"] = []any{}
		return
	}
	for status, name := range map[string]string{"400": "BadRequest", "401": "Unauthorized", "403": "Forbidden", "503": "Unavailable"} {
		responses[status] = reference("responses", name)
	}
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

// addDefinitions makes components of the definitions of a JSON Schema.
func addDefinitions(components, schema object) {
	definitions, _ := schema["$defs"].(object)
	for name, definition := range definitions {
		components[name] = moved(definition)
	}
}

// moved copies a schema with its references pointing to the components.
func moved(value any) any {
	switch value := value.(type) {
	case object:
		copied := object{}
		for key, part := range value {
			if text, ok := part.(string); ok && key == "$ref" {
				part = strings.Replace(text, "#/$defs/", "#/components/schemas/", 1)
			}
			copied[key] = moved(part)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, part := range value {
			copied[i] = moved(part)
		}
		return copied
	default:
		return value
	}
}
