package parameters_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
)

// trip is a typical JSON Schema for tool calling.
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

// A program's unknown names are faults, at any depth.
func TestUnknownNamesOfAModelAreDroppedAtAnyDepth(t *testing.T) {
	const closed = `"type":"object","additionalProperties":false,"properties":`
	for _, c := range []struct{ property, value, want, dropped string }{
		{`{` + closed + `{"n":{"type":"integer"}}}`, `{"n":1,"zz":2}`, `{"n":1}`, `p.zz`},
		{`{` + closed + `{"n":{"type":"integer"}}}`, `"{\"n\":\"1\",\"zz\":2}"`, `{"n":1}`, `p.zz`},
		{`{` + closed + `{"n":{"type":"integer"}},"patternProperties":{"^x-":{}}}`, `{"x-a":1,"zz":2}`, `{"x-a":1}`, `p.zz`},
		{`{"$ref":"#/$defs/O"}`, `{"zz":{"n":1}}`, `{}`, `p.zz`},
		{`{"type":"array","items":{"$ref":"#/$defs/O"}}`, `[{"n":1},{"n":2,"a":3,"b":4}]`, `[{"n":1},{"n":2}]`, `p[1].a p[1].b`},
		{`{"type":"object","properties":{"o":{"$ref":"#/$defs/O"}}}`, `{"o":{"n":1,"zz":2},"open":3}`, `{"o":{"n":1},"open":3}`, `p.o.zz`},
		{`{"anyOf":[{"$ref":"#/$defs/O"},{"type":"null"}]}`, `{"n":1,"zz":2}`, `{"n":1}`, `p.zz`},
		{`{"oneOf":[{"$ref":"#/$defs/O"},{` + closed + `{"n":{"type":"integer"},"m":{"type":"integer"}},"required":["m"]}]}`, `{"n":1,"m":2,"zz":3}`, `{"n":1,"m":2}`, `p.zz`},
		{`{"anyOf":[{"$ref":"#/$defs/O"},{` + closed + `{"n":{"type":"integer"},"m":{"type":"integer"}}}]}`, `{"n":1,"m":"2"}`, `{"n":1,"m":2}`, ``},
		{`{"type":"object","properties":{}}`, `{"zz":1}`, `{"zz":1}`, ``},
	} {
		p := compiled(t, `"parameters":{"type":"object","properties":{"p":`+c.property+`},"$defs":{"O":{`+closed+`{"n":{"type":"integer"}}}}}`)
		given := values(t, `{"p":`+c.value+`}`)
		got := p.Read(given)
		require.Empty(t, got.Errors, c.property)
		require.JSONEq(t, c.want, marshalled(t, got.Values["p"]), c.property)
		require.Equal(t, strings.Fields(c.dropped), append([]string{}, got.Dropped...), c.property)
		require.Equal(t, values(t, `{"p":`+c.value+`}`), given, "what was given stays as it is")
		_, faults := p.Check(given)
		require.Equal(t, c.dropped == "" && !strings.Contains(c.value, `"2"`), len(faults) == 0, "%s %v", c.property, faults)
	}
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
	require.Equal(t, []string{`: together the values are not valid: fits several of the forms of which it may have one`}, details(faults))

	p = compiled(t, `"parameters":{"type":"object","properties":{"a":{"type":"integer"}},"minProperties":2,"not":{"required":["a"]},"additionalProperties":true}`)
	_, faults = p.Check(values(t, `{"a":1}`))
	require.Len(t, faults, 2, "all of them: %v", details(faults))
}

func TestSchemaBoundsNumbersBeforeItExpandsThem(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","properties":{"n":{"type":"number","multipleOf":2}},"additionalProperties":true}`)
	_, faults := p.Check(values(t, `{"n":1e999999999}`))
	require.Equal(t, []string{`n: 1e999999999 is out of the range of a number`}, details(faults))
	_, faults = p.Check(values(t, `{"x":[1e999999999]}`))
	require.Equal(t, []string{`x: x[0]: 1e999999999 is out of the range of a number`}, details(faults))
	require.Len(t, p.Read(values(t, `{"n":"1e999999999"}`)).Errors, 1)
}

// TestRulesAndValuesDoNotMultiply holds many values, or long texts, against schemas and lists with many rules.
func TestRulesAndValuesDoNotMultiply(t *testing.T) {
	many := func(n int, write string) string { // the number of each for %d
		var all []string
		for i := range n {
			all = append(all, strings.ReplaceAll(write, "%d", strconv.Itoa(i)))
		}
		return strings.Join(all, ",")
	}
	array := func(items string) string {
		return `"parameters":{"type":"object","properties":{"a":{"type":"array","items":` + items + `}}}`
	}
	listed := func(rules string) string {
		return `"schema":[{"parameter":"a","type":"array","items":{"parameter":"i","type":"string","description":"d",` + rules + `}}]`
	}
	list := func(n int, value string) string { return `{"a":[` + many(n, value) + `]}` }
	const tooMany, tooLong = "the values are too many to check", "the texts are too long to check"
	for name, test := range map[string]struct{ tool, values, flaw string }{
		"required":           {array(`{"type":"object","required":[` + many(2000, `"n%d"`) + `]}`), list(4000, `{}`), tooMany},
		"dependent":          {array(`{"type":"object","dependentRequired":{"x":[` + many(2000, `"n%d"`) + `]}}`), list(2000, `{"x":1}`), tooMany},
		"properties":         {array(`{"type":"object","properties":{` + many(2000, `"n%d":{}`) + `}}`), list(4000, `{}`), tooMany},
		"texts":              {array(`{"enum":[` + many(3000, `"n%d"`) + `]}`), list(4000, `"n2999"`), tooMany},
		"numbers":            {array(`{"enum":[` + many(1000, `%d`) + `]}`), list(1000, `999`), tooMany},
		"objects":            {array(`{"enum":[` + many(500, `{"k":%d}`) + `]}`), list(1000, `{"k":499}`), tooMany},
		"patterns":           {`"parameters":{"type":"object","properties":{"a":{"patternProperties":{` + many(500, `"^(x%d|y)+":{}`) + `}}}}`, `{"a":{` + many(1000, `"y%d":1`) + `}}`, tooMany},
		"patterns of a text": {array(`{"anyOf":[` + many(1000, `{"pattern":"x%dz$"}`) + `]}`), `{"a":["` + strings.Repeat("x", 100_000) + `"]}`, tooLong},
		"allowed":            {listed(`"allowedValues":[` + many(2000, `"v%d.x"`) + `]`), list(1000, `"z"`), tooMany},
		"allowed literally":  {listed(`"allowedValues":[` + many(2000, `"v%d"`) + `]`), list(1000, `"v1999"`), tooMany},
		"excluded":           {listed(`"excludedValues":[` + many(2000, `"v%d.x"`) + `]`), list(1000, `"z"`), tooMany},
		"excluded of a text": {listed(`"excludedValues":[` + many(2000, `"v%d.x"`) + `]`), `{"a":["` + strings.Repeat("v", 100_000) + `"]}`, tooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compiled(t, test.tool)
			_, faults := p.Check(values(t, test.values))
			require.Len(t, faults, 1)
			require.Contains(t, faults[0].Detail, test.flaw)
		})
	}
	p := compiled(t, array(`{"enum":[`+many(200, `"n%d"`)+`]}`))
	_, faults := p.Check(values(t, list(20_000, `"n7"`)))
	require.Empty(t, faults, "a usual enumeration takes long lists")
}

func TestSchemasThatCannotBeUsedAreRefused(t *testing.T) {
	deep := `{"type":"object","$defs":{"a0":{}`
	for i := range 20 {
		deep += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i+1, i, i)
	}
	deep += `},"properties":{"x":{"$ref":"#/$defs/a20"}}}`
	for schema, want := range map[string]string{
		`{"type":"array"}`: `/tools/0/parameters/type: is "array"; it must be "object", which holds the values of a tool`,
		`{"type":"object","properties":{"a":{"type":"strin"}}}`:                      `/tools/0/parameters/properties/a/type: is not JSON Schema: "strin" is not one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"type":"object","properties":{"a":{"minimum":"1"}}}`:                       `/tools/0/parameters/properties/a/minimum: is not JSON Schema: "1" is not a number`,
		`{"type":"object","properties":{"a":{"$ref":"https://example.org/a.json"}}}`: `/tools/0/parameters: the reference to "https://example.org/a.json" is refused: a schema is complete in itself, with $defs`,
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`:         `/tools/0/parameters: the reference to "file:///etc/passwd" is refused: a schema is complete in itself, with $defs`,
		`{"$schema":"https://example.org/draft","type":"object"}`:                    `/tools/0/parameters: the reference to "https://example.org/draft" is refused: a schema is complete in itself, with $defs`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`:               `/tools/0/parameters: is not JSON Schema: json-pointer in "parameters#/$defs/none" not found`,
		`{"type":"object","properties":{"a":{"pattern":"^(?!x)"}}}`:                  "/tools/0/parameters/properties/a/pattern: is not JSON Schema:",
		`{"type":"object","properties":{"a":{"type":"integer","value":1.5}}}`:        `/tools/0/parameters/properties/a/value: 1.5 is not an integer`,
		`{"type":"object","properties":{"a":{"ignore":true}},"required":["a"]}`:      `/tools/0/parameters/properties/a/ignore: the parameter is required and ignored, so that it never gets a value; give it a value or a default`,
		`{"type":"object","properties":{"a":{"ignore":"yes"}}}`:                      `/tools/0/parameters/properties/a: ignore and grounded are true or false, authServices a list of {"name","field"}`,
		deep: `/tools/0/parameters: is too costly to check: its combinations of $ref, allOf, anyOf and oneOf are too many`,
	} {
		_, faults := decoded(t, `"parameters":`+schema)
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

// TestSchemasThatTakeNoValueAreNoted: real definitions have defaults beside their enum, and enums of another type.
func TestSchemasThatTakeNoValueAreNoted(t *testing.T) {
	for property, want := range map[string]string{
		`{"type":"integer","default":"x"}`:                                                           `/default is ignored: "x" is not an integer`,
		`{"type":"integer","default":99,"maximum":5}`:                                                `/default is ignored: 99 is above the maximum of 5`,
		`{"enum":["p","q"],"default":"z"}`:                                                           `/default is ignored: "z" is not one of "p", "q"`,
		`{"type":"string","format":"time","default":"9:00"}`:                                         ``,
		`{"type":"object","properties":{"d":{"format":"date"}},"default":{"d":"soon"}}`:              `/default is ignored: "soon" is not a date in the form of ISO 8601, as 2026-12-01`,
		`{"type":"number","minimum":5,"maximum":1.50}`:                                               `/minimum is 5, above the maximum of 1.5: no value is left`,
		`{"type":"array","items":{"type":"object","properties":{"a%/b":{"minimum":5,"maximum":1}}}}`: `/items/properties/a%~1b/minimum is 5, above the maximum of 1: no value is left`,
		`{"type":"integer","enum":["a","b"]}`:                                                        `/enum leaves no value: "b" is not an integer`,
		`{"type":"boolean","default":"true"}`:                                                        ``,
		`{"type":"integer","minimum":5,"maximum":5,"default":5}`:                                     ``,
		`{"anyOf":[{"type":"string","format":"date"},{"type":"null"}],"default":null}`:               ``,
		`{"type":["string","null"],"enum":["a",null],"default":"a"}`:                                 ``,
	} {
		read, faults := decoded(t, `"parameters":{"type":"object","properties":{"a":`+property+`}}`)
		require.Empty(t, faults, property)
		notes := (&repositories.Repository{Tools: []repositories.Tool{*read}}).NotesInWords()
		if want == "" {
			require.Empty(t, notes, property)
			continue
		}
		require.Equal(t, []string{`tool "t": parameters/properties/a` + want}, notes)
	}
}

func TestFixedValuesThatASchemaRefusesAreErrorsWhenWritten(t *testing.T) {
	for property, want := range map[string]string{
		`{"type":"object","properties":{"d":{"format":"date"}},"value":{"d":"soon"}}`:   `/value: "soon" is not a date in the form of ISO 8601, as 2026-12-01`,
		`{"type":"string","format":"time","enum":["9:00"],"aliases":{"9:00":["nine"]}}`: `/aliases/9:00: "9:00" is not an allowed value`,
	} {
		schema := `{"type":"object","properties":{"a":` + property + `}}`
		_, faults := decoded(t, `"parameters":`+schema)
		require.Contains(t, faults, "/tools/0/parameters/properties/a"+want)
		record := &repositories.Repository{Tools: []repositories.Tool{{Name: "t", Parameters: json.RawMessage(schema)}}}
		require.NoError(t, record.Compile(), "a stored tool, or a server's, is read")
	}
}

func TestSchemaFaultsAreSentencesAboutTheValue(t *testing.T) {
	for _, c := range []struct{ property, value, want string }{
		{`{"minimum":1.5}`, `1`, `1 is under the minimum of 1.5`},
		{`{"maximum":9}`, `10`, `10 is above the maximum of 9`},
		{`{"const":"a"}`, `"b"`, `"b" is not "a"`},
		{`{"minItems":2}`, `[1]`, `is too short: 1 of at least 2 items`},
		{`{"maxItems":1}`, `[1,2]`, `is too long: 2 of at most 1 items`},
		{`{"maxLength":1}`, `"ab"`, `is too long: 2 of at most 1 characters`},
		{`{"type":["string","null"]}`, `5`, `5 is not null or a string`},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `true`, `true is not an integer or a string`},
		{`{"oneOf":[{"type":"string"},{"type":"object","required":["a"]}]}`, `{}`, `p.a: is required`},
		{`{"type":"object","properties":{"a":false}}`, `{"a":1}`, `p.a: is not allowed here`},
		{`{"multipleOf":2}`, `3`, `3 is not a multiple of 2`},
		{`{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13]}`, `0`, `0 is not one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …`},
		{`{"type":"array","items":{"type":"array","items":{"type":"integer"}}}`, `[[1],[2,"x"]]`, `p[1][1]: "x" is not an integer`},
		{`{"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `["a",1]`, `p[0]: "a" is not an integer`},
	} {
		p := compiled(t, `"parameters":{"type":"object","properties":{"p":`+c.property+`}}`)
		_, faults := checked(t, p, c.value)
		require.NotEmpty(t, faults, c.property)
		require.Equal(t, "p: "+c.want, faults[0], c.property)
	}
}

func TestSchemaNamesARefusedNameOfAProperty(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","additionalProperties":true,"propertyNames":{"maxLength":2}}`)
	_, faults := p.Check(values(t, `{"long":1}`))
	require.Equal(t, []string{`: together the values are not valid: the name "long" is not allowed`}, details(faults))
}

func TestSchemaReadsValuesByTheirTypes(t *testing.T) {
	for _, r := range []struct{ property, value, want string }{
		{`{"type":"integer"}`, `5.0`, `5`},
		{`{"type":"integer"}`, `1e2`, `100`},
		{`{"type":["integer","null"]}`, `"5.0"`, `5`},
		{`{"type":["integer","null"],"description":"null stays away"}`, `"null"`, ``},
		{`{"type":["integer","string"]}`, `"5"`, `"5"`},
		{`{"type":["integer","number"]}`, `5.0`, `5.0`},
		{`{"type":"number"}`, `"1e400"`, `fault`},
		{`{"type":"string"}`, `5.10`, `"5.10"`},
		{`{"type":"array"}`, `"a"`, `["a"]`},
		{`{"type":"array","items":{"type":"string"}}`, `"[1]"`, `["1"]`},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":"1"}`, `{"a":1}`},
		{`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"string"}},"required":["b"]}`, `{"a":"null","b":"x"}`, `{"a":"null","b":"x"}`},
		{`{"type":"object","properties":{"a":{"type":["integer","null"]}}}`, `{"a":"null"}`, `{"a":null}`},
		{`{"allOf":[{"type":"integer"},{"minimum":3}]}`, `"4"`, `4`},
		{`{"oneOf":[{"type":"integer"},{"type":"boolean"}]}`, `"true"`, `true`},
		{`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `"7"`, `"7"`},
		{`{"enum":["Yes","No"]}`, `"yes"`, `"Yes"`},
		{`{"enum":["Yes","No"]}`, `"maybe"`, `fault`},
		{`{"enum":[1,2]}`, `2`, `2`},
		{`true`, `{"a":[1]}`, `{"a":[1]}`},
	} {
		p := compiled(t, `"parameters":{"type":"object","properties":{"p":`+r.property+`}}`)
		got := p.Read(values(t, `{"p":`+r.value+`}`))
		switch r.want {
		case "fault":
			require.Len(t, got.Errors, 1, "%s %s", r.property, r.value)
		case "":
			require.Empty(t, got.Errors, "%s %s", r.property, r.value)
			require.NotContains(t, got.Values, "p", "%s %s", r.property, r.value)
		default:
			require.Empty(t, got.Errors, "%s %s", r.property, r.value)
			require.Equal(t, r.want, marshalled(t, got.Values["p"]), "%s %s", r.property, r.value)
		}
	}
}

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
