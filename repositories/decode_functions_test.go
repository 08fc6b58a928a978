package repositories_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

// weather is a JSON Schema whose fields are in no order that sorting would make.
const weather = `{"type":"object","properties":{"unit":{"type":"string","enum":["fahrenheit","celsius"]},"location":{"type":"string","description":"The city and state"}},"required":["location"],"additionalProperties":false}`

func TestToolsComeAsOthersDefineThem(t *testing.T) {
	for _, tool := range []string{
		`{"type":"function","function":{"name":"weather","description":"d","parameters":` + weather + `}}`,
		`{"type":"function","function":{"name":"weather","description":"d","parameters":` + weather + `,"strict":true},"schema":null}`,
		`{"function":{"name":"weather","description":"d","parameters":` + weather + `,"strict":null}}`,
		`{"name":"","description":"","type":"function","function":{"name":"weather","description":"d","parameters":` + weather + `}}`,
		`{"name":"weather","type":"function","function":{"name":"weather","description":"d","parameters":` + weather + `}}`,
		`{"type":"function","name":"weather","description":"d","strict":false,"parameters":` + weather + `}`,
		`{"name":"weather","description":"d","inputSchema":` + weather + `}`,
		`{"name":"weather","description":"d","input_schema":` + weather + `,"parameters":null}`,
		`{"name":"weather","description":"d","schema":` + weather + `}`,
		`{"name":"weather","description":"d","parameters":` + weather + `,"inputSchema":` + weather + `}`,
	} {
		got, faults := decodeTool(t, tool)
		require.Empty(t, faults, tool)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.Equal(t, `{"name":"weather","description":"d","parameters":`+weather+`}`, string(text), tool)
		require.Equal(t, []string{"unit", "location"}, got.Params().Names(), tool)
	}
}

func TestWhatOnlyEarshotKnowsStandsBesideAFunction(t *testing.T) {
	got, faults := decodeTool(t, `{"type":"function","url":"https://h/:city","emitter":"a.b","returnDirect":true,"examples":["x"],
		"function":{"name":"f","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`)
	require.Empty(t, faults)
	require.Equal(t, "https://h/:city", got.URL)
	require.Equal(t, "a.b", got.Emitter)
	require.True(t, got.ReturnDirect)
	got, faults = decodeTool(t, `{"type":"function","function":{"name":"ping","parameters":null}}`)
	require.Empty(t, faults)
	require.Empty(t, got.Params().Names())
}

func TestFaultsOfAFunctionStandWhereItWasGiven(t *testing.T) {
	for tool, want := range map[string]string{
		`{"type":"function"}`:                                                                           `/name: is missing`,
		`{"type":"function","function":{}}`:                                                             `/function/name: is missing`,
		`{"name":"t","function":5}`:                                                                     `/function: is a number, not null or an object`,
		`{"function":{"name":"a b"}}`:                                                                   `/function/name: name "a b" is no tool name: 1 to 64 of A-Z a-z 0-9 _ -`,
		`{"function":{"name":5}}`:                                                                       `/function/name: is a number, not a string`,
		`{"function":{"name":"t","strict":"no"}}`:                                                       `/function/strict: is a string, not a boolean or null`,
		`{"function":{"name":"t","parametres":1}}`:                                                      `/function/parametres: unknown field "parametres"; did you mean "parameters"?`,
		`{"function":{"name":"t","url":"https://h/"}}`:                                                  `/function/url: stands beside function, not in it`,
		`{"name":"u","function":{"name":"t"}}`:                                                          `/function/name: is not the tool's name, which is given as well; one is enough`,
		`{"name":"t","inputSchema":[]}`:                                                                 `/inputSchema: is an array, not null or an object`,
		`{"name":"t","input_schema":{"type":"string"}}`:                                                 `/input_schema/type: is "string", and the values of a tool are an "object"`,
		`{"name":"t","schema":{"Properties":{}}}`:                                                       `/schema/Properties: is no word of a JSON Schema; did you mean "properties"?`,
		`{"name":"t","parameters":{},"schema":{"a":1}}`:                                                 `/schema: is not the tool's parameters, which is given as well; one is enough`,
		`{"name":"t","inputSchema":{"a":1},"input_schema":{"a":2}}`:                                     `/input_schema: is not that of inputSchema, which is given as well; one is enough`,
		`{"function":{"name":"t","parameters":{"properties":{"x":{"type":"strin"}}}}}`:                  `/function/parameters/properties/x/type: is not JSON Schema: "strin" is not one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"url":"https://h/:y","function":{"name":"t","parameters":{"properties":{"x":{}},"a":"b:y"}}}`: `/url: :y names no parameter of the tool; write %3A for a colon that is meant as it is`,
	} {
		_, faults := decodeTool(t, tool)
		require.Equal(t, []string{"/tools/0" + want}, faults, tool)
	}
}

func TestFaultsOfManyFormsKeepTheirPlaces(t *testing.T) {
	_, err := repositories.DecodePatch(clinic, "r", fmt.Appendf(nil, `{"tools":[%s,%s,%s]}`,
		`{"name":"a","inputSchema":{"type":"array"}}`, `{"name":"b","parameters":{"type":"array"}}`, `{"function":{"name":"a","parameters":{"type":"array"}}}`))
	require.Equal(t, []string{
		`/tools/0/inputSchema/type: is "array", and the values of a tool are an "object"`,
		`/tools/1/parameters/type: is "array", and the values of a tool are an "object"`,
		`/tools/2/function/name: "a" is the name of tool 0 as well; each has its own`,
		`/tools/2/function/parameters/type: is "array", and the values of a tool are an "object"`,
	}, faultsOf(t, err))
}
