package matchertest

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
)

// Data is the folder of the evaluation data, which is not part of this project.
func Data(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("EARSHOT_EVAL_DATA")
	if folder == "" {
		t.Skip("set EARSHOT_EVAL_DATA to a folder with clinc/tools.json, clinc/dev.jsonl and sgd/cases.jsonl to measure the offline matcher")
	}
	return folder
}

// Lines reads a file of one JSON value a line.
func Lines[T any](t testing.TB, path string) []T {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var found []T
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		found = append(found, one)
	}
	require.NoError(t, lines.Err())
	return found
}

// Dialogue is a case of SGD: a conversation, and what its end calls for.
type Dialogue struct {
	Kind    string            `json:"kind"`
	Tools   []json.RawMessage `json:"tools"`
	History []struct {
		Actor string `json:"actor"`
		Text  string `json:"text"`
	} `json:"history"`
	Expect struct {
		Tool   *string             `json:"tool"`
		Accept map[string][]string `json:"accept"`
	} `json:"expect"`
}

// Request brings the case's tools into scope; its last message is the one to match.
func (c Dialogue) Request(t testing.TB) matcher.Request {
	tools := make([]string, len(c.Tools))
	for i, tool := range c.Tools {
		tools[i] = string(tool)
	}
	request := matcher.Request{Candidates: InScope(t, Scope, "sgd", tools...), Now: time.Date(2019, 3, 1, 9, 0, 0, 0, time.UTC)}
	for _, said := range c.History[:len(c.History)-1] {
		request.History = append(request.History, matcher.Utterance{Actor: said.Actor, Text: said.Text})
	}
	request.Text = c.History[len(c.History)-1].Text
	return request
}
