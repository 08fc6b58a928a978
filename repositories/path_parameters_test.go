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

func TestParametersOfThePathThatNobodyFills(t *testing.T) {
	toolFaults(t, map[string]string{
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","ignore":true}]`:               `/schema/0/ignore: nobody fills the parameter, which stands in the path of the url: give it a value or a default`,
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","value":""}]`:                  `/schema/0/value: is empty, and the parameter stands in the path of the url, which has no place for an empty value`,
		`"url":"https://h/:d","parameters":{"properties":{"d":{"type":"string","ignore":true}}}`:        `/parameters/properties/d/ignore: nobody fills the parameter, which stands in the path of the url: give it a value or a default`,
		`"url":"https://h/?d=:d","schema":[{"parameter":"d","type":"string","ignore":true}]`:            ``,
		`"url":"https://h/:d","schema":[{"parameter":"d","type":"string","ignore":true,"default":"x"}]`: ``,
	})
}

// TestOlderToolsKeepTheirPrograms: what was taken before such a parameter was refused still
// loads, and a program may still give its value.
func TestOlderToolsKeepTheirPrograms(t *testing.T) {
	old := &repositories.Repository{Tools: []repositories.Tool{{
		Name: "t", URL: "https://h/:d", Schema: json.RawMessage(`[{"parameter":"d","type":"string","ignore":true}]`),
	}}}
	require.NoError(t, old.Compile())
	values, faults := old.Tools[0].Params().Check(map[string]any{"d": "monday"})
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"d": "monday"}, values)
	require.Equal(t, []string{"d"}, old.Tools[0].Params().Read(map[string]any{"d": "monday"}).Missing)
}
