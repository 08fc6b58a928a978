package provider_test

import (
	"fmt"

	"earshot/matcher/llm/provider"
)

// A provider that takes a part of JSON Schema only is sent that part. The rest is said
// in words, so that the model still knows of it.
func ExampleSubset_Reduce() {
	taken := provider.Subset{Keywords: []string{"type", "properties", "description", "enum"}}
	fmt.Println(string(taken.Reduce([]byte(`{"type": "object", "properties": {
		"people": {"type": "integer", "description": "how many come", "maximum": 8}}}`))))
	// Output:
	// {"properties":{"people":{"description":"how many come (maximum 8)","type":"integer"}},"type":"object"}
}
