package parameters_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
		{`{"multipleOf":2}`, `3`, `multipleOf: got 3, want 2`},
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
	require.Equal(t, []string{`: together the values are at fault: the name "long" is not allowed`}, details(faults))
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
