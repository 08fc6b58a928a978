package parameters_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/parameters"
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
		arguments, err := parameters.DecodeValues(raw)
		if err != nil {
			return
		}
		for _, p := range []*parameters.Parameters{lists, schema} {
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
		given, err := parameters.DecodeValues(raw)
		if err != nil {
			return
		}
		for _, p := range []*parameters.Parameters{lists, schema} {
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
