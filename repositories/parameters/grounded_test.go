package parameters_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

func TestGroundedReachesTheViewAndNoModel(t *testing.T) {
	for form, tool := range map[string]string{
		"SERMAS":      `"schema":[{"parameter":"city","type":"string","grounded":true},{"parameter":"note","type":"string"}]`,
		"Toolbox":     `"parameters":[{"name":"city","type":"string","description":"d","grounded":true},{"name":"note","type":"string","description":"d"}]`,
		"JSON Schema": `"parameters":{"type":"object","properties":{"city":{"type":"string","grounded":true},"note":{"type":"string","grounded":false}}}`,
	} {
		body := `{"tools":[{"name":"t",` + tool + `}]}`
		repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "a"}, "r", []byte(body))
		require.NoError(t, err, form)
		params := repository.Tools[0].Params()
		require.NotContains(t, string(params.ModelSchema()), "grounded", form)
		grounded := map[string]bool{}
		for _, parameter := range params.List() {
			grounded[parameter.Name] = parameter.Grounded
		}
		require.Equal(t, map[string]bool{"city": true, "note": false}, grounded, form)
		require.Contains(t, string(repository.Tools[0].Given()), "grounded", form+": events carry the definition as it was given")
	}
}

func TestGroundedIsTrueOrFalse(t *testing.T) {
	for form, tool := range map[string]string{
		"SERMAS":      `"schema":[{"parameter":"city","type":"string","grounded":"yes"}]`,
		"Toolbox":     `"parameters":[{"name":"city","type":"string","description":"d","grounded":1}]`,
		"JSON Schema": `"parameters":{"type":"object","properties":{"city":{"grounded":"yes"}}}`,
		"items":       `"schema":[{"parameter":"stops","type":"array","items":{"type":"string","grounded":true}}]`,
	} {
		_, err := repositories.DecodeRepository(repositories.Scope{AppID: "a"}, "r", []byte(`{"tools":[{"name":"t",`+tool+`}]}`))
		require.ErrorContains(t, err, "grounded", form)
	}
}
