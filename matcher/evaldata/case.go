// Package evaldata reads the evaluation data for tests: real conversations, the tools
// that were on offer in them, and the calls that they should come to. The data is no
// part of this project; the variable EARSHOT_EVAL_DATA names its folder, and a test
// that asks for cases is skipped without it.
//
// Numbers are json.Number throughout, with the digits of the file.
package evaldata

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"earshot/matcher/llm/llmtest"
	"earshot/repositories/exactjson"
)

// variable names the folder of the data.
const variable = "EARSHOT_EVAL_DATA"

// Case is one conversation with what it should set off.
type Case struct {
	ID string
	// Tools are definitions as a client registers them.
	Tools []any
	// Messages are the conversation; the last one is to be matched.
	Messages []Message
	// Calls are what the last message should set off, in the order of the file; none
	// where it should fire nothing.
	Calls []Call
	// Grounded names the parameters of the call whose values were said in so many
	// words, if the data says so.
	Grounded []string
	// Unfinished is a call that the messages begin and that lacks required values;
	// nil if there is none.
	Unfinished *Call
	// Contradiction says why what is expected cannot be had with these tools; empty
	// where it can.
	Contradiction string
}

// Message is what somebody said.
type Message struct {
	Actor string `json:"actor"` // user or agent
	Text  string `json:"text"`
}

// Call is a tool with its values.
type Call struct {
	Name   string
	Values map[string]any
}

// Reply is the answer of a model that makes the calls; text if there are none.
func Reply(t testing.TB, calls ...Call) llmtest.Reply {
	t.Helper()
	if len(calls) == 0 {
		return llmtest.Text("none")
	}
	written := make([][2]string, len(calls))
	for i, call := range calls {
		written[i] = [2]string{call.Name, call.Arguments(t)}
	}
	return llmtest.Calls(written...)
}

// Arguments are the values as a model writes them: JSON.
func (c Call) Arguments(t testing.TB) string {
	t.Helper()
	text, err := json.Marshal(c.Values)
	if err != nil {
		t.Fatalf("the values of %s cannot be written: %v", c.Name, err)
	}
	return string(text)
}

// cases decodes a file of one case a line.
func cases[L interface{ read() Case }](t testing.TB, path ...string) []Case {
	t.Helper()
	folder := os.Getenv(variable)
	if folder == "" {
		t.Skipf("%s names no folder; it should hold %s", variable, filepath.Join(path...))
	}
	text, err := os.ReadFile(filepath.Join(append([]string{folder}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	var found []Case
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, len(text)+1)
	for scanner.Scan() {
		var one L
		if err := exactjson.Unmarshal(scanner.Bytes(), &one); err != nil {
			t.Fatalf("line %d of %s: %v", len(found)+1, filepath.Join(path...), err)
		}
		found = append(found, one.read())
	}
	if err := scanner.Err(); err != nil || len(found) == 0 {
		t.Fatalf("%s has no cases: %v", filepath.Join(path...), err)
	}
	return found
}
