package parameters_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

// inEachLanguage decodes a tool with one parameter, day, in each of the three languages that
// parameters are given in, and shows it to check.
func inEachLanguage(t *testing.T, fields string, check func(t *testing.T, tool *repositories.Tool)) {
	t.Helper()
	for form, tool := range map[string]string{
		"SERMAS":      `"schema":[{"parameter":"day","required":true,` + fields + `}]`,
		"Toolbox":     `"parameters":[{"name":"day","description":"d",` + fields + `}]`,
		"JSON Schema": `"parameters":{"type":"object","properties":{"day":{` + fields + `}},"required":["day"]}`,
	} {
		t.Run(form, func(t *testing.T) {
			repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "a"}, "r", []byte(`{"tools":[{"name":"t",`+tool+`}]}`))
			require.NoError(t, err)
			check(t, &repository.Tools[0])
		})
	}
}

func TestAskIsTheQuestionOfTheFirstThatHasOne(t *testing.T) {
	inEachLanguage(t, `"type":"string","ask":"Which day suits you?"`, func(t *testing.T, tool *repositories.Tool) {
		require.Equal(t, "Which day suits you?", tool.Params().Ask("nobody", "day"))
		require.Empty(t, tool.Params().Ask("nobody"))
		require.Empty(t, tool.Params().Ask())
		require.NotContains(t, string(tool.Params().ModelSchema()), "suits", "a model is not told how a user is asked")
		require.Contains(t, string(tool.Given()), "Which day suits you?", "events carry the definition as it was given")
	})
}

func TestAskIsAText(t *testing.T) {
	for form, tool := range map[string]string{
		"SERMAS":  `"schema":[{"parameter":"city","type":"string","ask":{"de":"Wo?"}}]`,
		"Toolbox": `"parameters":[{"name":"city","type":"string","description":"d","ask":5}]`,
		"items":   `"schema":[{"parameter":"stops","type":"array","items":{"type":"string","ask":"Where?"}}]`,
	} {
		_, err := repositories.DecodeRepository(repositories.Scope{AppID: "a"}, "r", []byte(`{"tools":[{"name":"t",`+tool+`}]}`))
		require.ErrorContains(t, err, "ask", form)
	}
}
