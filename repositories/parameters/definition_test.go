package parameters_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefinitionsThatCanNeverBeSatisfiedAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ fields, fault string }{
		"default outside allowedValues": {`"type":"string","allowedValues":["a"],"default":"b"`, `/default: "b" is not an allowed value; allowed: "a"`},
		"default that is excluded":      {`"type":"string","excludedValues":["a"],"default":"ab"`, `/default: "ab" is an excluded value`},
		"default under minValue":        {`"type":"integer","minValue":5,"default":4`, `/default: 4 is under the minimum of 5`},
		"default above maxValue":        {`"type":"number","maxValue":5,"default":5.1`, `/default: 5.1 is above the maximum of 5`},
		"default of the wrong type":     {`"type":"integer","default":1.5`, `/default: 1.5 is not an integer: write it without fraction and exponent`},
		"default with a wrong member":   {`"type":"array","items":{"type":"integer"},"default":[1,"2"]`, `/default: [1]: "2" is not an integer`},
		"value of the wrong type":       {`"type":"boolean","value":"true"`, `/value: "true" is not a boolean`},
		"value outside allowedValues":   {`"type":"integer","allowedValues":[1],"value":2`, `/value: 2 is not an allowed value; allowed: 1`},
		"minValue above maxValue":       {`"type":"integer","minValue":5,"maxValue":4`, `/minValue: 5 is above the maxValue of 4: no value is left`},
		"minValue on a string":          {`"type":"string","minValue":1`, `/minValue: is for numbers, and the type is string`},
		"minValue out of range":         {`"type":"number","minValue":1e400`, `/minValue: 1e400 is out of the range of a number`},
		"items with a value":            {`"type":"array","items":{"type":"string","value":"x"}`, `/items/value: is for parameters, not for the items of one`},
		"items that are ignored":        {`"type":"array","items":{"type":"string","ignore":true}`, `/items/ignore: is for parameters, not for the items of one`},
		"maxValue on a boolean":         {`"type":"boolean","maxValue":1`, `/maxValue: is for numbers, and the type is boolean`},
		"unknown escape":                {`"type":"string","escape":"brackets"`, `/escape: "brackets" is not one of "single-quotes", "double-quotes", "backticks", "square-brackets"`},
		"misspelt escape":               {`"type":"string","escape":"backtick"`, `/escape: "backtick" is not one of "single-quotes", "double-quotes", "backticks", "square-brackets"; did you mean "backticks"?`},
		"escape on a number":            {`"type":"integer","escape":"backticks"`, `/escape: is for strings, and the type is integer`},
		"items missing":                 {`"type":"array"`, `/items: is missing: an array says what its members are`},
		"items on a string":             {`"type":"string","items":{"type":"string"}`, `/items: is for arrays, and the type is string`},
		"items of items missing":        {`"type":"array","items":{"type":"array"}`, `/items/items: is missing: an array says what its members are`},
		"rule of items":                 {`"type":"array","items":{"type":"string","minValue":1}`, `/items/minValue: is for numbers, and the type is string`},
		"items with a claim":            {`"type":"array","items":{"type":"string","authServices":[{"name":"g","field":"sub"}]}`, `/items/authServices: is for parameters, not for the items of one`},
		"unknown valueType":             {`"type":"map","valueType":"strings"`, `/valueType: "strings" is not one of "string", "integer", "float", "number", "boolean"; did you mean "string"?`},
		"valueType on an array":         {`"type":"array","items":{"type":"string"},"valueType":"string"`, `/valueType: is for maps, and the type is array`},
		"unknown type":                  {`"type":"numbr"`, `/type: "numbr" is not one of "string", "number", "integer", "float", "boolean", "object", "array", "map"; did you mean "number"?`},
		"all allowed of another type":   {`"type":"integer","allowedValues":[true,[1]]`, `/allowedValues: none of them is an integer, which is the type of the parameter`},
		"scalars allowed for an array":  {`"type":"array","items":{"type":"string"},"allowedValues":["a"]`, `/allowedValues: none of them is an array, which is the type of the parameter; rules about its members stand on items`},
		"excluded of another type":      {`"type":"string","excludedValues":[1]`, `/excludedValues: none of them is a string, which is the type of the parameter`},
		"nothing allowed within bounds": {`"type":"integer","allowedValues":[1,2],"minValue":5`, `/allowedValues: no allowed value passes the other rules: 2 is under the minimum of 5`},
		"everything excluded":           {`"type":"string","excludedValues":[""]`, `/excludedValues/0: the empty text matches a part of every value, so that none is left; "^$" excludes the empty value`},
		"lookahead":                     {`"type":"string","allowedValues":["a","(?!x).*"]`, "/allowedValues/1: the regular expression \"(?!x).*\" does not compile as RE2: invalid or unsupported Perl syntax: `(?!`"},
		"anchored and broken":           {`"type":"string","excludedValues":["^[a-z$"]`, "/excludedValues/0: the regular expression \"^[a-z$\" does not compile as RE2: missing closing ]: `[a-z$`"},
		"repetition of repetitions":     {`"type":"string","allowedValues":["(x{100}){100}"]`, "/allowedValues/0: the regular expression \"(x{100}){100}\" does not compile as RE2: invalid repeat count: `{100}`"},
		"huge once written out":         {`"type":"string","allowedValues":["x{900}y{900}z{900}"]`, "/allowedValues/0: the regular expression \"x{900}y{900}z{900}\" does not compile as RE2: it is too large once its repetitions are written out"},
		"ignored and required":          {`"type":"string","ignore":true,"required":true`, `/ignore: nobody fills the parameter: it is required and ignored; give it a value or a default`},
		"value and claim":               {`"type":"string","value":"x","authServices":[{"name":"g","field":"sub"}]`, `/value: stands against authServices: the value comes from one or the other`},
		"claim without field":           {`"type":"string","authServices":[{"name":"g"}]`, `/authServices/0/field: is missing`},
		"unknown field":                 {`"type":"string","allowedValue":["a"]`, `/allowedValue: unknown field "allowedValue"; did you mean "allowedValues"?`},
		"type missing":                  {`"description":"x"`, `/type: is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := decoded(t, `{"name":"t","schema":[{"parameter":"p",`+c.fields+`}]}`)
			require.Equal(t, []string{"/tools/0/schema/0" + c.fault}, withoutName(faults))
		})
	}
}

// withoutName takes the parameter's name out of paths inside a default.
func withoutName(faults []string) []string {
	for i := range faults {
		faults[i] = strings.Replace(faults[i], "default: p[", "default: [", 1)
	}
	return faults
}

func TestParametersAreGivenInOneWayUnderUniqueNames(t *testing.T) {
	const sermas = `{"parameter":"a","type":"string"}`
	const toolbox = `{"name":"a","type":"string","description":"d"}`
	for tool, want := range map[string]string{
		`"schema":[` + sermas + `],"parameters":[` + toolbox + `]`:                         `/tools/0/parameters: stands beside schema: a tool's parameters are given in one way`,
		`"schema":[` + sermas + `,` + sermas + `]`:                                         `/tools/0/schema/1/parameter: "a" is the name of another parameter as well`,
		`"parameters":[` + toolbox + `],"templateParameters":[` + toolbox + `]`:            `/tools/0/templateParameters/0/name: "a" is the name of another parameter as well`,
		`"parameters":{"type":"object"},"templateParameters":[` + toolbox + `]`:            `/tools/0/templateParameters: stands beside a JSON Schema: give parameters as a list`,
		`"parameters":[{"name":"a","type":"string"}]`:                                      `/tools/0/parameters/0/description: is missing`,
		`"parameters":[{"name":"a","type":"string","description":""}]`:                     `/tools/0/parameters/0/description: is empty`,
		`"parameters":[{"parameter":"a","name":"a","type":"string","description":"d"}]`:    `/tools/0/parameters/0/parameter: unknown field "parameter"`,
		`"schema":[{"name":"a","parameter":"a","type":"string"}]`:                          `/tools/0/schema/0/name: unknown field "name"`,
		`"parameters":[{"name":"a","type":"string","description":"d","embeddedBy":"m"}]`:   `/tools/0/parameters/0/embeddedBy: "embeddedBy" is not supported yet by this version`,
		`"parameters":[{"name":"a","type":"string","description":"d","valueFromParam":1}]`: `/tools/0/parameters/0/valueFromParam: "valueFromParam" is not supported yet by this version`,
		`"parameters":"x"`:                            `/tools/0/parameters: is a string, not an array, null or an object`,
		`"schema":[{"type":"string"}]`:                `/tools/0/schema/0/parameter: is missing`,
		`"schema":["a"]`:                              `/tools/0/schema/0: is a string, not an object`,
		`"schema":[null]`:                             `/tools/0/schema/0: is null, not an object`,
		`"schema":[{"parameter":"","type":"string"}]`: `/tools/0/schema/0/parameter: is empty`,
	} {
		_, faults := decoded(t, `{"name":"t",`+tool+`}`)
		require.Equal(t, []string{want}, faults, tool)
	}
}

func TestNullListsAreNone(t *testing.T) {
	tool, faults := decoded(t, `{"name":"t","schema":null,"parameters":[{"name":"a","type":"string","description":"d"}],"templateParameters":null}`)
	require.Empty(t, faults)
	require.Equal(t, []string{"a"}, tool.Params().Names())
}

func TestWhatWasGivenIsKeptAsGiven(t *testing.T) {
	const list = `[{"parameter":"big","type":"number","value":1.50e3,"ignore":true}]`
	tool, faults := decoded(t, `{"name":"t","schema":`+list+`}`)
	require.Empty(t, faults)
	require.JSONEq(t, list, string(tool.Given()))
	require.Contains(t, string(tool.Given()), "1.50e3", "numbers keep their digits")
}

func TestRegularExpressionsOfARepositoryAreBoundedTogether(t *testing.T) {
	entry := `"x{900}[a-z]{900}"`
	_, faults := decoded(t, `{"name":"t","schema":[{"parameter":"p","type":"string","allowedValues":[`+entry+strings.Repeat(","+entry, 99)+`]}]}`)
	require.NotEmpty(t, faults)
	require.Less(t, len(faults), 100, "the first of them fit")
	require.Contains(t, faults[0], "together the repository's regular expressions are too large")

	_, faults = decoded(t, `{"name":"t","parameters":{"type":"object","properties":{"p":{"pattern":"x{900}y{900}z{900}"}}}}`)
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], "too large once its repetitions are written out")
}
