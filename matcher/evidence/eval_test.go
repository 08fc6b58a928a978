package evidence_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/matcher/matchertest"
	"earshot/repositories"
	"earshot/repositories/unraced"
)

// The floors stand under what was measured: evidence for 96.6 % of the values that were said
// (the rest were said in other words: Philly, Chi-town, funny), and none for 99.3 % of those
// that nobody said. Nearly all of the others are dates that were said of something else.
const (
	leastEvidence  = 0.93
	leastUnclaimed = 0.98
)

type evidenceCase struct {
	matchertest.Dialogue
	Expect struct {
		Tool     string              `json:"tool"`
		Values   map[string]any      `json:"values"`
		Accept   map[string][]string `json:"accept"`
		Grounded map[string]bool     `json:"grounded"`
	} `json:"expect"`
}

// evidenceCases are the dialogues of the evaluation data at whose end a tool fires.
func evidenceCases(t *testing.T) []evidenceCase {
	folder := os.Getenv("EARSHOT_EVAL_DATA")
	if folder == "" {
		t.Skip("set EARSHOT_EVAL_DATA to a folder with sgd/cases.jsonl to measure how much evidence is found")
	}
	var kept []evidenceCase
	for _, c := range matchertest.Lines[evidenceCase](t, filepath.Join(folder, "sgd", "cases.jsonl")) {
		if c.Kind == "direct" || c.Kind == "confirm" {
			kept = append(kept, c)
		}
	}
	require.NotEmpty(t, kept)
	return kept
}

// dialogue is all that was said, in small letters.
func (c evidenceCase) dialogue() string {
	var said strings.Builder
	for _, message := range c.History {
		said.WriteString(" " + strings.ToLower(message.Text))
	}
	return said.String()
}

func (c evidenceCase) tool(t *testing.T, request matcher.Request) *repositories.Tool {
	for _, candidate := range request.Candidates {
		if candidate.Tool.Name == c.Expect.Tool {
			return candidate.Tool
		}
	}
	require.Fail(t, "the expected tool is not in scope", c.Expect.Tool)
	return nil
}

func TestTheValuesOfSGDHaveEvidence(t *testing.T) {
	unraced.Only(t)
	var all, found float64
	for _, c := range evidenceCases(t) {
		request := c.Request(t)
		evidence := evidence.Find(request, c.Expect.Values, c.tool(t, request))
		for name, grounded := range c.Expect.Grounded {
			if !grounded {
				continue
			}
			all++
			if evidence[name] != nil {
				found++
			} else if testing.Verbose() {
				t.Logf("no evidence for %s = %v, said as %v", name, c.Expect.Values[name], c.Expect.Accept[name])
			}
		}
	}
	t.Logf("evidence for %.1f %% of %v values", 100*found/all, all)
	require.GreaterOrEqual(t, found/all, leastEvidence)
}

// otherValue is a value of the same parameter in another dialogue, of which no
// accepted form was said in this one, and which is no value of this one: that was said, in
// forms that the other dialogue does not know ("March 13th", "13th of March").
type otherValue struct {
	value  any
	accept []string
}

func (o otherValue) in(dialogue string, values map[string]any) bool {
	for _, own := range values {
		if own == o.value {
			return true
		}
	}
	for _, form := range append(o.accept, fmt.Sprint(o.value)) {
		if strings.Contains(dialogue, strings.ToLower(form)) {
			return true
		}
	}
	return false
}

func TestTheValuesOfOtherDialoguesOfSGDHaveNoEvidence(t *testing.T) {
	unraced.Only(t)
	cases := evidenceCases(t)
	others := map[string]map[string]otherValue{}
	for _, c := range cases {
		for name, value := range c.Expect.Values {
			if others[name] == nil {
				others[name] = map[string]otherValue{}
			}
			written, err := json.Marshal(value)
			require.NoError(t, err)
			others[name][string(written)] = otherValue{value, c.Expect.Accept[name]}
		}
	}
	var all, silent float64
	for _, c := range cases {
		request, dialogue := c.Request(t), c.dialogue()
		tool := c.tool(t, request)
		for name := range c.Expect.Values {
			for _, other := range others[name] {
				if other.in(dialogue, c.Expect.Values) {
					continue
				}
				all++
				evidence := evidence.Find(request, map[string]any{name: other.value}, tool)
				if evidence[name] == nil {
					silent++
				} else if testing.Verbose() {
					t.Logf("evidence for %s = %v: %q", name, other.value, evidence[name].Words)
				}
			}
		}
	}
	t.Logf("no evidence for %.1f %% of %v values that were not said", 100*silent/all, all)
	require.GreaterOrEqual(t, silent/all, leastUnclaimed)
}
