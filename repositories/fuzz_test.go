package repositories_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// fuzzed are the parameters that the fuzz targets send values to: one of every kind,
// without escape, which changes a value so that it need not pass again.
const fuzzed = `"schema":[
 {"parameter":"s","type":"string","allowedValues":["a","B c","[0-9]{2,}","[abc"],"excludedValues":["99"]},
 {"parameter":"i","type":"integer","minValue":-10,"maxValue":9007199254740993},
 {"parameter":"n","type":"number","excludedValues":[1.50,"^7"]},
 {"parameter":"f","type":"float","allowedValues":[1,2.5,"3.*"]},
 {"parameter":"b","type":"boolean","required":true},
 {"parameter":"o","type":"object"},
 {"parameter":"m","type":"map","valueType":"integer"},
 {"parameter":"l","type":"array","items":{"type":"array","items":{"type":"string","allowedValues":["x","Y"]}}},
 {"parameter":"d","type":"string","default":"z"},
 {"parameter":"v","type":"integer","value":5},
 {"parameter":"h","type":"string","ignore":true}]`

func seedValues(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"b":true}`, `{"s":"b C","i":"5","n":1e2,"f":"2.50","b":"True","o":"{}","m":{"a":"1"},"l":"x","D":"y","v":1,"h":"q"}`,
		`{"b":true,"n":1e999999999,"l":[["x"],["y",null]],"m":{"":-0}}`, `{"b":true,"to":"Rome","seats":"2","budget":null,"stops":{"city":1},"when":{"day":"3.0"}}`,
		`{"b":"null","s":" 12 ","i":5.0,"n":7,"S":"a"}`, `null`, `[`,
	} {
		f.Add([]byte(seed))
	}
}

// FuzzRead holds the promise about models: what Read lets through passes the strict
// check, and a fault is never in the values.
func FuzzRead(f *testing.F) {
	seedValues(f)
	lists, schema := compiled(f, fuzzed), compiled(f, trip)
	f.Fuzz(func(t *testing.T, raw []byte) {
		arguments, err := repositories.DecodeValues(raw)
		if err != nil {
			return
		}
		for _, p := range []*repositories.Parameters{lists, schema} {
			got := p.Read(arguments)
			for _, fault := range got.Errors {
				require.NotContains(t, got.Values, fault.Parameter)
			}
			if len(got.Errors) == 0 {
				again, faults := p.Check(got.Values)
				require.Empty(t, faults, "%s became %v", raw, got.Values)
				require.Equal(t, got.Values, again)
			}
		}
	})
}

// FuzzCheck holds the promise about programs: what Check lets through comes out as it
// went in, and passes again.
func FuzzCheck(f *testing.F) {
	seedValues(f)
	lists, schema := compiled(f, fuzzed), compiled(f, trip)
	f.Fuzz(func(t *testing.T, raw []byte) {
		given, err := repositories.DecodeValues(raw)
		if err != nil {
			return
		}
		for _, p := range []*repositories.Parameters{lists, schema} {
			out, faults := p.Check(given)
			if len(faults) > 0 {
				continue
			}
			for name, value := range given {
				if value != nil && name != "v" && name != "agency" {
					require.Equal(t, value, out[name])
				}
			}
			again, faults := p.Check(out)
			require.Empty(t, faults)
			require.Equal(t, out, again)
		}
	})
}

// FuzzDecodeRepository feeds the door: it answers with a repository that can be read
// back or with faults, and never falls over.
func FuzzDecodeRepository(f *testing.F) {
	for _, seed := range []string{
		booking, `{"tools":[{"name":"t",` + trip + `}]}`, `{"tools":[{"name":"t",` + fuzzed + `}]}`, `{`, `[]`, `{"tools":[null,5]}`,
		`{"tools":[{"name":"t","url":"https://h/:x","request":{"bearer":{"tokenUrl":":"},"headers":{"a":"b"}}}]}`,
		`{"tools":[{"name":"t","schema":[{"parameter":"a","type":"array","items":{"type":"array"},"default":[[1e9]]}]}]}`,
		`{"tools":[{"name":"t","type":"sqlite-sql","source":"s","statement":"select {{array .a}}","templateParameters":[{"name":"a","type":"array","description":"d","items":{"type":"string"}}]}]}`,
		`{"tools":[{"name":"t","type":"http","source":"s","method":"put","path":"/{{.a}}","requestBody":"{{json .b}}","pathParams":[{"name":"a","type":"string","description":"d"}],"bodyParams":[{"name":"b","type":"map","description":"d"}],"headers":{"content-type":"text/xml"}}]}`,
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
