package evaldata_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/evaldata"
)

// written writes one case where the package reads it.
func written(t *testing.T, name, line string) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, name), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, name, "cases.jsonl"), []byte(strings.ReplaceAll(line, "\n", " ")+"\n"), 0o600))
	t.Setenv("EARSHOT_EVAL_DATA", folder)
}

func TestBFCLExpectsTheFirstAcceptedForms(t *testing.T) {
	written(t, "bfcl", `{"id":"c1","tools":[{"type":"function","function":{"name":"math.sum","description":"adds","parameters":{"type":"object","properties":{
		"numbers":{"type":"array"},"unit":{"type":"string","enum":["m","km"],"default":"m"},"label":{"type":"string","enum":["a"],"default":"none"},
		"round":{"type":"integer","default":2}}}}}],"messages":[{"role":"user","content":"add them"}],
		"possible_answer":[{"math.sum":{"numbers":[[9007199254740993,1.50]],"note":["",  "x"],"box":[{"w":[1,2],"h":[3]}],"none":[]}}]}`)
	cases := evaldata.BFCL(t)
	require.Len(t, cases, 1)
	require.Equal(t, []evaldata.Message{{Actor: "user", Text: "add them"}}, cases[0].Messages)
	require.Len(t, cases[0].Calls, 1)
	call := cases[0].Calls[0]
	require.Equal(t, "math_sum", call.Name)
	require.JSONEq(t, `{"numbers":[9007199254740993,1.50],"box":{"w":1,"h":3},"none":[]}`, call.Arguments(t))
	require.Contains(t, call.Arguments(t), "[9007199254740993,1.50]")
	require.Contains(t, string(cases[0].Body(t)), `"name":"math_sum"`)

	whole := cases[0].Complete(call)
	require.Equal(t, json.Number("2"), whole["round"])
	require.Equal(t, "m", whole["unit"])
	require.NotContains(t, whole, "label", "a default that its enum does not have is none")
}

func TestSGDSaysWhatAnUnfinishedCallLacks(t *testing.T) {
	written(t, "sgd", `{"id":"d1","tools":[{"name":"Book","description":"d","schema":[{"parameter":"day","type":"string","required":true},
		{"parameter":"people","type":"integer","required":true},{"parameter":"desk","type":"string","required":true,"allowedValues":["A","B"]},
		{"parameter":"pets","type":"boolean","required":false}]}],"history":[{"actor":"user","text":"for two, with pets"}],
		"expect":{"tool":null,"values":{},"intent":"Book","partial":{"people":["2","two"],"pets":["True"]}}}`)
	one := evaldata.SGD(t)[0]
	require.Empty(t, one.Calls)
	require.Equal(t, map[string]any{"people": json.Number("2"), "pets": true}, one.Unfinished.Values)
	require.Equal(t, []string{"day", "desk"}, one.Missing(*one.Unfinished))
	require.Equal(t, map[string]any{"day": "a value for day", "desk": "B"}, one.Rest(*one.Unfinished).Values)
}

func TestSGDNamesACallThatItsToolCannotTake(t *testing.T) {
	written(t, "sgd", `{"id":"d1","tools":[{"name":"Book","schema":[{"parameter":"day","type":"string","required":true}]}],"history":[{"actor":"user","text":"x"}],
		"expect":{"tool":"Book","values":{"people":2},"grounded":{"people":true,"desk":false}}}`)
	one := evaldata.SGD(t)[0]
	require.Contains(t, one.Contradiction, "lacks a value")
	require.Equal(t, []string{"people"}, one.Grounded)
	require.Nil(t, one.Unfinished)
}

func TestWithoutTheDataTestsAreSkipped(t *testing.T) {
	t.Setenv("EARSHOT_EVAL_DATA", "")
	skipped := false
	t.Run("reads", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		evaldata.SGD(t)
	})
	require.True(t, skipped)
}
