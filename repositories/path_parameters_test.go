package repositories_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

func TestParametersOfThePathAreRequired(t *testing.T) {
	const list, object = `"schema":[{"parameter":"day","type":"string"},{"parameter":"desk","type":"string"}]`, `"parameters":{"type":"object","properties":{"day":{"type":["string","null"]},"desk":{"type":"string"}}}`
	for fields, want := range map[string][]string{
		`"url":"https://h/book/:day",` + list:                                                     {"day"},
		`"url":"https://h/book/:day",` + object:                                                   {"day"},
		`"url":"https://h/:appId/:day-:desk",` + list:                                             {"day", "desk"},
		`"url":"https://h/:desk?of=:day#:day",` + list:                                            {"desk"},
		`"url":"https://h/at/10:30?of=:day",` + list:                                              nil,
		`"request":{"url":"https://h/:day","method":"GET"},` + list:                               {"day"},
		`"url":"https://h/:appId","schema":[{"parameter":"appId","type":"string"}]`:               nil,
		`"url":"https://h/:2nd","schema":[{"parameter":"2nd","type":"string"}]`:                   {"2nd"},
		`"url":"https://h/:day","schema":[{"parameter":"day","type":"string","required":false}]`:  {"day"},
		`"url":"https://h/:day","schema":[{"parameter":"day","type":"string","default":"today"}]`: nil,
		`"url":"https://h/:day","schema":[{"parameter":"day","type":"string","value":"today"}]`:   nil,
		`"type":"http","source":"s","method":"GET","path":"/a/{{.day}}?b={{.desk}}","pathParams":[{"name":"day","type":"string","description":"d","required":false},{"name":"desk","type":"string","description":"d","required":false}]`: {"day"},
	} {
		tool, faults := decodeTool(t, `{"name":"t",`+fields+`}`)
		require.Empty(t, faults, fields)
		var shown struct{ Required []string }
		require.NoError(t, json.Unmarshal(tool.Params().ModelSchema(), &shown))
		require.Equal(t, want, shown.Required, fields)
		_, missing := tool.Params().Check(map[string]any{})
		require.Len(t, missing, len(want), fields)
		for _, name := range want {
			reading := tool.Params().Read(map[string]any{name: ""})
			require.Contains(t, reading.Missing, name, "a path has no place for an empty text")
			_, refused := tool.Params().Check(map[string]any{name: nil})
			require.Len(t, refused, len(want), "nor for null: %s", fields)
		}
	}
}

func TestParametersOfThePathThatProgramsAloneFillAreNoted(t *testing.T) {
	const hides = `: hides from models what stands in the path of the url: a message that calls for the tool is rejected, and programs alone can fire it; give a value or a default where messages are to`
	toolNotes(t, map[string]string{
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","ignore":true}]`:               "/tools/0/schema/0/ignore" + hides,
		`"url":"https://h/:d","parameters":{"properties":{"d":{"type":"string","ignore":true}}}`:        "/tools/0/parameters/properties/d/ignore" + hides,
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","value":""}]`:                  "",
		`"url":"https://h/?d=:d","schema":[{"parameter":"d","type":"string","ignore":true}]`:            "",
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","ignore":true,"default":"x"}]`: "",
	})
}

// An empty value, as SERMAS writes it, is none in a path: models are asked for it.
func TestEmptyValueOfAPathIsNone(t *testing.T) {
	tool, faults := decodeTool(t, `{"name":"t","url":"https://h/:d","schema":[{"parameter":"d","type":"string","value":""}]}`)
	require.Empty(t, faults)
	require.Contains(t, string(tool.Params().ModelSchema()), `"required":["d"]`)
	values, refused := tool.Params().Check(map[string]any{"d": "monday"})
	require.Empty(t, refused)
	require.Equal(t, map[string]any{"d": "monday"}, values)
}

func TestProgramFillsWhatIsHiddenInAPath(t *testing.T) {
	old := &repositories.Repository{Tools: []repositories.Tool{{
		Name: "t", URL: "https://h/:d", Schema: json.RawMessage(`[{"parameter":"d","type":"string","ignore":true}]`),
	}}}
	require.NoError(t, old.Compile())
	values, faults := old.Tools[0].Params().Check(map[string]any{"d": "monday"})
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"d": "monday"}, values)
	require.Equal(t, []string{"d"}, old.Tools[0].Params().Read(map[string]any{"d": "monday"}).Missing)
}
