package evaldata

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
)

// Body is the repository that holds the tools of the case, as a client registers it.
func (c Case) Body(t testing.TB) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"tools": c.Tools})
	if err != nil {
		t.Fatalf("the tools of %s cannot be written: %v", c.ID, err)
	}
	return body
}

// Complete lays the values of a call over the defaults of its tool: this, and nothing
// else, should arrive. A default that is none of the values that its own enum allows is
// no value; some functions of BFCL have one.
func (c Case) Complete(call Call) map[string]any {
	whole := map[string]any{}
	definition := c.definition(call.Name)
	parameters, _ := definition["parameters"].(map[string]any)
	properties, _ := parameters["properties"].(map[string]any)
	for name, property := range properties {
		fields, _ := property.(map[string]any)
		allowed, limited := fields["enum"].([]any)
		if value := fields["default"]; value != nil && (!limited || slices.ContainsFunc(allowed, func(one any) bool { return reflect.DeepEqual(one, value) })) {
			whole[name] = value
		}
	}
	maps.Copy(whole, call.Values)
	return whole
}

func (c Case) definition(tool string) map[string]any {
	for _, one := range c.Tools {
		if definition, is := one.(map[string]any); is && definition["name"] == tool {
			return definition
		}
	}
	return nil
}
