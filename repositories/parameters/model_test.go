package parameters_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/parameters"
)

func TestModelSchemaShowsWhatAModelNeeds(t *testing.T) {
	p := compiled(t, `"parameters":[
	  {"name":"to","type":"string","description":"where to"},
	  {"name":"class","type":"string","description":"c","allowedValues":["Economy","Business"],"default":"Economy"},
	  {"name":"code","type":"string","description":"x","required":false,"allowedValues":["A","[0-9]+"],"excludedValues":["9"]},
	  {"name":"seats","type":"integer","description":"s","minValue":1,"maxValue":9,"allowedValues":[1,2]},
	  {"name":"budget","type":"float","description":"b","minValue":0.50},
	  {"name":"flexible","type":"boolean","description":"f","allowedValues":[true]},
	  {"name":"tags","type":"array","description":"t","items":{"name":"tag","type":"string","description":"one tag","allowedValues":["a"]}},
	  {"name":"any","type":"map","description":"m"},
	  {"name":"scores","type":"map","description":"n","valueType":"float"},
	  {"name":"desk","type":"string","description":"d","value":"A"},
	  {"name":"note","type":"string","description":"e","ignore":true,"required":false},
	  {"name":"user","type":"string","description":"u","authServices":[{"name":"g","field":"sub"}]}]`)
	require.Equal(t, `{"type":"object","properties":{`+
		`"to":{"type":"string","description":"where to"},`+
		`"class":{"type":"string","description":"c","enum":["Economy","Business"],"default":"Economy"},`+
		`"code":{"type":"string","description":"x"},`+
		`"seats":{"type":"integer","description":"s","enum":[1,2],"minimum":1,"maximum":9},`+
		`"budget":{"type":"number","description":"b","minimum":0.50},`+
		`"flexible":{"type":"boolean","description":"f","enum":[true]},`+
		`"tags":{"type":"array","description":"t","items":{"type":"string","description":"one tag","enum":["a"]}},`+
		`"any":{"type":"object","description":"m","additionalProperties":true},`+
		`"scores":{"type":"object","description":"n","additionalProperties":{"type":"number"}}},`+
		`"required":["to","seats","budget","flexible","tags","any","scores"]}`, string(p.ModelSchema()))
}

func TestModelSchemaOfAToolWithoutParametersIsAnObject(t *testing.T) {
	const empty = `{"type":"object","properties":{}}`
	require.Equal(t, empty, string((&parameters.Parameters{}).ModelSchema()))
	require.Equal(t, empty, string(compiled(t, `"schema":[]`).ModelSchema()))
	require.Equal(t, empty, string(compiled(t, `"description":"none"`).ModelSchema()))
	require.JSONEq(t, empty, string(compiled(t, `"parameters":{}`).ModelSchema()))
}

func TestModelSchemaOfASchemaIsTheSchemaWithoutWhatIsHidden(t *testing.T) {
	p := compiled(t, trip)
	var shown map[string]any
	require.NoError(t, json.Unmarshal(p.ModelSchema(), &shown))
	require.NotContains(t, shown, "$schema")
	require.Equal(t, "https://json-schema.org/draft/2020-12/schema", p.Dialect(), "for those who do not refuse it")
	require.NotContains(t, shown, "$id")
	require.Contains(t, shown, "$defs")
	properties := shown["properties"].(map[string]any)
	require.NotContains(t, properties, "agency")
	require.NotContains(t, properties, "note")
	require.Equal(t, []any{"to", "seats", "budget"}, shown["required"])
	require.Equal(t, map[string]any{"type": "string", "description": "where to", "minLength": 2.0}, properties["to"])
	require.Regexp(t, `"properties":\{"to":.*"class":.*"seats":.*"budget":.*"stops":`, string(p.ModelSchema()), "in the order in which they were given")
}

func TestListDescribesTheParameters(t *testing.T) {
	list := compiled(t, `"schema":[
	  {"parameter":"to","type":"string","description":"where to","required":true},
	  {"parameter":"class","type":"string","allowedValues":["Economy","Business"],"default":"Economy"},
	  {"parameter":"n","type":"float","minValue":1,"maxValue":2.50,"allowedValues":["[0-9]"]},
	  {"parameter":"tags","type":"array","items":{"type":"integer","description":"one"}},
	  {"parameter":"desk","type":"map","value":{"a":1}}]`).List()
	require.Equal(t, []parameters.Parameter{
		{Name: "to", Type: "string", Description: "where to", Required: true},
		{Name: "class", Type: "string", Allowed: []any{"Economy", "Business"}, Default: "Economy"},
		{Name: "n", Type: "number", Min: "1", Max: "2.50"},
		{Name: "tags", Type: "array", Items: &parameters.Parameter{Type: "integer", Description: "one"}},
		{Name: "desk", Type: "object", Hidden: true},
	}, list)
}

func TestListDescribesTheTopLevelOfASchema(t *testing.T) {
	list := compiled(t, trip).List()
	require.Equal(t, parameters.Parameter{Name: "to", Type: "string", Description: "where to", Required: true}, list[0])
	require.Equal(t, parameters.Parameter{Name: "class", Type: "string", Allowed: []any{"Economy", "Business"}, Default: "Economy"}, list[1])
	require.Equal(t, parameters.Parameter{Name: "seats", Type: "integer", Required: true, Min: "1", Max: "9"}, list[2])
	require.Equal(t, parameters.Parameter{Name: "budget", Type: "number", Required: true}, list[3])
	require.Equal(t, parameters.Parameter{Name: "stops", Type: "array", Items: &parameters.Parameter{Type: "object"}}, list[4])
	require.True(t, list[8].Hidden && list[9].Hidden)
}
