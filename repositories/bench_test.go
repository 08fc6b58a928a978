package repositories_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

// hundred is a repository of 100 tools, every fourth with a JSON Schema.
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

// BenchmarkCompile is the cost of a repository that comes from the store; the goal is
// under 10 ms for 100 tools.
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

// BenchmarkDecode is the cost of the same repository at the door.
func BenchmarkDecode(b *testing.B) {
	body, err := json.Marshal(hundred(b))
	require.NoError(b, err)
	for b.Loop() {
		if _, err := repositories.DecodeRepository(clinic, "r", body); err != nil {
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
