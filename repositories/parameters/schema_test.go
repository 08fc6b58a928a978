package parameters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// trip is a JSON Schema as people write it for tool calling.
const trip = `"parameters":{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.org/trip",
 "type":"object",
 "properties":{
  "to":{"type":"string","description":"where to","minLength":2},
  "class":{"type":"string","enum":["Economy","Business"],"default":"Economy"},
  "seats":{"type":"integer","minimum":1,"maximum":9},
  "budget":{"type":["number","null"]},
  "stops":{"type":"array","maxItems":3,"items":{"$ref":"#/$defs/stop"}},
  "flexible":{"type":"boolean"},
  "code":{"type":"string","pattern":"^[A-Z]{2}[0-9]+$"},
  "when":{"anyOf":[{"type":"string","format":"date"},{"type":"object","properties":{"day":{"type":"integer"}},"required":["day"]}]},
  "agency":{"type":"string","value":"A7"},
  "note":{"type":"string","ignore":true}},
 "required":["to","seats","budget","agency"],
 "$defs":{"stop":{"type":"object","properties":{"city":{"type":"string"},"nights":{"type":"integer"}},"required":["city"],"additionalProperties":false}}}`

func TestSchemaChecksAProgramStrictly(t *testing.T) {
	p := compiled(t, trip)
	out, faults := p.Check(values(t, `{"to":"Rome","seats":2,"budget":1e3,"stops":[{"city":"Pisa","nights":9007199254740993}],"code":"AB12","when":{"day":3}}`))
	require.Empty(t, faults)
	require.JSONEq(t, `{"to":"Rome","seats":2,"budget":1e3,"class":"Economy","agency":"A7","stops":[{"city":"Pisa","nights":9007199254740993}],"code":"AB12","when":{"day":3}}`, marshalled(t, out))
	require.Contains(t, marshalled(t, out), "9007199254740993")

	_, faults = p.Check(values(t, `{"to":"R","class":"First","seats":"2","stops":[{"city":5},{"nights":2.0},{"city":"x","night":1}],"flexible":"yes","code":"x","when":{"day":"3"},"agencie":"x"}`))
	require.Equal(t, []string{
		`agencie: is not a parameter of the tool; did you mean "agency"?`,
		`budget: is required`,
		`class: "First" is not one of "Economy", "Business"`,
		`code: "x" does not match ^[A-Z]{2}[0-9]+$`,
		`flexible: "yes" is not a boolean`,
		`seats: "2" is not an integer`,
		`stops: stops[0].city: 5 is not a string`,
		`stops: stops[1].city: is required`,
		`stops: stops[1].nights: 2.0 is not an integer: write it without fraction and exponent`,
		`stops: stops[2].night: is not a known field`,
		`to: is too short: 1 of at least 2 characters`,
		`when: when.day: "3" is not an integer`,
	}, sorted(details(faults)))
}

func TestSchemaReadsAModelLeniently(t *testing.T) {
	p := compiled(t, trip)
	got := p.Read(values(t, `{"To":"Rome","seats":"2","budget":null,"class":"business","stops":{"city":"Pisa","nights":"3.0"},
	  "flexible":"True","when":{"day":"3"},"agency":"B","note":"x","mood":"good"}`))
	require.Empty(t, got.Errors)
	require.JSONEq(t, `{"to":"Rome","seats":2,"budget":null,"class":"Business","stops":[{"city":"Pisa","nights":3}],"flexible":true,"when":{"day":3},"agency":"A7"}`, marshalled(t, got.Values))
	require.ElementsMatch(t, []string{"to", "seats", "class", "stops", "flexible", "when"}, got.Coerced)
	require.Equal(t, []string{"mood"}, got.Dropped)

	got = p.Read(values(t, `{"seats":"many","budget":"12.50","stops":"[{\"city\":\"Pisa\",\"nights\":null}]","code":null}`))
	require.Equal(t, []string{"to"}, got.Missing)
	require.Equal(t, []string{`seats: "many" is not an integer`, `to: is required`}, sorted(details(got.Errors)))
	require.JSONEq(t, `{"budget":12.50,"class":"Economy","stops":[{"city":"Pisa"}],"agency":"A7"}`, marshalled(t, got.Values))
}

func TestSchemaNullIsAValueWhereItIsRequiredAndMayBeNull(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","null"]},"c":{"type":"string"}},"required":["a","c"]}`)
	out, faults := p.Check(values(t, `{"a":null,"b":null,"c":null}`))
	require.Equal(t, []string{`c: is required`}, details(faults))
	require.Equal(t, map[string]any{"a": nil}, out)
	_, faults = p.Check(values(t, `{"c":"x"}`))
	require.Equal(t, []string{`a: is required`}, details(faults))
}

func TestSchemaTakesUnknownNamesOnlyWhereItSaysSo(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{}}}`:                                           `x_1: is not a parameter of the tool`,
		`{"type":"object","properties":{"a":{}},"additionalProperties":false}`:              `x_1: is not a parameter of the tool`,
		`{"type":"object","properties":{"a":{}},"additionalProperties":true}`:               ``,
		`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"integer"}}`: ``,
		`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`:  `x_1: 5 is not a string`,
		`{"type":"object","patternProperties":{"^x":{}},"additionalProperties":false}`:      ``,
		`{"type":"object","patternProperties":{"^y":{}},"additionalProperties":false}`:      `x_1: is not a parameter of the tool`,
		`{"type":"object","allOf":[{"properties":{"x_1":{"type":"boolean"}}}]}`:             `x_1: 5 is not a boolean`,
		`{"$ref":"#/$defs/o","$defs":{"o":{"properties":{"x_1":{"type":"integer"}}}}}`:      ``,
	} {
		p := compiled(t, `"parameters":`+schema)
		out, faults := p.Check(values(t, `{"x_1":5}`))
		if want == "" {
			require.Empty(t, faults, schema)
			require.Equal(t, `{"x_1":5}`, marshalled(t, out), schema)
			continue
		}
		require.Equal(t, []string{want}, details(faults), schema)
	}
}

func TestSchemaRulesAboutTheWholeHold(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}],"maxProperties":2}`)
	_, faults := p.Check(values(t, `{"a":"1"}`))
	require.Empty(t, faults)
	_, faults = p.Check(values(t, `{}`))
	require.NotEmpty(t, faults)
	_, faults = p.Check(values(t, `{"a":"1","b":"2"}`))
	require.Equal(t, []string{`: together the values are at fault: fits several of the forms of which it may have one`}, details(faults))
}

func TestSchemaBoundsNumbersBeforeItExpandsThem(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","properties":{"n":{"type":"number","multipleOf":2}},"additionalProperties":true}`)
	_, faults := p.Check(values(t, `{"n":1e999999999}`))
	require.Equal(t, []string{`n: 1e999999999 is out of the range of a number`}, details(faults))
	_, faults = p.Check(values(t, `{"x":[1e999999999]}`))
	require.Equal(t, []string{`x: x[0]: 1e999999999 is out of the range of a number`}, details(faults))
	require.Len(t, p.Read(values(t, `{"n":"1e999999999"}`)).Errors, 1)
}

func TestSchemasThatCannotBeUsedAreRefused(t *testing.T) {
	deep := `{"type":"object","$defs":{"a0":{}`
	for i := range 20 {
		deep += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i+1, i, i)
	}
	deep += `},"properties":{"x":{"$ref":"#/$defs/a20"}}}`
	for schema, want := range map[string]string{
		`{"type":"array"}`: `/tools/0/parameters/type: is "array", and the values of a tool are an "object"`,
		`{"type":"object","properties":{"a":{"type":"strin"}}}`:                      `/tools/0/parameters/properties/a/type: is not JSON Schema: "strin" is not one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"type":"object","properties":{"a":{"minimum":"1"}}}`:                       `/tools/0/parameters/properties/a/minimum: is not JSON Schema: "1" is not a number`,
		`{"type":"object","properties":{"a":{"$ref":"https://example.org/a.json"}}}`: `/tools/0/parameters: the reference to "https://example.org/a.json" is refused: a schema is complete in itself, with $defs`,
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`:         `/tools/0/parameters: the reference to "file:///etc/passwd" is refused: a schema is complete in itself, with $defs`,
		`{"$schema":"https://example.org/draft","type":"object"}`:                    `/tools/0/parameters: the reference to "https://example.org/draft" is refused: a schema is complete in itself, with $defs`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`:               `/tools/0/parameters: is not JSON Schema: json-pointer in "parameters#/$defs/none" not found`,
		`{"type":"object","properties":{"a":{"pattern":"^(?!x)"}}}`:                  "/tools/0/parameters/properties/a/pattern: is not JSON Schema:",
		`{"type":"object","properties":{"a":{"type":"integer","value":1.5}}}`:        `/tools/0/parameters/properties/a/value: 1.5 is not an integer`,
		`{"type":"object","properties":{"a":{"ignore":true}},"required":["a"]}`:      `/tools/0/parameters/properties/a/ignore: nobody fills the parameter: it is required and ignored; give it a value or a default`,
		`{"type":"object","properties":{"a":{"ignore":"yes"}}}`:                      `/tools/0/parameters/properties/a: ignore and grounded are true or false, authServices a list of {"name","field"}`,
		deep: `/tools/0/parameters: is too costly to check: its $ref, allOf, anyOf and oneOf multiply`,
	} {
		_, faults := decoded(t, `{"name":"t","parameters":`+schema+`}`)
		require.Len(t, faults, 1, schema)
		require.True(t, strings.HasPrefix(faults[0], want), "%s\nwant %s\ngot  %s", schema, want, faults[0])
	}
}

func TestSchemaMayReferToItself(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"}},
	  "$defs":{"node":{"type":"object","properties":{"n":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`)
	got := p.Read(values(t, `{"tree":{"n":"1","kids":[{"n":"2","kids":{"n":"3"}}]}}`))
	require.Empty(t, got.Errors)
	require.JSONEq(t, `{"tree":{"n":1,"kids":[{"n":2,"kids":[{"n":3}]}]}}`, marshalled(t, got.Values))
	require.NotEmpty(t, p.List())

	loop := compiled(t, `"parameters":{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`)
	got = loop.Read(values(t, `{"a":1}`))
	require.NotEmpty(t, got.Errors, "a reference in a circle is satisfied by nothing")
}

func TestSchemaReadsEarlierDrafts(t *testing.T) {
	p := compiled(t, `"parameters":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"pair":{"type":"array","items":[{"type":"integer"},{"type":"string"}]}}}`)
	got := p.Read(values(t, `{"pair":["1",2]}`))
	require.Empty(t, got.Errors)
	require.JSONEq(t, `{"pair":[1,"2"]}`, marshalled(t, got.Values))
}

func TestSchemaDefaultsAreUsedWhereTheSchemaTakesThem(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","properties":{
	  "a":{"type":"boolean","default":"False"},"b":{"type":"integer","default":"0"},"c":{"type":"string","enum":["x"],"default":"any"}},
	  "required":["a","c"]}`)
	out, faults := p.Check(values(t, `{"c":"x"}`))
	require.Empty(t, faults)
	require.JSONEq(t, `{"a":false,"b":0,"c":"x"}`, marshalled(t, out))

	got := p.Read(values(t, `{"c":"any"}`))
	require.Equal(t, []string{"c"}, got.Missing, "a default that its own schema refuses is no value")
	require.Equal(t, []string{`c: is required`}, details(got.Errors))
	_, faults = p.Check(values(t, `{"c":"any"}`))
	require.Equal(t, []string{`c: "any" is not one of "x"`}, details(faults))
}
