package files_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func quoted(t *testing.T, value string) []byte {
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

func TestScalarsAreReadAsYAMLSays(t *testing.T) {
	for value, want := range map[string]string{
		"5": "5", "-5": "-5", "+5": "5", "1.50": "1.50", "0x1F": "31", "1_000": "1000", "1e3": "1e3", ".5": "0.5",
		"123456789012345678901234567890": "123456789012345678901234567890", "9007199254740993": "9007199254740993",
		"true": "true", "False": "false", "~": "null", "": "null", "null": "null", "yes": `"yes"`, "12:30": `"12:30"`, "2026-12-01": `"2026-12-01"`,
		"'5'": `"5"`, `"\u00e9\t"`: `"é\t"`, "!!str 5": `"5"`, "!!int '5'": "5", "a b": `"a b"`, ">-\n    a\n    b\n": `"a b"`,
		"[a, 1, {b: [~]}]": `["a",1,{"b":[null]}]`, "{1: a, true: b}": `{"1":"a","true":"b"}`, "{}": "{}", "[]": "[]",
	} {
		require.Equal(t, want, fixed(t, value), value)
	}
}

func TestWhatYAMLCanSayAndJSONCannotIsAFault(t *testing.T) {
	for value, want := range map[string]string{
		".inf": ".inf is no number that JSON can hold", "*nowhere": "the alias *nowhere names nothing that stands before it",
		"!custom x": "the tag !custom has no meaning here", "{<<: 5}": "<< merges maps, and this is a number", "&a [*a]": "the alias *a names nothing",
		"{[1]: 2}": "",
	} {
		_, err := read(t, "kind: tool\nname: x\nexamples: "+value+"\n")
		require.ErrorContains(t, err, want, value)
		require.ErrorContains(t, err, "t.yaml:3:", value)
	}
}

func TestAliasesCannotExpandWithoutEnd(t *testing.T) {
	bomb := "kind: tool\nname: x\nexamples:\n- &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		alias := "*a" + string(rune('0'+i))
		bomb += "- &a" + string(rune('1'+i)) + " [" + strings.Repeat(alias+", ", 9) + alias + "]\n"
	}
	_, err := read(t, bomb)
	require.ErrorContains(t, err, "t.yaml:1:1: the aliases of the document expand to more than 100000 values")
}

func TestWhatWouldTakeTheParserLongIsRefused(t *testing.T) {
	for name, file := range map[string]string{
		"brackets": "a: " + strings.Repeat("[", 100_000), "dashes": strings.Repeat("- ", 100_000), "keys": strings.Repeat("a: b\n", 100_000),
		"questions": strings.Repeat("? ", 100_000), "anchors": strings.Repeat("&a ", 100_000), "tags": strings.Repeat("!!a ", 100_000),
		"braces": strings.Repeat("{a: ", 100_000), "steps": steps(1400),
	} {
		_, err := read(t, file)
		require.Error(t, err, name)
	}
}

// steps is a map in a map, and so on.
func steps(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}
