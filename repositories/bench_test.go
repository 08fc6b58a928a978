package repositories_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// hundred returns a repository of 100 tools, every fourth with a JSON Schema.
func hundred(b *testing.B) *repositories.Repository {
	b.Helper()
	var tools []string
	for i := range 100 {
		parameters := `"schema":[{"parameter":"to","type":"string","description":"where to","required":true},
		  {"parameter":"class","type":"string","allowedValues":["Economy","Business"],"default":"Economy"},
		  {"parameter":"seats","type":"integer","minValue":1,"maxValue":9},
		  {"parameter":"tags","type":"array","items":{"type":"string","allowedValues":["[a-z]+"]}}]`
		if i%4 == 0 {
			parameters = `"parameters":{"type":"object","properties":{"to":{"type":"string"},"class":{"type":"string","enum":["Economy","Business"]},
			  "seats":{"type":"integer","minimum":1,"maximum":9},"tags":{"type":"array","items":{"type":"string"}}},"required":["to"]}`
		}
		tools = append(tools, fmt.Sprintf(`{"name":"tool-%d","description":"d",%s}`, i, parameters))
	}
	r, err := repositories.DecodeRepository(clinic, "r", []byte(`{"tools":[`+strings.Join(tools, ",")+`]}`))
	require.NoError(b, err)
	return r
}

// BenchmarkCompile measures a repository from the store; the goal is under 10 ms for 100 tools.
func BenchmarkCompile(b *testing.B) {
	stored, err := json.Marshal(hundred(b))
	require.NoError(b, err)
	var record repositories.Repository
	require.NoError(b, json.Unmarshal(stored, &record))
	for b.Loop() {
		if err := record.Compile(); err != nil {
			b.Fatal(err)
		}
	}
}

// The goal for the values of one call is under 20 µs.

func BenchmarkReadOfAList(b *testing.B)    { benchmarkRead(b, 1) }
func BenchmarkReadOfASchema(b *testing.B)  { benchmarkRead(b, 0) }
func BenchmarkCheckOfAList(b *testing.B)   { benchmarkCheck(b, 1) }
func BenchmarkCheckOfASchema(b *testing.B) { benchmarkCheck(b, 0) }

func benchmarkRead(b *testing.B, tool int) {
	p := hundred(b).Tools[tool].Params()
	arguments := map[string]any{"to": "Rome", "class": "business", "seats": "5", "tags": []any{"a", "b", "c"}}
	for b.Loop() {
		if got := p.Read(arguments); len(got.Errors) > 0 {
			b.Fatal(got.Errors)
		}
	}
}

func benchmarkCheck(b *testing.B, tool int) {
	p := hundred(b).Tools[tool].Params()
	given := map[string]any{"to": "Rome", "class": "Business", "seats": json.Number("5"), "tags": []any{"a", "b", "c"}}
	for b.Loop() {
		if _, faults := p.Check(given); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}

// FuzzDecodeRepository checks that the decoder returns faults or a repository that can be read back, and never
// panics.
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
