package files_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/files"
)

func TestPrebuiltToolsNeedTheVariablesOfToolbox(t *testing.T) {
	for name, needs := range map[string]string{
		"postgres": "POSTGRES_HOST POSTGRES_DATABASE POSTGRES_USER POSTGRES_PASSWORD", "mysql": "MYSQL_DATABASE MYSQL_USER MYSQL_PASSWORD", "sqlite": "SQLITE_DATABASE",
	} {
		asked := map[string]bool{}
		set, err := files.Read([]string{files.Prebuilt + name}, files.Options{Lookup: func(variable string) (string, bool) {
			asked[variable] = true
			return "4711", strings.Contains(needs, variable)
		}})
		require.NoError(t, err)
		require.NoError(t, set.Check())
		require.Equal(t, name, set.AppID)
		require.Empty(t, set.Notes)
		for variable := range strings.FieldsSeq(needs) {
			require.True(t, asked[variable], variable)
		}
		_, err = files.Read([]string{files.Prebuilt + name}, files.Options{Lookup: func(string) (string, bool) { return "", false }})
		require.ErrorContains(t, err, strings.Fields(needs)[0])
	}
	_, err := files.Read([]string{files.Prebuilt + "postgre"}, files.Options{})
	require.ErrorContains(t, err, `there is no such prebuilt: postgres, mysql or sqlite; did you mean "postgres"?`)
}

func TestOpenTemplateParametersAreNoted(t *testing.T) {
	const tool = `{"tools":[{"name":"rows","description":"d","type":"postgres-sql","source":"pg","statement":"select 1","templateParameters":[`
	for parameter, open := range map[string]bool{
		`"type":"string"`: true, `"type":"string","excludedValues":["x"]`: true, `"type":"array","items":{"type":"string","name":"i","description":"d"}`: true,
		`"type":"string","escape":"backticks"`: false, `"type":"string","allowedValues":["a"]`: false, `"type":"integer"`: false, `"type":"string","value":"a"`: false,
		`"type":"array","items":{"type":"string","name":"i","description":"d","escape":"backticks"}`: false,
	} {
		r, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(tool+`{"name":"p","description":"d",`+parameter+`}]}]}`))
		require.NoError(t, err)
		if !open {
			require.Empty(t, r.NotesInWords(), parameter)
			continue
		}
		require.Len(t, r.NotesInWords(), 1, parameter)
		require.Contains(t, r.NotesInWords()[0], `tool "rows": templateParameters/0 has neither allowedValues nor escape`)
	}
}
