package values_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/datetime"
	"earshot/matcher/evaldata"
	"earshot/matcher/matchertest"
	"earshot/matcher/values"
	"earshot/repositories"
)

// figures counts the values of expected tools.
type figures struct{ right, wrong, missing int }

func (f figures) String() string {
	return fmt.Sprintf("%d right, %d wrong, %d missing: precision %.1f %%, recall %.1f %%", f.right, f.wrong, f.missing,
		100*f.precision(), 100*float64(f.right)/max(1, float64(f.right+f.missing)))
}

func (f figures) precision() float64 { return float64(f.right) / max(1, float64(f.right+f.wrong)) }

// count reads a text with some values of a call. A value only counts as missing if the text has it.
func (f *figures) count(text string, tool *repositories.Tool, call evaldata.Call, said []string) {
	read := values.Of(datetime.NewText(text, matchertest.Friday), tool).Values
	for _, name := range said {
		switch value, given := read[name]; {
		case given && call.Accepts(name, value):
			f.right++
		case given:
			f.wrong++
		case slices.ContainsFunc(call.Accepted[name], func(form any) bool {
			return form != "" && strings.Contains(strings.ToLower(text), strings.ToLower(fmt.Sprint(form)))
		}):
			f.missing++
		}
		delete(read, name)
	}
	for name, value := range read {
		if !call.Accepts(name, value) {
			f.wrong++
		}
	}
}

// TestValuesOfSGD reads only the user's last message, with the expected tool.
func TestValuesOfSGD(t *testing.T) {
	var all figures
	for _, c := range evaldata.SGD(t) {
		if len(c.Calls) == 0 {
			continue
		}
		request := c.Request(t)
		found, _ := request.Named(c.Calls[0].Name)
		all.count(request.Text, found.Tool, c.Calls[0], slices.Collect(maps.Keys(c.Calls[0].Accepted)))
	}
	t.Logf("all: %v", all)
	require.GreaterOrEqual(t, all.precision(), 0.9)
}

// turn is a user's message for a tool, with its values as said.
type turn struct {
	text string
	said map[string]string
	call evaldata.Call
}

// turns returns the user's messages that contain a value.
func turns(c evaldata.Case) (all []turn) {
	for _, one := range c.Messages {
		said := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(c.Calls[0].Accepted)) { // the same figures in each run
			forms := c.Calls[0].Accepted[name]
			slices.SortFunc(forms, func(a, b any) int { return len(fmt.Sprint(b)) - len(fmt.Sprint(a)) })
			for _, form := range forms {
				form, others := fmt.Sprint(form), strings.Join(slices.Collect(maps.Values(said)), "\n")
				if len(form) > 2 && strings.Count(one.Text, form) == 1 && !strings.Contains(others, form) {
					said[name] = form
					break
				}
			}
		}
		if one.Actor == "user" && len(said) > 0 {
			all = append(all, turn{one.Text, said, c.Calls[0]})
		}
	}
	return all
}

// TestMarkedValuesOfSGD gives each tool up to ten annotated turns of other conversations, with only text
// parameters: all values are then read by the marks.
func TestMarkedValuesOfSGD(t *testing.T) {
	parts := map[string]*[2][]turn{}
	for i, c := range evaldata.SGD(t) {
		for _, tool := range c.Tools {
			if definition := tool.(map[string]any); len(c.Calls) > 0 && definition["name"] == c.Calls[0].Name {
				key := evaldata.Definitions(t, []any{definition})[0]
				if parts[key] == nil {
					parts[key] = &[2][]turn{}
				}
				parts[key][i%2] = append(parts[key][i%2], turns(c)...)
			}
		}
	}
	var plain, marked figures
	for definition, of := range parts {
		for held := range 2 {
			train := of[1-held]
			for f, examples := range map[*figures][]turn{&plain: nil, &marked: train[:min(10, len(train))]} {
				tool := taught(t, definition, examples)
				for _, one := range of[held] {
					f.count(one.text, tool, one.call, slices.Collect(maps.Keys(one.said)))
				}
			}
		}
	}
	t.Logf("without marks: %v", plain)
	t.Logf("annotated: %v", marked)
	require.GreaterOrEqual(t, marked.precision(), 0.8)
}

// taught is a tool with text parameters, and turns as examples with marked values.
func taught(t *testing.T, definition string, train []turn) *repositories.Tool {
	var tool struct {
		Name     string           `json:"name"`
		Schema   []map[string]any `json:"schema"`
		Examples []string         `json:"examples"`
	}
	require.NoError(t, json.Unmarshal([]byte(definition), &tool))
	for i, one := range tool.Schema {
		tool.Schema[i] = map[string]any{"parameter": one["parameter"], "type": "string"}
	}
	for _, one := range train {
		marked := one.text
		for name, words := range one.said {
			marked = strings.Replace(marked, words, "["+words+"]("+name+")", 1)
		}
		tool.Examples = append(tool.Examples, marked)
	}
	return matchertest.InScope(t, matchertest.Scope, "r", evaldata.Definitions(t, []any{tool})...)[0].Tool
}
