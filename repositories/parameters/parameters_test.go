package parameters_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
)

// compiled returns the parameters of a tool with the given fields, as in `"schema":[…]`.
func compiled(t testing.TB, fields string) *parameters.Parameters {
	t.Helper()
	tool, err := decodeOne(fields)
	require.NoError(t, err)
	return tool.Params()
}

// decoded returns a tool with the given fields, or its faults as "pointer: detail" lines.
func decoded(t *testing.T, fields string) (*repositories.Tool, []string) {
	t.Helper()
	tool, err := decodeOne(fields)
	if err == nil {
		return tool, nil
	}
	var faults fault.List
	require.ErrorAs(t, err, &faults)
	lines := lists.Map(faults, func(one fault.Fault) string { return one.Pointer + ": " + one.Detail })
	return nil, lines
}

// only returns the parameters of a tool with one optional parameter "p" with the given fields, as in
// `"type":"string"`.
func only(t testing.TB, fields string) *parameters.Parameters {
	t.Helper()
	return compiled(t, `"schema":[{"parameter":"p",`+fields+`}]`)
}

func values(t testing.TB, text string) map[string]any {
	t.Helper()
	decoded, err := parameters.DecodeValues([]byte(text))
	require.NoError(t, err)
	return decoded
}

func details(faults []parameters.ValueFault) (lines []string) {
	for _, fault := range faults {
		lines = append(lines, fault.Parameter+": "+fault.Detail)
	}
	return lines
}

// checked returns a program's value of "p" after Check, as JSON, or its faults.
func checked(t testing.TB, p *parameters.Parameters, value string) (string, []string) {
	t.Helper()
	out, faults := p.Check(values(t, `{"p":`+value+`}`))
	if len(faults) > 0 {
		require.NotContains(t, out, "p", "a value at fault is left out")
		return "", details(faults)
	}
	return marshalled(t, out["p"]), nil
}

func marshalled(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return string(raw)
}

func TestTypesAcceptOfAProgramWhatIsOfTheType(t *testing.T) {
	accepted := map[string][]string{
		`"type":"string"`:                          {`"a"`, `""`, `" a "`, `"5"`, `"null"`},
		`"type":"integer"`:                         {`100`, `-7`, `0`, `-0`, `9223372036854775807`, `-9223372036854775808`, `9007199254740993`},
		`"type":"number"`:                          {`3`, `3.0`, `1e2`, `-1.5E-3`, `0.1000000000000000055511151231257827`, `1.7e308`, `123456789012345678901234567890`},
		`"type":"float"`:                           {`3`, `3.50`, `1e2`},
		`"type":"boolean"`:                         {`true`, `false`},
		`"type":"object"`:                          {`{}`, `{"a":{"b":[1,null,"x"]}}`},
		`"type":"map"`:                             {`{}`, `{"a":1,"b":"x","c":true,"d":null,"e":[{}]}`},
		`"type":"map","valueType":"integer"`:       {`{}`, `{"a":1,"b":9007199254740993}`},
		`"type":"map","valueType":"float"`:         {`{"a":1,"b":1.5}`},
		`"type":"array","items":{"type":"string"}`: {`[]`, `["a","b"]`},
		`"type":"array","items":{"type":"array","items":{"type":"integer"}}`:          {`[[1],[],[2,3]]`},
		`"type":"array","items":{"type":"map","valueType":"boolean"}`:                 {`[{"a":true}]`},
		`"type":"array","items":{"name":"i","type":"string","description":"an item"}`: {`["a"]`},
	}
	for fields, list := range accepted {
		p := only(t, fields)
		for _, value := range list {
			got, faults := checked(t, p, value)
			require.Empty(t, faults, "%s %s", fields, value)
			require.Equal(t, value, got, "%s comes out as it went in", fields)
		}
	}
}

func TestTypesRefuseOfAProgramWhatIsNotOfTheType(t *testing.T) {
	refused := map[string]map[string]string{
		`"type":"string"`: {
			`5`: `p: 5 is not a string`, `true`: `p: true is not a string`, `["a"]`: `p: ["a"] is not a string`, `{}`: `p: {} is not a string`,
		},
		`"type":"integer"`: {
			`3.0`:                  `p: 3.0 is not an integer: write it without fraction and exponent`,
			`1e2`:                  `p: 1e2 is not an integer: write it without fraction and exponent`,
			`14.5`:                 `p: 14.5 is not an integer: write it without fraction and exponent`,
			`"5"`:                  `p: "5" is not an integer`,
			`true`:                 `p: true is not an integer`,
			`9223372036854775808`:  `p: 9223372036854775808 is out of the range of a 64-bit integer`,
			`-9223372036854775809`: `p: -9223372036854775809 is out of the range of a 64-bit integer`,
		},
		`"type":"number"`: {
			`"1.5"`: `p: "1.5" is not a number`, `true`: `p: true is not a number`,
			`1e400`: `p: 1e400 is out of the range of a number`, `-1e309`: `p: -1e309 is out of the range of a number`,
			`1e999999999`: `p: 1e999999999 is out of the range of a number`, `1e-999999999`: `p: 1e-999999999 is out of the range of a number`,
		},
		`"type":"float"`:   {`"1.5"`: `p: "1.5" is not a float`, `[1]`: `p: [1] is not a float`},
		`"type":"boolean"`: {`"true"`: `p: "true" is not a boolean`, `1`: `p: 1 is not a boolean`, `0`: `p: 0 is not a boolean`, `"yes"`: `p: "yes" is not a boolean`},
		`"type":"object"`:  {`[]`: `p: [] is not an object`, `"{}"`: `p: "{}" is not an object`, `{"a":1e999}`: `p: p.a: 1e999 is out of the range of a number`},
		`"type":"map"`:     {`5`: `p: 5 is not a map`},
		`"type":"map","valueType":"integer"`: {
			`{"a":"1"}`: `p: p.a: "1" is not an integer`, `{"a":null}`: `p: p.a: null is not an integer`,
		},
		`"type":"array","items":{"type":"string"}`: {
			`"a,b"`: `p: "a,b" is not an array`, `"[\"a\"]"`: `p: "[\"a\"]" is not an array`, `{}`: `p: {} is not an array`,
			`["a",null]`: `p: p[1]: null is not a string`, `[1]`: `p: p[0]: 1 is not a string`,
		},
		`"type":"array","items":{"type":"array","items":{"type":"integer"}}`: {`[[1],["2"]]`: `p: p[1][0]: "2" is not an integer`},
	}
	for fields, list := range refused {
		p := only(t, fields)
		for value, want := range list {
			_, faults := checked(t, p, value)
			require.Equal(t, []string{want}, faults, "%s %s", fields, value)
		}
	}
}

func TestValuesMadeInGoAreReadLikeJSON(t *testing.T) {
	p := compiled(t, `"schema":[{"parameter":"n","type":"integer"},{"parameter":"f","type":"float"},{"parameter":"l","type":"array","items":{"type":"string"}}]`)
	out, faults := p.Check(map[string]any{"n": 5, "f": 1.5, "l": []string{"a"}})
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"n": json.Number("5"), "f": json.Number("1.5"), "l": []any{"a"}}, out)

	_, faults = p.Check(map[string]any{"n": struct{}{}, "f": json.Number("five")})
	require.Equal(t, []string{`n: {} is not an integer`, `f: "five" is not a number`}, details(faults))
}

func TestAbsentTakesTheDefaultAndElseIsRequired(t *testing.T) {
	cases := []struct{ name, fields, given, want, fault string }{
		{"SERMAS is optional unless it says so", `"schema":[{"parameter":"p","type":"string"}]`, `{}`, `{}`, ``},
		{"SERMAS required", `"schema":[{"parameter":"p","type":"string","required":true}]`, `{}`, ``, `p: is required`},
		{"Toolbox is required unless it says otherwise", `"parameters":[{"name":"p","type":"string","description":"d"}]`, `{}`, ``, `p: is required`},
		{"Toolbox optional", `"parameters":[{"name":"p","type":"string","description":"d","required":false}]`, `{}`, `{}`, ``},
		{"null counts as absent", `"parameters":[{"name":"p","type":"string","description":"d"}]`, `{"p":null}`, ``, `p: is required`},
		{"null of an optional one is left out", `"schema":[{"parameter":"p","type":"string"}]`, `{"p":null}`, `{}`, ``},
		{"a default beats required", `"parameters":[{"name":"p","type":"string","description":"d","required":true,"default":"x"}]`, `{}`, `{"p":"x"}`, ``},
		{"null takes the default", `"schema":[{"parameter":"p","type":"string","default":"x"}]`, `{"p":null}`, `{"p":"x"}`, ``},
		{"default null is none", `"parameters":[{"name":"p","type":"string","description":"d","default":null}]`, `{}`, ``, `p: is required`},
		{"an empty text is a default", `"parameters":[{"name":"p","type":"string","description":"d","default":""}]`, `{}`, `{"p":""}`, ``},
		{"zero is a default", `"parameters":[{"name":"p","type":"integer","description":"d","default":0}]`, `{}`, `{"p":0}`, ``},
		{"false is a default", `"parameters":[{"name":"p","type":"boolean","description":"d","default":false}]`, `{}`, `{"p":false}`, ``},
		{"an empty list is a default", `"parameters":[{"name":"p","type":"array","description":"d","items":{"type":"string"},"default":[]}]`, `{}`, `{"p":[]}`, ``},
		{"an empty map is a default", `"parameters":[{"name":"p","type":"map","description":"d","default":{}}]`, `{}`, `{"p":{}}`, ``},
		{"a default is not escaped, as no value is", `"schema":[{"parameter":"p","type":"string","default":"a'b","escape":"single-quotes"}]`, `{}`, `{"p":"a'b"}`, ``},
		{"null passes no rule", `"schema":[{"parameter":"p","type":"string","allowedValues":["a"],"escape":"backticks"}]`, `{"p":null}`, `{}`, ``},
		{"template parameters are parameters", `"templateParameters":[{"name":"p","type":"string","description":"d"}]`, `{"p":"t"}`, `{"p":"t"}`, ``},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := compiled(t, c.fields)
			out, faults := p.Check(values(t, c.given))
			if c.fault != "" {
				require.Equal(t, []string{c.fault}, details(faults))
				reading := p.Read(values(t, c.given))
				require.Equal(t, []string{"p"}, reading.Missing)
				require.Equal(t, faults, reading.Errors)
				return
			}
			require.Empty(t, faults)
			require.JSONEq(t, c.want, marshalled(t, out))
			require.Equal(t, out, p.Read(values(t, c.given)).Values)
		})
	}
}

func TestAllFaultsOfTheValuesAtOnce(t *testing.T) {
	p := compiled(t, `"schema":[{"parameter":"date","type":"string","required":true},{"parameter":"seats","type":"integer","maxValue":9},
	  {"parameter":"stops","type":"array","items":{"type":"map","valueType":"string"}},{"parameter":"ok","type":"boolean"}]`)
	out, faults := p.Check(values(t, `{"seats":10,"stops":[{"day":5},{"day":"a","x":true}],"dat":"x","ok":true}`))
	require.Equal(t, []string{
		`dat: is not a parameter of the tool; did you mean "date"?`,
		`date: is required`,
		`seats: 10 is above the maximum of 9`,
		`stops: stops[0].day: 5 is not a string`,
		`stops: stops[1].x: true is not a string`,
	}, details(faults))
	require.Equal(t, map[string]any{"ok": true}, out, "what is right is kept")
}

func TestHiddenParametersAreNotTakenFromAModel(t *testing.T) {
	p := compiled(t, `"schema":[
	  {"parameter":"static","type":"string","value":"A"},
	  {"parameter":"both","type":"string","value":"B","ignore":true},
	  {"parameter":"ignored","type":"string","ignore":true},
	  {"parameter":"fallback","type":"integer","ignore":true,"default":7,"required":true},
	  {"parameter":"seen","type":"string"}]`)
	sent := `{"static":"x","both":"x","ignored":"x","fallback":1,"seen":"y"}`

	reading := p.Read(values(t, sent))
	require.Empty(t, reading.Errors)
	require.JSONEq(t, `{"static":"A","both":"B","fallback":7,"seen":"y"}`, marshalled(t, reading.Values))

	out, faults := p.Check(values(t, sent))
	require.Empty(t, faults)
	require.JSONEq(t, `{"static":"A","both":"B","ignored":"x","fallback":1,"seen":"y"}`, marshalled(t, out), "a program may fill an ignored parameter, and a static one wins")

	for name, hidden := range map[string]bool{"static": true, "both": true, "ignored": true, "fallback": true, "seen": false, "unknown": false} {
		require.Equal(t, hidden, p.Hidden(name), name)
	}
}

func TestAuthenticatedParametersCannotBeFilledBySending(t *testing.T) {
	p := compiled(t, `"parameters":[
	  {"name":"user","type":"string","description":"d","authServices":[{"name":"google","field":"sub"},{"name":"acme","field":"id"}]},
	  {"name":"mail","type":"string","description":"d","required":false,"default":"x","authServices":[{"name":"google","field":"email"}]}]`)
	want := []string{`user: cannot be filled: it comes from a verified ID token of google or acme, and there is none`}
	out, faults := p.Check(values(t, `{"user":"me","mail":"me"}`))
	require.Equal(t, want, details(faults))
	require.Empty(t, out, "neither what is sent nor a default stands in for a claim")
	reading := p.Read(values(t, `{"user":"me"}`))
	require.Equal(t, want, details(reading.Errors))
	require.Equal(t, []string{"user"}, reading.Missing)
	require.False(t, p.Infers())
}

func TestInfersReportsWhetherAModelHasAnythingToFind(t *testing.T) {
	require.True(t, only(t, `"type":"string"`).Infers())
	require.False(t, only(t, `"type":"string","value":"x"`).Infers())
	require.False(t, only(t, `"type":"string","ignore":true`).Infers())
	require.False(t, compiled(t, `"schema":[]`).Infers())
	require.False(t, (&parameters.Parameters{}).Infers(), "a tool made by hand")
	require.True(t, compiled(t, `"parameters":{"type":"object","properties":{"a":{}}}`).Infers())
	require.False(t, compiled(t, `"parameters":{"type":"object","properties":{}}`).Infers())
	require.True(t, compiled(t, `"parameters":{"type":"object","additionalProperties":{"type":"string"}}`).Infers())
}

func TestDefaultsAreNotSharedBetweenCalls(t *testing.T) {
	p := only(t, `"type":"array","items":{"type":"string"},"default":["a"]`)
	first, _ := p.Check(nil)
	first["p"].([]any)[0] = "changed"
	second, _ := p.Check(nil)
	require.Equal(t, []any{"a"}, second["p"])
}

func TestDecodeValuesTakesOneObject(t *testing.T) {
	for text, want := range map[string]string{
		``: `{}`, ` null `: `{}`, `{"a":9007199254740993}`: `{"a":9007199254740993}`,
	} {
		require.Equal(t, want, marshalled(t, values(t, text)))
	}
	for text, want := range map[string]string{
		`[1]`: "an object with names and values", `"x"`: "an object", `{"a":1} x`: "not JSON", `{"a":1}{}`: "text follows", `{a}`: "not JSON",
	} {
		_, err := parameters.DecodeValues([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

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
		"unknown escape":                {`"type":"string","escape":"brackets"`, `/escape: "brackets" is not one of "single-quotes", "double-quotes", "backticks", "square-brackets"; did you mean "square-brackets"?`},
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
		"everything excluded":           {`"type":"string","excludedValues":[""]`, `/excludedValues/0: the empty text matches a part of every value and excludes all; "^$" excludes the empty value`},
		"huge once written out":         {`"type":"string","allowedValues":["x{900}y{900}z{900}"]`, "/allowedValues/0: the regular expression \"x{900}y{900}z{900}\" does not compile as RE2: it is too large once its repetitions are written out"},
		"ignored and required":          {`"type":"string","ignore":true,"required":true`, `/ignore: the parameter is required and ignored, so that it never gets a value; give it a value or a default`},
		"value and claim":               {`"type":"string","value":"x","authServices":[{"name":"g","field":"sub"}]`, `/value: stands against authServices: the value comes from one or the other`},
		"claim without field":           {`"type":"string","authServices":[{"name":"g"}]`, `/authServices/0/field: is missing`},
		"unknown field":                 {`"type":"string","allowedValue":["a"]`, `/allowedValue: unknown field "allowedValue"; did you mean "allowedValues"?`},
		"type missing":                  {`"description":"x"`, `/type: is missing: "string", "number", "integer", "float", "boolean", "object", "array" or "map"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := decoded(t, `"schema":[{"parameter":"p",`+c.fields+`}]`)
			require.Equal(t, []string{"/tools/0/schema/0" + c.fault}, withoutName(faults))
		})
	}
}

// withoutName removes the parameter's name from paths inside a default.
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
		`"parameters":[{"parameter":"a","name":"a","type":"string","description":"d"}]`:    `/tools/0/parameters/0/parameter: unknown field "parameter"; did you mean "name"?`,
		`"schema":[{"name":"a","parameter":"a","type":"string"}]`:                          `/tools/0/schema/0/name: unknown field "name"; did you mean "parameter"?`,
		`"parameters":[{"name":"a","type":"string","description":"d","embeddedBy":"m"}]`:   `/tools/0/parameters/0/embeddedBy: "embeddedBy" is not supported yet by this version`,
		`"parameters":[{"name":"a","type":"string","description":"d","valueFromParam":1}]`: `/tools/0/parameters/0/valueFromParam: "valueFromParam" is not supported yet by this version`,
		`"parameters":"x"`:                            `/tools/0/parameters: is a string, not an array, null or an object`,
		`"schema":[{"type":"string"}]`:                `/tools/0/schema/0/parameter: is missing`,
		`"schema":["a"]`:                              `/tools/0/schema/0: is a string, not an object`,
		`"schema":[null]`:                             `/tools/0/schema/0: is null, not an object`,
		`"schema":[{"parameter":"","type":"string"}]`: `/tools/0/schema/0/parameter: is empty`,
	} {
		_, faults := decoded(t, tool)
		require.Equal(t, []string{want}, faults, tool)
	}
}

func TestAValueOfTheWrongTypeIsNamedBesideRulesThatContradict(t *testing.T) {
	for field, want := range map[string][]string{
		`"default":"a"`: {`/default: "a" is not an integer`, `/minValue: 5 is above the maxValue of 1: no value is left`},
		`"default":3`:   {`/minValue: 5 is above the maxValue of 1: no value is left`},
	} {
		_, faults := decoded(t, `"schema":[{"parameter":"n","type":"integer","minValue":5,"maxValue":1,`+field+`}]`)
		for i := range want {
			want[i] = "/tools/0/schema/0" + want[i]
		}
		require.Equal(t, want, faults, field)
	}
}

func TestNullListsAreNone(t *testing.T) {
	tool, faults := decoded(t, `"schema":null,"parameters":[{"name":"a","type":"string","description":"d"}],"templateParameters":null`)
	require.Empty(t, faults)
	require.Equal(t, []string{"a"}, tool.Params().Names())
}

func TestWhatWasGivenIsKeptAsGiven(t *testing.T) {
	const list = `[{"parameter":"big","type":"number","value":1.50e3,"ignore":true}]`
	tool, faults := decoded(t, `"schema":`+list)
	require.Empty(t, faults)
	require.JSONEq(t, list, string(tool.Given()))
	require.Contains(t, string(tool.Given()), "1.50e3", "numbers keep their digits")
}

func TestRegularExpressionsOfARepositoryAreBoundedTogether(t *testing.T) {
	entry := `"x{900}[a-z]{900}"`
	_, faults := decoded(t, `"schema":[{"parameter":"p","type":"string","allowedValues":[`+entry+strings.Repeat(","+entry, 99)+`]}]`)
	require.NotEmpty(t, faults)
	require.Less(t, len(faults), 100, "the first of them fit")
	require.Contains(t, faults[0], "together the repository's regular expressions are too large")

	_, faults = decoded(t, `"parameters":{"type":"object","properties":{"p":{"pattern":"x{900}y{900}z{900}"}}}`)
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], "too large once its repetitions are written out")
}

// fuzzed are parameters of every kind for the fuzz targets, without escape, which changes a value so that it may
// not pass again.
const fuzzed = `"schema":[
 {"parameter":"s","type":"string","allowedValues":["a","B c","[0-9]{2,}","[abc"],"excludedValues":["99"]},
 {"parameter":"i","type":"integer","minValue":-10,"maxValue":9007199254740993},
 {"parameter":"n","type":"number","excludedValues":[1.50,"^7"]},
 {"parameter":"f","type":"float","allowedValues":[1,2.5,"3.*"]},
 {"parameter":"b","type":"boolean","required":true},
 {"parameter":"o","type":"object"},
 {"parameter":"m","type":"map","valueType":"integer"},
 {"parameter":"l","type":"array","items":{"type":"array","items":{"type":"string","allowedValues":["x","Y"]}}},
 {"parameter":"d","type":"string","default":"z"},
 {"parameter":"v","type":"integer","value":5},
 {"parameter":"h","type":"string","ignore":true}]`

// fuzzValues passes values to a test, with lists of parameters and with a schema.
func fuzzValues(f *testing.F, test func(t *testing.T, p *parameters.Parameters, given map[string]any)) {
	for _, seed := range []string{
		`{}`, `{"b":true}`, `{"s":"b C","i":"5","n":1e2,"f":"2.50","b":"True","o":"{}","m":{"a":"1"},"l":"x","D":"y","v":1,"h":"q"}`,
		`{"b":true,"n":1e999999999,"l":[["x"],["y",null]],"m":{"":-0}}`, `{"b":true,"to":"Rome","seats":"2","budget":null,"stops":{"city":1},"when":{"day":"3.0"}}`,
		`{"b":"null","s":" 12 ","i":5.0,"n":7,"S":"a"}`, `null`, `[`,
	} {
		f.Add([]byte(seed))
	}
	lists, schema := compiled(f, fuzzed), compiled(f, trip)
	f.Fuzz(func(t *testing.T, raw []byte) {
		given, err := parameters.DecodeValues(raw)
		if err != nil {
			return
		}
		test(t, lists, given)
		test(t, schema, given)
	})
}

// FuzzRead checks that values accepted by Read pass Check, and that faulty values are left out.
func FuzzRead(f *testing.F) {
	fuzzValues(f, func(t *testing.T, p *parameters.Parameters, given map[string]any) {
		got := p.Read(given)
		for _, fault := range got.Errors {
			require.NotContains(t, got.Values, fault.Parameter)
		}
		if len(got.Errors) == 0 {
			again, faults := p.Check(got.Values)
			require.Empty(t, faults, "%v became %v", given, got.Values)
			require.Equal(t, got.Values, again)
		}
	})
}

// FuzzCheck checks that values accepted by Check are unchanged, and pass again.
func FuzzCheck(f *testing.F) {
	fuzzValues(f, func(t *testing.T, p *parameters.Parameters, given map[string]any) {
		out, faults := p.Check(given)
		if len(faults) > 0 {
			return
		}
		for name, value := range given {
			if value != nil && name != "v" && name != "agency" {
				require.Equal(t, value, out[name])
			}
		}
		again, faults := p.Check(out)
		require.Empty(t, faults)
		require.Equal(t, out, again)
	})
}

// ofPets has a body with two required parts, and a parameter outside of it.
const ofPets = `"type":"http","source":"s","method":"PUT","path":"pets","requestBody":"{{json .}}",
	"queryParams":[{"name":"dry","type":"boolean","description":"d","required":false}],
	"bodyParams":[{"name":"id","type":"integer","description":"d","required":false},
		{"name":"name","type":"string","description":"the name","requiredInBody":true},
		{"name":"photos","type":"array","description":"d","items":{"type":"string","description":"d"},"requiredInBody":true}`

func TestBodyThatIsSentHasWhatIsRequiredInIt(t *testing.T) {
	params := compiled(t, ofPets+"]")
	for _, given := range []map[string]any{
		{}, {"dry": true}, {"name": nil}, {"name": "Rex", "photos": []any{}}, {"name": "", "photos": []any{"a"}, "id": json.Number("1")},
	} {
		_, faults := params.Check(given)
		require.Empty(t, faults, given)
	}
	_, faults := params.Check(map[string]any{"id": json.Number("1"), "dry": true})
	require.Len(t, faults, 2)
	require.Equal(t, "name", faults[0].Parameter)
	require.Equal(t, "is required beside id: the body of the request has both", faults[0].Detail)
	require.Equal(t, fault.Missing, faults[0].Meant.Code)
	require.Equal(t, []string{"photos"}, params.Read(map[string]any{"name": "Rex"}).Missing)
	_, faults = params.Check(map[string]any{"name": json.Number("5"), "photos": []any{}})
	require.Len(t, faults, 1, "a value at fault is not missing as well")
	require.Contains(t, faults[0].Detail, "is not a string")

	require.Contains(t, string(params.ModelSchema()), `"the name (required if there is a value for any other part of the body)"`)
	require.NotContains(t, string(params.ModelSchema()), `"required"`)
	params = compiled(t, ofPets+`,{"name":"kind","type":"string","description":"d","default":"dog"}]`)
	require.Equal(t, []string{"name", "photos"}, params.Read(nil).Missing, "a default is a value")
}

func TestRequiredInBodyIsRefusedWhereItSaysNothing(t *testing.T) {
	for tool, want := range map[string]string{
		`"parameters":[{"name":"a","type":"string","description":"d","requiredInBody":true}]`:             "/parameters/0/requiredInBody",
		ofPets + `,{"name":"b","type":"string","description":"d","required":true,"requiredInBody":true}]`: "/bodyParams/3/requiredInBody",
		`"schema":[{"parameter":"a","type":"string","requiredInBody":true}]`:                              "requiredInBody",
	} {
		_, err := decodeOne(tool)
		require.ErrorContains(t, err, want)
	}
}
