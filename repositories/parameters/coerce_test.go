package parameters_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// reading is what a model's value of "p" becomes.
type reading struct {
	fields, value string
	want          string // as JSON; empty for absent
	coerced       bool
}

func TestReadCoercesWhereNothingIsLost(t *testing.T) {
	const strings = `"type":"array","items":{"type":"string"}`
	const integers = `"type":"array","items":{"type":"integer"}`
	for _, r := range []reading{
		{`"type":"integer"`, `5`, `5`, false},
		{`"type":"integer"`, `"5"`, `5`, true},
		{`"type":"integer"`, `" -5 "`, `-5`, true},
		{`"type":"integer"`, `5.0`, `5`, true},
		{`"type":"integer"`, `"5.00"`, `5`, true},
		{`"type":"integer"`, `1e2`, `100`, true},
		{`"type":"integer"`, `"9007199254740993"`, `9007199254740993`, true},
		{`"type":"number"`, `"1.50"`, `1.50`, true},
		{`"type":"number"`, `5`, `5`, false},
		{`"type":"float"`, `"1e2"`, `1e2`, true},
		{`"type":"boolean"`, `"true"`, `true`, true},
		{`"type":"boolean"`, `"False"`, `false`, true},
		{`"type":"boolean"`, `" TRUE "`, `true`, true},
		{`"type":"string"`, `5`, `"5"`, true},
		{`"type":"string"`, `5.0`, `"5.0"`, true},
		{`"type":"string"`, `true`, `"true"`, true},
		{`"type":"string"`, `" a "`, `" a "`, false},
		{`"type":"string"`, `""`, `""`, false},
		{`"type":"string"`, `"5"`, `"5"`, false},
		{strings, `["a"]`, `["a"]`, false},
		{strings, `"a"`, `["a"]`, true},
		{strings, `5`, `["5"]`, true},
		{strings, `"[\"a\",\"b\"]"`, `["a","b"]`, true},
		{strings, `[1,true]`, `["1","true"]`, true},
		{integers, `"7"`, `[7]`, true},
		{integers, `["1",2,3.0]`, `[1,2,3]`, true},
		{`"type":"array","items":{"type":"map"}`, `{"a":1}`, `[{"a":1}]`, true},
		{`"type":"array","items":{"type":"array","items":{"type":"integer"}}`, `[["1"]]`, `[[1]]`, true},
		{`"type":"object"`, `"{\"a\":9007199254740993}"`, `{"a":9007199254740993}`, true},
		{`"type":"map","valueType":"integer"`, `{"a":"1","b":2}`, `{"a":1,"b":2}`, true},
		{`"type":"map"`, `{"a":"1"}`, `{"a":"1"}`, false},
		{`"type":"string"`, `null`, ``, false},
		{`"type":"integer"`, `"null"`, ``, false},
		{`"type":"string"`, `"null"`, ``, false},
		{`"type":"string","allowedValues":["null","a"]`, `"null"`, `"null"`, false},
		{`"type":"string","allowedValues":["Music","Sports"]`, `"music"`, `"Music"`, true},
		{`"type":"string","allowedValues":["Music","Sports"]`, `" SPORTS "`, `"Sports"`, true},
		{`"type":"string","allowedValues":["1","2"]`, `2`, `"2"`, true},
		{`"type":"integer","allowedValues":[1,2]`, `"2"`, `2`, true},
		{`"type":"string","allowedValues":["a","A"]`, `"A"`, `"A"`, false},
		{`"type":"array","items":{"type":"string","allowedValues":["Wine"]}`, `"wine"`, `["Wine"]`, true},
	} {
		p := only(t, r.fields)
		got := p.Read(values(t, `{"p":`+r.value+`}`))
		require.Empty(t, got.Errors, "%s %s", r.fields, r.value)
		if r.want == "" {
			require.NotContains(t, got.Values, "p", "%s %s", r.fields, r.value)
		} else {
			require.Equal(t, r.want, marshalled(t, got.Values["p"]), "%s %s", r.fields, r.value)
		}
		require.Equal(t, r.coerced, len(got.Coerced) == 1, "%s %s: coerced %v", r.fields, r.value, got.Coerced)
	}
}

func TestReadRefusesWhereSomethingWouldBeLost(t *testing.T) {
	for _, r := range []rule{
		{`"type":"integer"`, `5.5`, `5.5 is not an integer: write it without fraction and exponent`},
		{`"type":"integer"`, `"5.5"`, `5.5 is not an integer: write it without fraction and exponent`},
		{`"type":"integer"`, `"five"`, `"five" is not an integer`},
		{`"type":"integer"`, `"007"`, `"007" is not an integer`},
		{`"type":"integer"`, `"1,000"`, `"1,000" is not an integer`},
		{`"type":"integer"`, `1e300`, `out of the range of a 64-bit integer`},
		{`"type":"integer"`, `1e999999999`, `1e999999999 is out of the range of a number`},
		{`"type":"integer"`, `""`, `"" is not an integer`},
		{`"type":"integer"`, `true`, `true is not an integer`},
		{`"type":"integer"`, `[5]`, `[5] is not an integer`},
		{`"type":"number"`, `"1e400"`, `1e400 is out of the range of a number`},
		{`"type":"boolean"`, `1`, `1 is not a boolean`},
		{`"type":"boolean"`, `"yes"`, `"yes" is not a boolean`},
		{`"type":"string"`, `["a"]`, `["a"] is not a string`},
		{`"type":"string"`, `{}`, `{} is not a string`},
		{`"type":"object"`, `"text"`, `"text" is not an object`},
		{`"type":"object"`, `"{broken"`, `"{broken" is not an object`},
		{`"type":"array","items":{"type":"integer"}`, `"a"`, `"a" is not an array`},
		{`"type":"array","items":{"type":"integer"}`, `[null]`, `p[0]: null is not an integer`},
		{`"type":"string","allowedValues":["ab","AB"]`, `"Ab"`, `"Ab" is not an allowed value; allowed: "ab", "AB"`},
		{`"type":"string","allowedValues":["Musi.*"]`, `"music"`, `"music" is not an allowed value; allowed: "Musi.*"`},
		{`"type":"string","allowedValues":["ab"]`, `"xabx"`, `"xabx" is not an allowed value; allowed: "ab"`},
	} {
		got := only(t, r.fields).Read(values(t, `{"p":`+r.value+`}`))
		require.Len(t, got.Errors, 1, "%s %s", r.fields, r.value)
		require.Contains(t, got.Errors[0].Detail, r.fault, "%s %s", r.fields, r.value)
		require.NotContains(t, got.Values, "p")
	}
}

func TestReadFindsNamesInAnotherSpelling(t *testing.T) {
	p := compiled(t, `"schema":[{"parameter":"start_date","type":"string"},{"parameter":"URL","type":"string"},
	  {"parameter":"a-b","type":"string"},{"parameter":"a_b","type":"string"},{"parameter":"secret","type":"string","value":"s"}]`)
	got := p.Read(values(t, `{"startDate":"1","url":"2","AB":"3","Secret":"4","other":"5"}`))
	require.Empty(t, got.Errors)
	require.JSONEq(t, `{"start_date":"1","URL":"2","secret":"s"}`, marshalled(t, got.Values))
	require.ElementsMatch(t, []string{"start_date", "URL"}, got.Coerced)
	require.Equal(t, []string{"AB", "Secret", "other"}, got.Dropped, "two meanings, a hidden parameter, and none")
}

func TestReadDropsASecondSpellingOfTheSameName(t *testing.T) {
	p := compiled(t, `"schema":[{"parameter":"start_date","type":"string"}]`)
	got := p.Read(values(t, `{"start_date":"right","startDate":"other"}`))
	require.Equal(t, "right", got.Values["start_date"])
	require.Equal(t, []string{"startDate"}, got.Dropped)

	got = p.Read(values(t, `{"START_DATE":"a","startDate":"b"}`))
	require.Empty(t, got.Values, "which of the two is meant is not certain")
	require.Equal(t, []string{"START_DATE", "startDate"}, got.Dropped)
}

func TestReadLeavesTheArgumentsAlone(t *testing.T) {
	arguments := values(t, `{"p":["1","2"]}`)
	only(t, `"type":"array","items":{"type":"integer"}`).Read(arguments)
	require.Equal(t, `{"p":["1","2"]}`, marshalled(t, arguments))
}
