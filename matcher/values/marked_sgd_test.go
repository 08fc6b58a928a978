package values_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/datetime"
	"earshot/matcher/matchertest"
	"earshot/matcher/values"
	"earshot/repositories/unraced"
)

// turn is what a user said of a tool, with the values in it in the words that were said.
type turn struct {
	text  string
	said  map[string]string
	forms map[string][]string // of all values of the conversation
}

// annotated writes the turn as an example with marks.
func (u turn) annotated() string {
	marked := u.text
	for name, words := range u.said {
		marked = strings.Replace(marked, words, "["+words+"]("+name+")", 1)
	}
	return marked
}

// TestMarkedValuesOfSGD gives each tool up to ten annotated turns of other conversations, with
// every parameter a plain text: what is read then, the marks have taught.
func TestMarkedValuesOfSGD(t *testing.T) {
	unraced.Only(t)
	turns, tools := map[string][2][]turn{}, map[string]map[string]any{}
	for i, c := range matchertest.Lines[sgdCase](t, filepath.Join(matchertest.Data(t), "sgd", "cases.jsonl")) {
		if c.Expect.Tool == nil {
			continue
		}
		key := c.Service + " " + *c.Expect.Tool
		parts := turns[key]
		parts[i%2] = append(parts[i%2], c.turns()...)
		turns[key] = parts
		for _, tool := range c.Tools {
			if tool["name"] == *c.Expect.Tool {
				tools[key] = tool
			}
		}
	}
	var plain, marked figures
	for _, name := range slices.Sorted(keysOf(turns)) {
		for held := range 2 {
			train, test := turns[name][1-held], turns[name][held]
			count(t, &plain, tools[name], nil, test)
			count(t, &marked, tools[name], train[:min(10, len(train))], test)
		}
	}
	t.Logf("without marks: %v", plain)
	t.Logf("annotated: %v", marked)
	require.GreaterOrEqual(t, marked.precision(), 0.8)
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

type sgdCase struct {
	Service string                         `json:"service"`
	Tools   []map[string]any               `json:"tools"`
	History []struct{ Actor, Text string } `json:"history"`
	Expect  struct {
		Tool   *string             `json:"tool"`
		Accept map[string][]string `json:"accept"`
	} `json:"expect"`
}

// turns are the user's, of which each says a value.
func (c sgdCase) turns() []turn {
	var all []turn
	for _, one := range c.History {
		if one.Actor != "user" {
			continue
		}
		said := map[string]string{}
		for name, forms := range c.Expect.Accept {
			slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
			for _, form := range forms {
				if len(form) > 2 && strings.Count(one.Text, form) == 1 && !strings.Contains(strings.Join(valuesOf(said), "\n"), form) {
					said[name] = form
					break
				}
			}
		}
		if len(said) > 0 {
			all = append(all, turn{one.Text, said, c.Expect.Accept})
		}
	}
	return all
}

func valuesOf(m map[string]string) []string {
	var all []string
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// count reads the turns with the tool that the training turns have taught.
func count(t *testing.T, f *figures, tool map[string]any, train, test []turn) {
	var schema []map[string]any
	for _, one := range tool["schema"].([]any) {
		schema = append(schema, map[string]any{"parameter": one.(map[string]any)["parameter"], "type": "string"})
	}
	examples := []string{}
	for _, one := range train {
		examples = append(examples, one.annotated())
	}
	body, err := json.Marshal(map[string]any{"name": tool["name"], "schema": schema, "examples": examples})
	require.NoError(t, err)
	candidate := matchertest.InScope(t, matchertest.Scope, "r", string(body))[0]
	for _, one := range test {
		read := values.Of(datetime.NewText(one.text, matchertest.Friday), candidate.Tool).Values
		for name, words := range one.said {
			value, given := read[name]
			switch {
			case given && accepted(one.forms[name], value):
				f.right++
			case given:
				f.wrong++
				if train != nil {
					show(t, "MWRONG %s=%v for %q in %q", name, value, words, one.text)
				}
			default:
				f.missing++
				if train != nil {
					show(t, "MMISS %s %q in %q", name, words, one.text)
				}
			}
			delete(read, name)
		}
		for name, value := range read {
			if accepted(one.forms[name], value) {
				continue
			}
			f.wrong++
			if train != nil {
				show(t, "MWRONG %s=%v of nothing in %q", name, value, one.text)
			}
		}
	}
}
