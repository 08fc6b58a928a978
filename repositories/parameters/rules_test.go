package parameters_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
)

// rule is a value with the expected fault.
type rule struct {
	fields, value string
	fault         string // empty: valid
}

func checkRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		_, faults := checked(t, only(t, r.fields), r.value)
		if r.fault == "" {
			require.Empty(t, faults, "%s with %s", r.fields, r.value)
			continue
		}
		require.Equal(t, []string{"p: " + r.fault}, faults, "%s with %s", r.fields, r.value)
	}
}

func TestAllowedValuesEqualOrMatchAllOfTheValue(t *testing.T) {
	const foo = `"type":"string","allowedValues":["foo"]`
	checkRules(t, []rule{
		{foo, `"foo"`, ``},
		{foo, `"xfoox"`, `"xfoox" is not an allowed value; allowed: "foo"`},
		{foo, `"Foo"`, `"Foo" is not an allowed value; allowed: "foo"`},
		{foo, `""`, `"" is not an allowed value; allowed: "foo"`},
		{foo, `"foo\n"`, `"foo\n" is not an allowed value; allowed: "foo"`},
		{`"type":"string","allowedValues":["a|ab"]`, `"ab"`, ``}, // the longest match decides, not the first
		{`"type":"string","allowedValues":["^a.*z$"]`, `"abcz"`, ``},
		{`"type":"string","allowedValues":["^a"]`, `"abc"`, `"abc" is not an allowed value; allowed: "^a"`},
		{`"type":"string","allowedValues":["(?i)yes"]`, `"YES"`, ``},
		{`"type":"string","allowedValues":["[0-9]{3}"]`, `"123"`, ``},
		{`"type":"string","allowedValues":["[0-9]{3}"]`, `"1234"`, `"1234" is not an allowed value; allowed: "[0-9]{3}"`},
		{`"type":"string","allowedValues":["(?m)^a$"]`, `"a\nb"`, `"a\nb" is not an allowed value; allowed: "(?m)^a$"`},
		{`"type":"string","allowedValues":["\\Qa.b"]`, `"a.b"`, ``},
		{`"type":"string","allowedValues":["x","y"]`, `"y"`, ``},
		{`"type":"string","allowedValues":[]`, `"anything"`, ``},
		{`"type":"string","allowedValues":[""]`, `""`, ``},
		{`"type":"string","allowedValues":[""]`, `"a"`, `"a" is not an allowed value; allowed: ""`},
		{`"type":"string","allowedValues":["a",1]`, `"1"`, `"1" is not an allowed value; allowed: "a", 1`},
	})
}

func TestEntriesThatDoNotCompileAreLiteralText(t *testing.T) {
	checkRules(t, []rule{
		{`"type":"string","allowedValues":["[abc"]`, `"[abc"`, ``},
		{`"type":"string","allowedValues":["[abc"]`, `"a"`, `"a" is not an allowed value; allowed: "[abc"`},
		{`"type":"string","allowedValues":["*"]`, `"*"`, ``},
		{`"type":"string","allowedValues":["C++"]`, `"C++"`, ``},
		{`"type":"string","allowedValues":["a","(?!x).*"]`, `"(?!x).*"`, ``}, // RE2 has no lookahead
		{`"type":"string","allowedValues":["a","(?!x).*"]`, `"y"`, `"y" is not an allowed value; allowed: "a", "(?!x).*"`},
		{`"type":"string","allowedValues":["(x{100}){100}"]`, `"(x{100}){100}"`, ``},
		{`"type":"string","excludedValues":["^[a-z$"]`, `"^[a-z$"`, `"^[a-z$" is an excluded value`},
		{`"type":"string","excludedValues":["^[a-z$"]`, `"a"`, ``},
		{`"type":"string","excludedValues":["*"]`, `"a*"`, ``},
		{`"type":"string","excludedValues":["*"]`, `"*"`, `"*" is an excluded value`},
		{`"type":"string","allowedValues":["a)|(b"]`, `"a"`, `"a" is not an allowed value; allowed: "a)|(b"`},
	})
}

func TestAllowedValuesOfNumbersCompareByValue(t *testing.T) {
	checkRules(t, []rule{
		{`"type":"integer","allowedValues":[1,2]`, `1`, ``},
		{`"type":"integer","allowedValues":[1,2]`, `3`, `3 is not an allowed value; allowed: 1, 2`},
		{`"type":"integer","allowedValues":[1.0]`, `1`, ``},
		{`"type":"float","allowedValues":[1]`, `1.0`, ``},
		{`"type":"float","allowedValues":[1]`, `10e-1`, ``},
		{`"type":"number","allowedValues":[1000000]`, `1e6`, ``},
		{`"type":"integer","allowedValues":["1"]`, `10`, `10 is not an allowed value; allowed: "1"`},
		{`"type":"integer","allowedValues":["1[0-9]"]`, `10`, ``},
		{`"type":"integer","allowedValues":[9007199254740993]`, `9007199254740992`, `9007199254740992 is not an allowed value; allowed: 9007199254740993`},
		{`"type":"boolean","allowedValues":[true]`, `true`, ``},
		{`"type":"boolean","allowedValues":["true"]`, `true`, ``},
		{`"type":"boolean","allowedValues":[true]`, `false`, `false is not an allowed value; allowed: true`},
	})
}

func TestExcludedValuesEqualOrMatchAnyPart(t *testing.T) {
	checkRules(t, []rule{
		{`"type":"string","excludedValues":["admin"]`, `"administrator"`, `"administrator" is an excluded value`},
		{`"type":"string","excludedValues":["admin"]`, `"user"`, ``},
		{`"type":"string","excludedValues":["^admin$"]`, `"administrator"`, ``},
		{`"type":"string","excludedValues":["^$"]`, `""`, `"" is an excluded value`},
		{`"type":"integer","excludedValues":[1]`, `1`, `1 is an excluded value`},
		{`"type":"integer","excludedValues":[1]`, `10`, ``},
		{`"type":"integer","excludedValues":["1"]`, `10`, `10 is an excluded value`},
		{`"type":"float","excludedValues":["^1$"]`, `1.0`, `1.0 is an excluded value`},
		{`"type":"float","excludedValues":["^100$"]`, `1e2`, `1e2 is an excluded value`},
		{`"type":"float","excludedValues":["^0\\.05$"]`, `5e-2`, `5e-2 is an excluded value`},
		{`"type":"float","excludedValues":["^-1\\.5$"]`, `-1.50`, `-1.50 is an excluded value`},
		{`"type":"float","excludedValues":["^0$"]`, `0.00`, `0.00 is an excluded value`},
		{`"type":"boolean","excludedValues":["true"]`, `true`, `true is an excluded value`},
	})
}

func TestListsAndMapsAreComparedWhole(t *testing.T) {
	const pair = `"type":"array","items":{"type":"integer"},"allowedValues":[[1,2]]`
	const size = `"type":"map","allowedValues":[{"a":1}]`
	checkRules(t, []rule{
		{pair, `[1,2]`, ``},
		{pair, `[2,1]`, `[2,1] is not an allowed value; allowed: [1,2]`},
		{pair, `[]`, `[] is not an allowed value; allowed: [1,2]`},
		{`"type":"array","items":{"type":"string"},"excludedValues":[["a"],"a"]`, `["a"]`, `["a"] is an excluded value`},
		{`"type":"array","items":{"type":"string"},"excludedValues":[["a"],"a"]`, `["a","b"]`, ``}, // a scalar excludes nothing
		{size, `{"a":1}`, ``},
		{size, `{"a":1.0}`, ``},
		{size, `{"a":1,"b":2}`, `{"a":1,"b":2} is not an allowed value; allowed: {"a":1}`},
		{`"type":"map","excludedValues":[{"a":[true,null]}]`, `{"a":[true,null]}`, `{"a":[true,null]} is an excluded value`},
	})
}

func TestRulesOnItemsHoldForEveryItem(t *testing.T) {
	p := only(t, `"type":"array","items":{"type":"string","allowedValues":["a","b"],"excludedValues":["c"]}`)
	_, faults := checked(t, p, `["a","x","b","y"]`)
	require.Equal(t, []string{
		`p: p[1]: "x" is not an allowed value; allowed: "a", "b"`,
		`p: p[3]: "y" is not an allowed value; allowed: "a", "b"`,
	}, faults)
}

func TestBoundsAreInclusive(t *testing.T) {
	const range5 = `"type":"number","minValue":-5,"maxValue":5.5`
	checkRules(t, []rule{
		{range5, `-5`, ``}, {range5, `5.5`, ``}, {range5, `5.50`, ``}, {range5, `0`, ``},
		{range5, `-5.0000000000000000001`, `-5.0000000000000000001 is under the minimum of -5`},
		{range5, `5.5000000000000000001`, `5.5000000000000000001 is above the maximum of 5.5`},
		{range5, `-6`, `-6 is under the minimum of -5`},
		{range5, `55e-1`, ``},
		{range5, `1e300`, `1e300 is above the maximum of 5.5`},
		{`"type":"integer","minValue":9007199254740993`, `9007199254740992`, `9007199254740992 is under the minimum of 9007199254740993`},
		{`"type":"number","minValue":0`, `-0.0`, ``},
		{`"type":"number","minValue":0`, `1e-300`, ``},
		{`"type":"number","maxValue":0`, `-1e-300`, ``},
		{`"type":"number","minValue":-0.5`, `-0.25`, ``},
	})
}

func TestRulesComeInTheirOrder(t *testing.T) {
	const all = `"type":"integer","allowedValues":[1,2,3,20],"excludedValues":[2],"minValue":3,"maxValue":10`
	checkRules(t, []rule{
		{all, `"x"`, `"x" is not an integer`},
		{all, `0`, `0 is not an allowed value; allowed: 1, 2, 3, 20`},
		{all, `2`, `2 is an excluded value`},
		{all, `1`, `1 is under the minimum of 3`},
		{all, `20`, `20 is above the maximum of 10`},
		{all, `3`, ``},
	})
}

func TestEscapeDoublesTheClosingDelimiter(t *testing.T) {
	for escape, want := range map[string]string{
		"single-quotes":   "'a''b\"c`d[e]f'",
		"double-quotes":   "\"a'b\"\"c`d[e]f\"",
		"backticks":       "`a'b\"c``d[e]f`",
		"square-brackets": "[a'b\"c`d[e]]f]",
	} {
		const said = "a'b\"c`d[e]f"
		list := escaping(`"escape":"` + escape + `"`)
		p, faults := parameters.Compile([]parameters.List{list}, &parameters.Budget{})
		require.Empty(t, faults)
		out, wrong := p.Check(map[string]any{"p": said})
		require.Empty(t, wrong)
		require.Equal(t, said, out["p"], "what is kept is what was said")
		require.Equal(t, said, p.Read(map[string]any{"p": said}).Values["p"])
		require.Equal(t, map[string]any{"p": want, "q": said}, list.Escaped(map[string]any{"p": said, "q": said}, false), escape)
		require.Equal(t, said, out["p"], "it is left as it is")
	}
}

func TestEscapeDoublesBackslashesBetweenQuotes(t *testing.T) {
	for escape, want := range map[string]string{
		"single-quotes": `'a\\''b'`, "double-quotes": `"a\\'b"`, "backticks": "`a\\'b`", "square-brackets": `[a\'b]`,
	} {
		list := escaping(`"escape":"` + escape + `"`)
		require.Equal(t, want, list.Escaped(map[string]any{"p": `a\'b`}, true)["p"], escape)
	}
}

// escaping is a list of one string parameter, p, with more fields.
func escaping(fields string) parameters.List {
	return parameters.Template.Of(json.RawMessage(`[{"name":"p","type":"string","description":"d",` + fields + `}]`))
}

func TestEscapeReachesItems(t *testing.T) {
	list := parameters.SERMAS.Of(json.RawMessage(`[{"parameter":"p","type":"array","items":{"type":"array","items":{"type":"string","escape":"double-quotes"}}},{"parameter":"n","type":"integer"}]`))
	said := values(t, `{"p":[["a","b\"c"]],"n":5}`)
	require.Equal(t, map[string]any{"p": []any{[]any{`"a"`, `"b""c"`}}, "n": json.Number("5")}, list.Escaped(said, false))
	require.Equal(t, values(t, `{"p":[["a","b\"c"]],"n":5}`), said)
	require.Equal(t, `"id"`, escaping(`"\u0065scape":"double-quotes"`).Escaped(map[string]any{"p": "id"}, false)["p"], "however its name is written")
}

// reading is a model's value of "p" with its expected reading.
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
		{`"type":"integer"`, `""`, ``, false},
		{`"type":"boolean"`, `" "`, ``, false},
		{`"type":"string","format":"date"`, `""`, ``, false},
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

func pastingTool(parameter string) (*repositories.Tool, error) {
	return decodeOne(`"type":"sqlite-sql","source":"db","statement":"select * from t where {{.p}}","templateParameters":[` + parameter + `]`)
}

func TestControlCharactersArePastedNowhere(t *testing.T) {
	for _, c := range []struct{ fields, value, want string }{
		{`"type":"string"`, `"t\u0000"`, `"t\u0000" has the control character U+0000, which is never pasted into a statement`},
		{`"type":"string","allowedValues":[".*","(?s).*"],"escape":"double-quotes"`, `"a\nb"`, `"a\nb" has the control character U+000A, which is never pasted into a statement`},
		{`"type":"string"`, `"\u007f"`, "\"\u007f\" has the control character U+007F, which is never pasted into a statement"},
		{`"type":"string"`, `"\u0085"`, "\"\u0085\" has the control character U+0085, which is never pasted into a statement"},
		{`"type":"array","items":{"name":"i","type":"string","description":"d"}`, `["a","b\u0000"]`, `p[1]: "b\u0000" has the control character U+0000, which is never pasted into a statement`},
		{`"type":"map"`, `{"a":{"b":"\t"}}`, `p.a.b: "\t" has the control character U+0009, which is never pasted into a statement`},
		{`"type":"map"`, `{"a\u0000":1}`, `"a\u0000" has the control character U+0000, which is never pasted into a statement`},
		{`"type":"string","escape":"single-quotes"`, `"größer; 日本"`, ``},
	} {
		tool, err := pastingTool(`{"name":"p","description":"d",` + c.fields + `}`)
		require.NoError(t, err)
		given := values(t, `{"p":`+c.value+`}`)
		var want []string
		if c.want != "" {
			want = []string{"p: " + c.want}
		}
		_, faults := tool.Params().Check(given)
		require.Equal(t, want, details(faults), "a program's %s", c.value)
		require.Equal(t, want, details(tool.Params().Read(given).Errors), "a model's %s", c.value)
		_, err = pastingTool(`{"name":"p","description":"d","value":` + c.value + `,` + c.fields + `}`)
		require.Equal(t, c.want == "", err == nil, "a static %s: %v", c.value, err)
	}
	_, err := decodeOne(`"type":"sqlite-sql","source":"db","statement":"select 1 \u0000 from x"`)
	require.ErrorContains(t, err, "/tools/0/statement: has a NUL byte")
}

func TestWhatIsBoundMayHaveControlCharacters(t *testing.T) {
	_, faults := checked(t, only(t, `"type":"string"`), `"two\nlines"`)
	require.Empty(t, faults)
}

// hiding replaces each ~ and ^ of a JSON text by an invisible character, U+200B or U+202E.
func hiding(text string) string {
	return strings.NewReplacer("~", `\u200b`, "^", "\u202e").Replace(text)
}

// A model sees a tool like people, in each form of parameters; the names and values that it saw are mapped to the
// true ones.
func TestModelIsShownWhatPeopleSee(t *testing.T) {
	for what, fields := range map[string]string{
		"a list":        `"schema":[{"parameter":"de~sk","type":"string","description":"the^ desk~","required":true,"allowedValues":["A~1","B"],"ask":"Which~ desk?"}]`,
		"Toolbox":       `"parameters":[{"name":"de~sk","type":"string","description":"the^ desk~","allowedValues":["A~1","B"],"ask":"Which~ desk?"}]`,
		"a JSON Schema": `"parameters":{"type":"object","properties":{"de~sk":{"type":"string","description":"the^ desk~","enum":["A~1","B"],"ask":"Which~ desk?"}},"required":["de~sk"]}`,
	} {
		p := compiled(t, hiding(fields))
		require.JSONEq(t, `{"type":"object","properties":{"desk":{"type":"string","description":"the desk","enum":["A1","B"]}},"required":["desk"]}`, string(p.ModelSchema()), what)
		require.Equal(t, "Which desk?", p.Ask("de\u200bsk"), what)
		require.Equal(t, "the desk", p.List()[0].Description, what)
		for _, sent := range []string{`{"desk":"A1"}`, hiding(`{"de~sk":"A~1"}`)} {
			reading := p.Read(values(t, sent))
			require.Empty(t, reading.Errors, what)
			require.Equal(t, map[string]any{"de\u200bsk": "A\u200b1"}, reading.Values, what)
			checked, faults := p.Check(values(t, sent))
			require.Empty(t, details(faults), what)
			require.Equal(t, map[string]any{"de\u200bsk": "A\u200b1"}, checked, what)
		}
		_, faults := p.Check(values(t, `{"desk":"C"}`))
		require.Len(t, faults, 1, what)
	}
}

// A visible name takes precedence over a hidden variation.
func TestNamesThatAreSeenAlikeStayApart(t *testing.T) {
	p := compiled(t, hiding(`"schema":[{"parameter":"desk","type":"string"},{"parameter":"de~sk","type":"string"}]`))
	checked, faults := p.Check(values(t, `{"desk":"A"}`))
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"desk": "A"}, checked)
}
