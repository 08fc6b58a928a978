package repositories_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// FuzzDecodeRepository feeds the door: it answers with a repository that can be read
// back or with faults, and never falls over.
func FuzzDecodeRepository(f *testing.F) {
	for _, seed := range []string{
		booking, `{"tools":[{"name":"t","parameters":{"type":"object","properties":{"to":{"type":"string","enum":["Rome"]},"seats":{"type":"integer","default":1}},"required":["to"]}}]}`,
		`{"tools":[{"name":"t","schema":[{"parameter":"s","type":"string","allowedValues":["a","[0-9]{2,}","[abc"],"excludedValues":["99"]},{"parameter":"m","type":"map","valueType":"integer"},{"parameter":"l","type":"array","items":{"type":"array","items":{"type":"string"}}},{"parameter":"v","type":"integer","value":5}]}]}`,
		`{`, `[]`, `{"tools":[null,5]}`,
		`{"tools":[{"name":"t","url":"https://h/:x","request":{"bearer":{"tokenUrl":":"},"headers":{"a":"b"}}}]}`,
		`{"tools":[{"name":"t","schema":[{"parameter":"a","type":"array","items":{"type":"array"},"default":[[1e9]]}]}]}`,
		`{"tools":[{"name":"t","type":"sqlite-sql","source":"s","statement":"select {{array .a}}","templateParameters":[{"name":"a","type":"array","description":"d","items":{"type":"string"}}]}]}`,
		`{"tools":[{"name":"t","type":"http","source":"s","method":"put","path":"/{{.a}}","requestBody":"{{json .b}}","pathParams":[{"name":"a","type":"string","description":"d"}],"bodyParams":[{"name":"b","type":"map","description":"d"}],"headers":{"content-type":"text/xml"}}]}`,
		`{"tools":[{"name":"t","examples":["[two](s) at [x](m)","[a](b"],"schema":[{"parameter":"s","type":"integer"}]}]}`,
		`{"tools":[{"name":"t","parameters":{"$ref":"#","properties":{"~1/":{"default":null}}}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := repositories.DecodeRepository(clinic, "booking", body)
		if err != nil {
			var faults fault.List
			require.True(t, errors.As(err, &faults))
			require.NotEmpty(t, faults)
			return
		}
		stored, err := json.Marshal(r)
		require.NoError(t, err)
		var record repositories.Repository
		require.NoError(t, json.Unmarshal(stored, &record))
		require.NoError(t, record.Compile(), "what the door lets in, the store can read: %s", body)
		for i := range record.Tools {
			record.Tools[i].Params().Read(map[string]any{"date": "x", "i": "5"})
		}
	})
}
