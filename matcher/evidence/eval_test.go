package evidence_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/evidence"
	"earshot/repositories"
)

// The limits are slightly below the measured values: evidence for 96.6 % of the present values (the rest in other
// words: Philly, Chi-town, funny), and none for 99.3 % of the absent ones. Nearly all exceptions are dates of
// something else.
const (
	leastEvidence  = 0.93
	leastUnclaimed = 0.98
)

// evidenceCases are the dialogues of the evaluation data that fire a tool at the end.
func evidenceCases(t *testing.T) []evaldata.Case {
	kept := slices.DeleteFunc(evaldata.SGD(t), func(c evaldata.Case) bool { return c.Kind != "direct" && c.Kind != "confirm" })
	require.NotEmpty(t, kept)
	return kept
}

func fires(t *testing.T, c evaldata.Case) (matcher.Request, *repositories.Tool) {
	request := c.Request(t)
	found, ok := request.Named(c.Calls[0].Name)
	require.True(t, ok, c.ID)
	return request, found.Tool
}

func TestTheValuesOfSGDHaveEvidence(t *testing.T) {
	var all, found float64
	for _, c := range evidenceCases(t) {
		request, tool := fires(t, c)
		evidence := evidence.Find(request, c.Calls[0].Values, tool)
		for _, name := range c.Grounded {
			all++
			if evidence[name] != nil {
				found++
			} else if testing.Verbose() {
				t.Logf("no evidence for %s = %v, said as %v", name, c.Calls[0].Values[name], c.Calls[0].Accepted[name])
			}
		}
	}
	t.Logf("evidence for %.1f %% of %v values", 100*found/all, all)
	require.GreaterOrEqual(t, found/all, leastEvidence)
}

// TestTheValuesOfOtherDialoguesOfSGDHaveNoEvidence searches for values of the same parameters from other dialogues.
// It skips values with an accepted form in this dialogue, since the other dialogue may lack the form ("March 13th",
// "13th of March").
func TestTheValuesOfOtherDialoguesOfSGDHaveNoEvidence(t *testing.T) {
	cases := evidenceCases(t)
	others := map[string]map[any][]any{} // alternatives by parameter and value
	for _, c := range cases {
		for name, value := range c.Calls[0].Values {
			if others[name] == nil {
				others[name] = map[any][]any{}
			}
			others[name][value] = append(slices.Clone(c.Calls[0].Accepted[name]), value)
		}
	}
	var all, silent float64
	for _, c := range cases {
		request, tool := fires(t, c)
		own, said := slices.Collect(maps.Values(c.Calls[0].Values)), ""
		for _, message := range c.Messages {
			said += " " + strings.ToLower(message.Text)
		}
		for name := range c.Calls[0].Values {
			for value, forms := range others[name] {
				if slices.Contains(own, value) || slices.ContainsFunc(forms, func(form any) bool { return strings.Contains(said, strings.ToLower(fmt.Sprint(form))) }) {
					continue
				}
				all++
				if found := evidence.Find(request, map[string]any{name: value}, tool)[name]; found == nil {
					silent++
				} else if testing.Verbose() {
					t.Logf("evidence for %s = %v: %q", name, value, found.Words)
				}
			}
		}
	}
	t.Logf("no evidence for %.1f %% of %v values that were not said", 100*silent/all, all)
	require.GreaterOrEqual(t, silent/all, leastUnclaimed)
}
