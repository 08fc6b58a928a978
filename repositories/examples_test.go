package repositories_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/annotations"
)

const table = `"schema":[
	{"parameter":"people","type":"integer","minValue":1,"maxValue":20},
	{"parameter":"time","type":"string"},
	{"parameter":"room","type":"string","allowedValues":["garden","hall"],"aliases":{"garden":["outside"]}},
	{"parameter":"length","type":"number","unit":"minutes"},
	{"parameter":"code","type":"string","allowedValues":["[0-9]{4}"]},
	{"parameter":"dishes","type":"array","items":{"type":"string","allowedValues":["soup","fish"]}}]`

func TestMarksOfExamplesAreHeldAgainstTheirParameters(t *testing.T) {
	example := func(text string) string { return `"examples":["a table","` + text + `"],` + table }
	toolFaults(t, map[string]string{
		example(`a table for [two](people) at [noon](time)`):        ``,
		example(`[twenty](people) of us, [ 4 ](people) inside`):     ``,
		example(`[outside](room) for [two hours](length)`):          ``,
		example(`[Garden](room), [ninety](length), [fish](dishes)`): ``,
		example(`press [OK], see [1]`):                              ``,
		example(`see \\[here](https://example.org)`):                ``,
		example(`for [blue](people)`):                               `/examples/1: "blue" is marked as people: "blue" is not an integer`,
		example(`for [twenty one](people)`):                         `/examples/1: "twenty one" is marked as people: "twenty one" is not an integer`,
		example(`for [99](people)`):                                 `/examples/1: "99" is marked as people: 99 is above the maximum of 20`,
		example(`for [two or three](people)`):                       `/examples/1: "two or three" is marked as people: "two or three" is not an integer`,
		example(`in the [cellar](room)`):                            `/examples/1: "cellar" is marked as room: "cellar" is not an allowed value; allowed: "garden", "hall"`,
		example(`for [3 kg](length)`):                               `/examples/1: "3 kg" is marked as length: "3 kg" does not convert to minutes`,
		example(`a table for [two](persons)`):                       `/examples/1: "two" is marked as "persons", which is no parameter of the tool`,
		example(`a table for [two](peopel)`):                        `/examples/1: "two" is marked as "peopel", which is no parameter of the tool; did you mean "people"?`,
		example(`see [here](https://example.org)`):                  `/examples/1: "here" is marked as "https://example.org", which is no parameter of the tool; write \[ for a bracket that is meant as it is`,
		example(`[](people)`):                                       `/examples/1: marks no words as "people"`,
		`"examples":["[Rome](to) or [Oslo](to)"],"parameters":{"type":"object","properties":{"to":{"type":"string","enum":["Rome"]}}}`: `/examples/0: "Oslo" is marked as to: "Oslo" is not one of "Rome"`,
		`"examples":["[` + strings.Repeat(`x](time) [`, 1001) + `"],` + table:                                                          `/examples: mark 1001 values; a tool marks at most 1000`,
	})
}

func TestAllMarksAtFaultAreNamedAtOnce(t *testing.T) {
	_, faults := decodeTool(t, `{"name":"t","examples":["[x](a) [y](people)","[z](b)"],`+table+`}`)
	require.Len(t, faults, 3)
}

func TestExamplesAreKeptAsGivenAndReadInPlainWords(t *testing.T) {
	const given = `["a table","a table for [two](people) at [noon](time)","[outside](room), [ninety](length) long","code [four seven one one](time), [1234](code)"]`
	tool, faults := decodeTool(t, `{"name":"t","examples":`+given+`,`+table+`}`)
	require.Empty(t, faults)
	kept, err := json.Marshal(tool.Examples)
	require.NoError(t, err)
	require.JSONEq(t, given, string(kept))
	require.Equal(t, []string{"a table", "a table for two at noon", "outside, ninety long", "code four seven one one, 1234"}, tool.Spoken())
	require.Len(t, tool.Marked(), 3)
	require.Equal(t, annotations.Example{Text: "a table for two at noon", Marks: []annotations.Mark{
		{Parameter: "people", From: 12, To: 15, Value: json.Number("2")}, {Parameter: "time", From: 19, To: 23, Value: "noon"},
	}}, tool.Marked()[0])
	require.Equal(t, "garden", tool.Marked()[1].Marks[0].Value)
	require.Equal(t, json.Number("90"), tool.Marked()[1].Marks[1].Value)
}

// A record that was written before there were marks has brackets that mean nothing.
func TestAnOldRecordWithBracketsIsReadAsItIs(t *testing.T) {
	var record repositories.Repository
	require.NoError(t, json.Unmarshal([]byte(`{"tools":[{"name":"t","examples":["see [here](https://h) for [two](people)","[lots](people)","[1]"],`+table+`}]}`), &record))
	require.NoError(t, record.Compile())
	require.Equal(t, []string{"see [here](https://h) for two", "[lots](people)", "[1]"}, record.Tools[0].Spoken())
}
