package repositories_test

import (
	"errors"
	"fmt"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// The path of a request names a repository's owner, the body its content. Models see one JSON Schema for any form
// of parameters, without parameters with a static value.
func ExampleDecodeRepository() {
	scope := repositories.Scope{AppID: "clinic", SessionID: "s1"}
	repository, err := repositories.DecodeRepository(scope, "booking", []byte(`{
		"options": {"triggerOnce": true},
		"tools": [{"name": "book", "description": "Book an appointment", "schema": [
			{"parameter": "day", "type": "string", "description": "wished day", "required": true},
			{"parameter": "desk", "type": "string", "value": "A"}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	tool := repository.Tool("book")
	fmt.Println(repository.ID, repository.Options.TriggerOnce, tool.Params().Names())
	fmt.Println(string(tool.Params().ModelSchema()))
	// Output:
	// booking true [day desk]
	// {"type":"object","properties":{"day":{"type":"string","description":"wished day"}},"required":["day"]}
}

// All faults of a body are found at once, each with its place as a JSON Pointer and, if one is near, the probably
// intended name.
func ExampleDecodeRepository_faults() {
	_, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "booking", []byte(`{
		"tools": [
			{"name": "book it", "description": "Book an appointment"},
			{"name": "cancel", "descripton": "Cancel one", "schema": [{"parameter": "day", "type": "text"}]}]}`))
	if faults, ok := errors.AsType[fault.List](err); ok {
		listed, more := faults.Listed()
		for _, found := range listed {
			fmt.Println(found.Pointer, "-", found.Detail)
		}
		fmt.Println("and", more, "more")
	}
	// Output:
	// /tools/0/name - name "book it" is not a tool name: 1 to 64 of A-Z a-z 0-9 _ -
	// /tools/1/descripton - unknown field "descripton"; did you mean "description"?
	// /tools/1/schema/0/type - "text" is not one of "string", "number", "integer", "float", "boolean", "object", "array", "map"
	// and 0 more
}
