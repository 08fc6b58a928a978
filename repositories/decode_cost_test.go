//go:build !race

package repositories_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
)

// megabyte repeats a numbered part up to the maximum length of a body.
func megabyte(head, part, tail string) []byte {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < 1<<20-len(part)-len(tail)-16; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(part, "#", fmt.Sprint(i)))
	}
	return append([]byte(b.String()), tail...)
}

// allocated returns the bytes that a function allocates on the heap. With -race they are several times as many, because
// sync.Pool then drops items at random: so these tests are not built with it.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestABodyCostsLittleWhateverIsWrongWithIt(t *testing.T) {
	tool := func(inner string) string { return `{"tools":[{"name":"a",` + inner }
	for name, body := range map[string][]byte{
		"numbers for tools":      megabyte(`{"tools":[`, `1`, `]}`),
		"tools behind good ones": megabyte(`{"tools":[`+strings.Repeat(`{"name":"a"},`, 2000), `1`, `]}`),
		"empty functions":        megabyte(`{"tools":[`, `{"function":{}}`, `]}`),
		"unknown functions":      megabyte(`{"tools":[`, `{"function":{"a":1},"schema":{"Type":1}}`, `]}`),
		"empty tools":            megabyte(`{"tools":[`, `{}`, `]}`),
		"tools of one name":      megabyte(`{"tools":[`, `{"name":"a"}`, `]}`),
		"lists of lists":         megabyte(`{"tools":[`, `[[[[]]]]`, `]}`),
		"unknown fields":         megabyte(`{"tools":[],`, `"tolls#":1`, `}`),
		"unknown fields of one":  megabyte(tool(""), `"exmaples#":1`, `}]}`),
		"the same field":         megabyte(`{"tools":[],`, `"tools":[]`, `}`),
		"large numbers":          megabyte(`{"tools":[`, `1e99999`, `]}`),
		"parameters":             megabyte(tool(`"schema":[`), `1`, `]}]}`),
		"bad parameters":         megabyte(tool(`"schema":[`), `{"parameter":"#","type":"x"}`, `]}]}`),
		"services":               megabyte(tool(`"authRequired":[`), `"-"`, `]}]}`),
		"headers":                megabyte(tool(`"url":"https://h","request":{"headers":{`), `"a#":1`, `}}}]}`),
		"examples":               megabyte(tool(`"examples":[`), `1`, `]}]}`),
		"patterns":               megabyte(tool(`"schema":[{"parameter":"p","type":"string","allowedValues":[`), `"(a{1,90}#"`, `],"minValue":1}]}]}`),
		"a schema":               megabyte(tool(`"parameters":{"type":"object","properties":{`), `"a#":1`, `}}}]}`),
		"a schema of schemas":    megabyte(tool(`"parameters":{"type":"object","properties":{`), `"a#":{}`, `}}}]}`),
		"schemas of tools":       megabyte(`{"tools":[`, `{"name":"a#","parameters":{"type":"object","properties":{"a":{"type":"x"}}}}`, `]}`),
		"colons in a URL":        []byte(tool(`"url":"https://h/` + strings.Repeat(":a-a-a-a", 120000) + `"}]}`)),
		"hyphens in a URL":       []byte(tool(`"url":"https://h/:a` + strings.Repeat("-a", 500000) + `"}]}`)),
		"numbers of a rule":      megabyte(tool(`"schema":[{"parameter":"p","type":"number","allowedValues":[`), `1e9999`, `]}]}]}`),
		"parameters of one name": megabyte(tool(`"schema":[`), `{"parameter":"p","type":"string","minValue":1}`, `]}]}`),
		"nested repetitions":     megabyte(tool(`"schema":[{"parameter":"p","type":"string","allowedValues":[`), `"(([a-z]{1,9}){1,9}){1,9}#"`, `]}]}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			cost := allocated(func() { _, err = repositories.DecodeRepository(clinic, "booking", body) })
			var faults fault.List
			require.ErrorAs(t, err, &faults)
			listed, more := faults.Listed()
			require.LessOrEqual(t, len(listed), 100)
			if more > 0 {
				require.Contains(t, err.Error(), fmt.Sprintf("; and there are %d more errors", more))
			}
			require.Less(t, cost, uint64(200<<20), "%d MiB", cost>>20)
		})
	}
}

func TestValuesCostLittleWhateverIsWrongWithThem(t *testing.T) {
	r, err := repositories.DecodeRepository(clinic, "booking", []byte(`{"tools":[
		{"name":"a","parameters":{"type":"object","properties":{"l":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object"}]}}}}},
		{"name":"b","schema":[`+numbered(100, `{"parameter":"parameter-#","type":"string"}`)+`]}]}`))
	require.NoError(t, err)
	for i, body := range [][]byte{megabyte(`{"l":[`, `1`, `]}`), megabyte(`{`, `"parametre-#":1`, `}`)} {
		values, err := parameters.DecodeValues(body)
		require.NoError(t, err)
		var faults []parameters.ValueFault
		cost := allocated(func() { _, faults = r.Tools[i].Params().Check(values) })
		require.NotEmpty(t, faults)
		require.Less(t, cost, uint64(150<<20), "%d: %d MiB", i, cost>>20)
	}
}
