package repositories_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/unraced"
)

// fill repeats a part, numbered, until the body is a quarter of a megabyte long.
func fill(head, part, tail string) string {
	const most = 1 << 18
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < most-len(part)-len(tail)-16; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(part, "#", fmt.Sprint(i)))
	}
	b.WriteString(tail)
	return b.String()
}

func TestDecodeRepositoryAnswersWhateverIsSent(t *testing.T) {
	unraced.Only(t)
	for name, body := range map[string]string{
		"empty tools":       fill(`{"tools":[`, `{}`, `]}`),
		"numbers for tools": fill(`{"tools":[`, `1`, `]}`),
		"unknown fields":    fill(`{"tools":[],`, `"descriptionnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn#":1`, `}`),
		"a field again":     fill(`{"tools":[],`, `"tools":[]`, `}`),
		"one name":          fill(`{"tools":[`, `{"name":"a"}`, `]}`),
		"large numbers":     fill(`{"tools":[{"name":"a","schema":[{"parameter":"p","type":"number","allowedValues":[`, `1e9999`, `]}]}]}`),
		"bad parameters":    fill(`{"tools":[{"name":"a","schema":[`, `{"parameter":"#","type":"x"}`, `]}]}`),
		"same parameters":   fill(`{"tools":[{"name":"a","schema":[`, `{"parameter":"p","type":"string","minValue":1}`, `]}]}`),
		"colons in the URL": `{"tools":[{"name":"a","url":"https://h/` + strings.Repeat(":a-a-a-a", 32000) + `"}]}`,
		"hyphens":           `{"tools":[{"name":"a","url":"https://h/:a` + strings.Repeat("-a", 125000) + `"}]}`,
		"regular expressions": fill(`{"tools":[{"name":"a","schema":[{"parameter":"p","type":"string","allowedValues":[`,
			`"(([a-z]{1,9}){1,9}){1,9}#"`, `]}]}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := repositories.DecodeRepository(clinic, "booking", []byte(body))
			if err != nil {
				var faults fault.List
				require.ErrorAs(t, err, &faults)
				listed, more := faults.Listed()
				require.LessOrEqual(t, len(listed), fault.Most)
				if more > 0 {
					require.Contains(t, err.Error(), fmt.Sprintf("; and there are %d more faults", more))
				}
			}
		})
	}
}
