package parameters_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/fault"
)

// ofPets has a body with two required parts, and a parameter outside of it.
const ofPets = `"type":"http","source":"s","method":"PUT","path":"pets","requestBody":"{{json .}}",
	"queryParams":[{"name":"dry","type":"boolean","description":"d","required":false}],
	"bodyParams":[{"name":"id","type":"integer","description":"d","required":false},
		{"name":"name","type":"string","description":"the name","requiredInBody":true},
		{"name":"photos","type":"array","description":"d","items":{"type":"string","description":"d"},"requiredInBody":true}`

func TestBodyThatIsSentHasWhatIsRequiredInIt(t *testing.T) {
	repository, err := decodeOne(ofPets + "]")
	require.NoError(t, err)
	params := repository.Tools[0].Params()
	for _, given := range []map[string]any{
		{}, {"dry": true}, {"name": nil}, {"name": "Rex", "photos": []any{}}, {"name": "", "photos": []any{"a"}, "id": json.Number("1")},
	} {
		_, faults := params.Check(given)
		require.Empty(t, faults, given)
	}
	_, faults := params.Check(map[string]any{"id": json.Number("1"), "dry": true})
	require.Len(t, faults, 2)
	require.Equal(t, "name", faults[0].Parameter)
	require.Equal(t, "is required beside id: the body of the request has both", faults[0].Detail)
	require.Equal(t, fault.Missing, faults[0].Meant.Code)
	require.Equal(t, []string{"photos"}, params.Read(map[string]any{"name": "Rex"}).Missing)
	_, faults = params.Check(map[string]any{"name": json.Number("5"), "photos": []any{}})
	require.Len(t, faults, 1, "a value at fault is not missing as well")
	require.Contains(t, faults[0].Detail, "is not a string")

	require.Contains(t, string(params.ModelSchema()), `"the name (required if there is a value for any other part of the body)"`)
	require.NotContains(t, string(params.ModelSchema()), `"required"`)
	repository, err = decodeOne(ofPets + `,{"name":"kind","type":"string","description":"d","default":"dog"}]`)
	require.NoError(t, err)
	require.Equal(t, []string{"name", "photos"}, repository.Tools[0].Params().Read(nil).Missing, "a default is a value")
}

func TestRequiredInBodyIsRefusedWhereItSaysNothing(t *testing.T) {
	for tool, want := range map[string]string{
		`"parameters":[{"name":"a","type":"string","description":"d","requiredInBody":true}]`:             "/parameters/0/requiredInBody",
		ofPets + `,{"name":"b","type":"string","description":"d","required":true,"requiredInBody":true}]`: "/bodyParams/3/requiredInBody",
		`"schema":[{"parameter":"a","type":"string","requiredInBody":true}]`:                              "requiredInBody",
	} {
		_, err := decodeOne(tool)
		require.ErrorContains(t, err, want)
	}
}
