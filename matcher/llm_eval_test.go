package matcher_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llmtest"
	"earshot/repositories"
)

// evalCall is what a case expects, and what the LLM's double answers.
type evalCall struct {
	name   string
	values map[string]any
}

// evalCases decodes the lines of a file of the evaluation data, numbers as written.
func evalCases[T any](t *testing.T, path ...string) []T {
	t.Helper()
	folder := os.Getenv("EARSHOT_EVAL_DATA")
	if folder == "" {
		t.Skip("EARSHOT_EVAL_DATA names no folder with bfcl/cases.jsonl and sgd/cases.jsonl")
	}
	text, err := os.ReadFile(filepath.Join(append([]string{folder}, path...)...))
	require.NoError(t, err)
	var cases []T
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var one T
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&one))
		cases = append(cases, one)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, cases)
	return cases
}

// evalScope registers the tools of a case. Some of them have a default that their own
// schema refuses; where registration points at it, it is taken out, as their author
// would have to.
func evalScope(t *testing.T, tools []any) []matcher.Candidate {
	t.Helper()
	scope := repositories.Scope{AppID: "eval"}
	repository, err := repositories.DecodeRepository(scope, "eval", evalBody(t, tools))
	var faults repositories.Faults
	if errors.As(err, &faults) {
		for _, fault := range faults {
			withoutDefault(t, tools, fault)
		}
		repository, err = repositories.DecodeRepository(scope, "eval", evalBody(t, tools))
	}
	require.NoError(t, err)
	candidates := make([]matcher.Candidate, len(repository.Tools))
	for i := range repository.Tools {
		candidates[i] = matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]}
	}
	slices.SortFunc(candidates, func(a, b matcher.Candidate) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
	return candidates
}

func evalBody(t *testing.T, tools []any) []byte {
	body, err := json.Marshal(map[string]any{"tools": tools})
	require.NoError(t, err)
	return body
}

// withoutDefault removes what the fault points at: /tools/0/…/default and no other.
func withoutDefault(t *testing.T, tools []any, fault repositories.Fault) {
	tokens := strings.Split(strings.TrimPrefix(fault.Pointer, "/tools/"), "/")
	require.Equal(t, "default", tokens[len(tokens)-1], fault)
	var at any = tools
	for _, token := range tokens[:len(tokens)-1] {
		if list, is := at.([]any); is {
			i, err := strconv.Atoi(token)
			require.NoError(t, err)
			at = list[i]
			continue
		}
		at = at.(map[string]any)[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	delete(at.(map[string]any), "default")
}

// evalMatch plays a case: the double answers every request with the given calls.
func evalMatch(t *testing.T, request matcher.Request, calls []evalCall) (matcher.Result, *llmtest.Server) {
	t.Helper()
	reply := llmtest.Text("none")
	if len(calls) > 0 {
		written := make([][2]string, len(calls))
		for i, call := range calls {
			arguments, err := json.Marshal(call.values)
			require.NoError(t, err)
			written[i] = [2]string{call.name, string(arguments)}
		}
		reply = llmtest.Calls(written...)
	}
	server := llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply { return reply })
	result, err := newLLM(server).Match(t.Context(), request)
	require.NoError(t, err)
	return result, server
}

// requireUnharmed compares what was said with what arrived; defaults and static
// values may have come on top.
func requireUnharmed(t *testing.T, calls []evalCall, result matcher.Result) {
	t.Helper()
	require.Empty(t, result.Rejected)
	require.Len(t, result.Matches, len(calls))
	for i, call := range calls {
		require.Equal(t, call.name, result.Matches[i].Tool.Name)
		require.Subset(t, result.Matches[i].Values, call.values)
	}
}
