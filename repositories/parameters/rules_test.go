package parameters_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/parameters"
)

// rule is a value that a parameter's rules let through or not.
type rule struct {
	fields, value string
	fault         string // empty: let through
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
		require.Equal(t, map[string]any{"p": want, "q": said}, list.Escaped(map[string]any{"p": said, "q": said}), escape)
		require.Equal(t, said, out["p"], "it is left as it is")
	}
}

// escaping is a list of one string parameter, p, with more fields.
func escaping(fields string) parameters.List {
	return parameters.Template.Of(json.RawMessage(`[{"name":"p","type":"string","description":"d",` + fields + `}]`))
}

func TestEscapeReachesItems(t *testing.T) {
	list := parameters.SERMAS.Of(json.RawMessage(`[{"parameter":"p","type":"array","items":{"type":"array","items":{"type":"string","escape":"double-quotes"}}},{"parameter":"n","type":"integer"}]`))
	said := values(t, `{"p":[["a","b\"c"]],"n":5}`)
	require.Equal(t, map[string]any{"p": []any{[]any{`"a"`, `"b""c"`}}, "n": json.Number("5")}, list.Escaped(said))
	require.Equal(t, values(t, `{"p":[["a","b\"c"]],"n":5}`), said)
	require.Equal(t, `"id"`, escaping(`"\u0065scape":"double-quotes"`).Escaped(map[string]any{"p": "id"})["p"], "however its name is written")
}
