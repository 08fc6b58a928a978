package parameters_test

import (
	"encoding/json"
	"fmt"

	"earshot/repositories/parameters"
)

// slots compiles the parameters of a tool. A decoder of repositories does the same, for Tool.Params.
func slots() *parameters.Parameters {
	compiled, faults := parameters.Compile([]parameters.List{parameters.SERMAS.Of([]byte(`[
		{"parameter": "day", "type": "string", "required": true, "allowedValues": ["Monday", "Friday"]},
		{"parameter": "people", "type": "integer", "default": 1, "maxValue": 8},
		{"parameter": "desk", "type": "string", "value": "A"}]`))}, &parameters.Budget{})
	if err := faults.Err(); err != nil {
		panic(err)
	}
	return compiled
}

// Check validates a program's values strictly: nothing is converted, all faults are returned at once, and defaults
// and static values are added.
func ExampleParameters_Check() {
	values, err := parameters.DecodeValues([]byte(`{"day": "Friday", "people": 3}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	complete, _ := slots().Check(values)
	fmt.Println(complete["day"], complete["people"], complete["desk"])

	_, faults := slots().Check(map[string]any{"people": "3", "room": "B"})
	for _, found := range faults {
		fmt.Println(found.Parameter, "-", found.Detail)
	}
	// Output:
	// Friday 3 A
	// room - is not a parameter of the tool
	// day - is required
	// people - "3" is not an integer
}

// Read coerces a model's arguments without loss, and drops unknown ones. Remaining faults can be sent back to the
// model.
func ExampleParameters_Read() {
	reading := slots().Read(map[string]any{"Day": "friday", "people": "3", "mood": "happy"})
	values, _ := json.Marshal(reading.Values)
	fmt.Println(string(values), reading.Coerced, reading.Dropped, reading.Missing)

	reading = slots().Read(map[string]any{"people": json.Number("12")})
	fmt.Println(reading.Missing)
	for _, found := range reading.Errors {
		fmt.Println(found.Parameter, "-", found.Detail)
	}
	// Output:
	// {"day":"Friday","desk":"A","people":3} [day people] [mood] []
	// [day]
	// day - is required
	// people - 12 is above the maximum of 8
}
