package files_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

// tool returns what the description of a tool becomes, as JSON.
func described(t *testing.T, value string, env ...string) string {
	t.Helper()
	set := mustRead(t, "kind: tool\nname: x\nparameters: {type: object, properties: {a: {}}}\nschema: null\nexamples: []\ndescription: "+value+"\n", env...)
	body := bodies(set)["default"]
	const head, tail = `{"tools":[{"name":"x","parameters":{"type":"object","properties":{"a":{}}},"schema":null,"examples":[],"description":`, `}]}`
	return body[len(head) : len(body)-len(tail)]
}

// fixed returns what a static value of any type becomes, as JSON.
func fixed(t *testing.T, value string, env ...string) string {
	t.Helper()
	set, err := read(t, "kind: tool\nname: x\nschema:\n- parameter: a\n  type: string\n  value: "+value+"\n", env...)
	_ = err // the value may not be of the type; what it was read as is asked here
	const head, tail = `{"tools":[{"name":"x","schema":[{"parameter":"a","type":"string","value":`, `}]}]}`
	body := bodies(set)["default"]
	return body[len(head) : len(body)-len(tail)]
}

func TestPlaceholdersAreFilledInInValues(t *testing.T) {
	for _, test := range []struct{ value, env, want string }{
		{"${A}", "A=text", `"text"`},
		{"a ${A} b ${A}", "A=1", `"a 1 b 1"`},
		{"${B:default}", "", `"default"`},
		{"${B:https://x:80/}", "", `"https://x:80/"`},
		{"${B:a: b #c}", "", `"a: b #c"`},
		{"'${A}'", "A=5", `"5"`},
		{`"${A}\n"`, "A=5", `"5\n"`},
		{"|\n  x ${A}\n  y", "A=1", `"x 1\ny\n"`},
		{"x${A}", "A=", `"x"`},
		{"x${A:set}", "A=", `"x"`},
		{"x${A:}", "", `"x"`},
		{"$A ${-} ${A-b} $${A}", "A=1", `"$A ${-} ${A-b} $1"`},
		{"é ${A}", "A=ü", `"é ü"`},
	} {
		require.Equal(t, test.want, described(t, test.value, test.env), test.value)
	}
}

func TestAPlaceholderThatIsAllOfAnUnquotedValueHasTheTypeOfWhatItStandsFor(t *testing.T) {
	for _, test := range []struct{ value, env, want string }{
		{"${A}", "A=5432", "5432"}, {"${A:5432}", "", "5432"}, {"${A}", "A=true", "true"}, {"${A}", "A=null", "null"},
		{"${A}", "A=", "null"}, {"${A}", "A=0x10", "16"}, {"${A}", "A=1e3", "1e3"},
		{"'${A}'", "A=5432", `"5432"`}, {"5${A}", "A=4", `"54"`}, {"[${A}, '${A}']", "A=1", `[1,"1"]`}, {"{k: ${A:x}}", "", `{"k":"x"}`},
	} {
		require.Equal(t, test.want, fixed(t, test.value, test.env), test.value)
	}
}

func TestVariablesNeverReachIntoTheStructure(t *testing.T) {
	for _, hostile := range []string{"a: b", "[1, 2]", "{a: 1}", "x\nname: y", "\"", "# x", "*a", "!!int 5", "- a", "| x", "---"} {
		require.Equal(t, string(quoted(t, hostile)), fixed(t, "${A}", "A="+hostile))
	}
}

func TestATextIsWhatIsWrittenWhereATextIsWanted(t *testing.T) {
	require.Equal(t, `"0123"`, described(t, "0123"))
	require.Equal(t, `"0123"`, described(t, "${A}", "A=0123"))
	require.Equal(t, `"TRUE"`, described(t, "TRUE"))
	set := mustRead(t, "kind: tool\nname: 5\nurl: https://a/\nrequest: {basic: {username: 1, password: ${PW}}, headers: {X-N: 1.50}}\n", "PW=1e3")
	require.Equal(t, `{"tools":[{"name":"5","url":"https://a/","request":{"basic":{"username":"1","password":"1e3"},"headers":{"X-N":"1.50"}}}]}`, bodies(set)["default"])
}

func TestAllMissingVariablesAreNamedAtOnceWithTheirPlace(t *testing.T) {
	folder(t, map[string]string{
		"a.yaml": "# ${COMMENT}\nkind: tool\nname: x\ndescription: |\n  first\n  é ${ONE} and ${TWO}\nurl: \"https://${THREE}/\" # ${COMMENT}\nexamples: [${ONE}]\n",
		"b.json": "{\"kind\": \"tool\",\n \"name\": \"y\", \"description\": \"${FOUR}\"}",
	})
	_, err := files.Read([]string{"a.yaml", "b.json"}, files.Options{Lookup: variables()})
	const missing = ` is not set; `
	found := faults(t, err)
	for i, want := range []string{`a.yaml:6:5: environment variable "ONE"`, `a.yaml:6:16: environment variable "TWO"`, `a.yaml:7:15: environment variable "THREE"`, `a.yaml:8:12: environment variable "ONE"`} {
		require.Contains(t, found[i], want+missing)
	}
	require.Equal(t, `b.json:2:30: environment variable "FOUR" is not set; ${FOUR:default} gives it a default`, found[len(found)-1])
}

func TestKeysAndCommentsAreNotFilledIn(t *testing.T) {
	set := mustRead(t, "kind: tool # ${NONE}\nname: x\n# ${NONE}\nparameters:\n  type: object\n  properties:\n    ${A}: {type: string}\n", "A=b")
	require.Contains(t, bodies(set)["default"], `{"${A}":{"type":"string"}}`)
}
