// Package evaldata reads the evaluation data: real conversations with their tools and expected calls. The data is
// not part of this project: EARSHOT_EVAL_DATA names its folder, and tests that need it are skipped without it.
//
// Numbers are json.Number throughout, with the digits of the file.
package evaldata

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"earshot/matcher"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories/lists"
)

// Case is one conversation with its expected calls.
type Case struct {
	ID, Kind string
	// Tools are definitions as a client registers them.
	Tools []any
	// Messages are the conversation; the last one is to be matched.
	Messages []Message
	// Calls are the expected calls of the last message, in file order; none if it should fire nothing, or with
	// AnyCall.
	Calls   []Call
	AnyCall bool
	// Grounded names the call's parameters whose values were said literally, if the data tells.
	Grounded []string
	// Unfinished is a call that the messages begin and that lacks required values; nil for none.
	Unfinished *Call
	// Contradiction is why these tools cannot give the expected result; empty if they can.
	Contradiction string
}

// Message is one message of a conversation.
type Message struct {
	Actor string `json:"actor"` // user or agent
	Text  string `json:"text"`
}

// Call is a tool with its values.
type Call struct {
	Name     string
	Values   map[string]any
	Accepted map[string][]any // alternative correct values by parameter: for BFCL all, and "" means optional
}

// Arguments returns the values as a model's JSON.
func (c Call) Arguments(t testing.TB) string {
	t.Helper()
	text, err := json.Marshal(c.Values)
	if err != nil {
		t.Fatalf("the values of %s cannot be written: %v", c.Name, err)
	}
	return string(text)
}

// Reply returns a model's answer with the calls; text if there are none.
func Reply(t testing.TB, calls ...Call) llmtest.Reply {
	t.Helper()
	if len(calls) == 0 {
		return llmtest.Text("none")
	}
	written := lists.Map(calls, func(call Call) [2]string { return [2]string{call.Name, call.Arguments(t)} })
	return llmtest.Calls(written...)
}

func cases[L interface{ read() Case }](folder, set string) (found []Case, err error) {
	all, err := matchertest.Read[L](filepath.Join(folder, set, "cases.jsonl"))
	for _, one := range all {
		found = append(found, one.read())
	}
	return found, err
}

func must(t testing.TB, read func(folder string) ([]Case, error)) []Case {
	t.Helper()
	found, err := read(matchertest.Data(t))
	if err != nil || len(found) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return found
}

// Body returns the repository with the tools of the case, as a client registers it.
func (c Case) Body(t testing.TB) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"tools": c.Tools})
	if err != nil {
		t.Fatalf("the tools of %s cannot be written: %v", c.ID, err)
	}
	return body
}

// Request returns the last message with the tools in scope and the history.
func (c Case) Request(t testing.TB) matcher.Request {
	t.Helper()
	request := matcher.Request{Candidates: matchertest.InScope(t, matchertest.Scope, "eval", Definitions(t, c.Tools)...), Now: today}
	for _, said := range c.Messages {
		request.History = append(request.History, matcher.Utterance{Actor: said.Actor, Text: said.Text})
	}
	last := len(c.Messages) - 1
	request.Text, request.History = c.Messages[last].Text, request.History[:last]
	return request
}

// today is the day of all dialogues of SGD.
var today = time.Date(2019, 3, 1, 9, 0, 0, 0, time.UTC)

// Definitions returns tools as JSON.
func Definitions[T any](t testing.TB, tools []T) []string {
	t.Helper()
	written := make([]string, len(tools))
	for i, tool := range tools {
		text, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		written[i] = string(text)
	}
	return written
}

// Accepts reports whether a parameter's value is among the accepted alternatives.
func (c Call) Accepts(name string, value any) bool {
	text := strings.Trim(fmt.Sprint(value), " ")
	return slices.ContainsFunc(c.Accepted[name], func(form any) bool { return strings.EqualFold(strings.TrimSpace(fmt.Sprint(form)), text) })
}

// Complete adds the defaults of the tool to a call's values: exactly this should arrive. A default outside its own
// enum does not count; some functions of BFCL have one.
func (c Case) Complete(call Call) map[string]any {
	whole := map[string]any{}
	parameters, _ := c.definition(call.Name)["parameters"].(map[string]any)
	properties, _ := parameters["properties"].(map[string]any)
	for name, property := range properties {
		fields, _ := property.(map[string]any)
		allowed, limited := fields["enum"].([]any)
		if value := fields["default"]; value != nil && (!limited || slices.ContainsFunc(allowed, func(one any) bool { return reflect.DeepEqual(one, value) })) {
			whole[name] = value
		}
	}
	maps.Copy(whole, call.Values)
	return whole
}

func (c Case) definition(tool string) map[string]any {
	for _, one := range c.Tools {
		if definition, ok := one.(map[string]any); ok && definition["name"] == tool {
			return definition
		}
	}
	return nil
}

// sgdCase is a line of the cases from the Schema-Guided Dialogue dataset.
type sgdCase struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Tools   []any     `json:"tools"`
	History []Message `json:"history"`
	Expect  struct {
		Tool     string              `json:"tool"`
		Values   map[string]any      `json:"values"`
		Accept   map[string][]any    `json:"accept"`
		Grounded map[string]bool     `json:"grounded"`
		Intent   string              `json:"intent"`
		Partial  map[string][]string `json:"partial"` // lists the accepted forms of each known value, as text
	} `json:"expect"`
}

// SGD reads dialogues with tools in the form of SERMAS. Today is Friday 2019-03-01 in all of them.
func SGD(t testing.TB) []Case {
	t.Helper()
	return must(t, ReadSGD)
}

// ReadSGD is SGD without a test.
func ReadSGD(folder string) ([]Case, error) { return cases[sgdCase](folder, "sgd") }

func (c sgdCase) read() Case {
	read := Case{ID: c.ID, Kind: c.Kind, Tools: c.Tools, Messages: c.History}
	if c.Expect.Tool != "" {
		call := Call{Name: c.Expect.Tool, Values: c.Expect.Values, Accepted: c.Expect.Accept}
		read.Calls = []Call{call}
		if len(read.Missing(call)) > 0 {
			read.Contradiction = "the expected call lacks a value that the tool requires"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Expect.Grounded)) {
		if c.Expect.Grounded[name] {
			read.Grounded = append(read.Grounded, name)
		}
	}
	if c.Expect.Intent != "" {
		read.Unfinished = &Call{Name: c.Expect.Intent, Values: map[string]any{}}
		for _, p := range read.parameters(c.Expect.Intent) {
			if forms := c.Expect.Partial[p.name]; len(forms) > 0 {
				read.Unfinished.Values[p.name] = p.typed(forms[0])
			}
		}
	}
	return read
}

// parameter is a parameter in a definition of SGD.
type parameter struct {
	name, kind string
	required   bool
	allowed    []any
}

func (c Case) parameters(tool string) (list []parameter) {
	schema, _ := c.definition(tool)["schema"].([]any)
	for _, entry := range schema {
		field, p := entry.(map[string]any), parameter{}
		p.name, _ = field["parameter"].(string)
		p.kind, _ = field["type"].(string)
		p.required, _ = field["required"].(bool)
		p.allowed, _ = field["allowedValues"].([]any)
		list = append(list, p)
	}
	return list
}

func (p parameter) typed(text string) any {
	switch p.kind {
	case "integer", "number", "float":
		return json.Number(text)
	case "boolean":
		return strings.EqualFold(text, "true")
	}
	return text
}

// Missing names the required parameters that a call lacks, in order of their definition.
func (c Case) Missing(call Call) []string {
	var names []string
	for _, p := range c.parameters(call.Name) {
		if _, given := call.Values[p.name]; p.required && !given {
			names = append(names, p.name)
		}
	}
	return names
}

// Rest returns valid but made-up values for the missing parameters of a call.
func (c Case) Rest(call Call) Call {
	rest := Call{Name: call.Name, Values: map[string]any{}}
	missing := c.Missing(call)
	for _, p := range c.parameters(call.Name) {
		switch {
		case !slices.Contains(missing, p.name):
		case len(p.allowed) > 0:
			rest.Values[p.name] = p.allowed[len(p.allowed)-1]
		case p.kind == "string":
			rest.Values[p.name] = "a value for " + p.name
		case p.kind == "boolean":
			rest.Values[p.name] = true
		default:
			rest.Values[p.name] = json.Number("4")
		}
	}
	return rest
}

// bfclCase is a line of the cases from the Berkeley Function Calling Leaderboard.
type bfclCase struct {
	ID       string                           `json:"id"`
	Category string                           `json:"category"`
	Expect   string                           `json:"expect"`
	Tools    []Function                       `json:"tools"`
	Messages []struct{ Role, Content string } `json:"messages"`
	// Answer lists calls; each parameter has its accepted values.
	Answer []map[string]map[string][]any `json:"possible_answer"`
}

// Function is a tool in OpenAI's form.
type Function struct {
	Function struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Parameters  map[string]any `json:"parameters"`
	} `json:"function"`
}

// Definition returns the function as a client registers it, with a valid tool name.
func (f Function) Definition() map[string]any {
	return map[string]any{"name": toolName(f.Function.Name), "description": f.Function.Description, "parameters": f.Function.Parameters}
}

// bfclContradiction is the case whose answer sorts words with a tool that only takes integers.
const bfclContradiction = "parallel_multiple_94"

// BFCL reads single messages with function schemas in OpenAI's form. Of several accepted forms of a value, the
// first is expected.
func BFCL(t testing.TB) []Case {
	t.Helper()
	return must(t, ReadBFCL)
}

// ReadBFCL is BFCL without a test.
func ReadBFCL(folder string) ([]Case, error) { return cases[bfclCase](folder, "bfcl") }

func (c bfclCase) read() Case {
	read := Case{ID: c.ID, Kind: c.Category, AnyCall: c.Expect == "any_call"}
	if c.ID == bfclContradiction {
		read.Contradiction = "the expected values are not of the types that the tool declares"
	}
	for _, tool := range c.Tools {
		read.Tools = append(read.Tools, tool.Definition())
	}
	for _, message := range c.Messages { // its few system messages count as the user's
		read.Messages = append(read.Messages, Message{Actor: "user", Text: message.Content})
	}
	for _, answer := range c.Answer {
		for name, accepted := range answer {
			read.Calls = append(read.Calls, Call{Name: toolName(name), Values: firstAccepted(accepted), Accepted: accepted})
		}
	}
	return read
}

// toolName replaces the characters that tool names cannot have.
func toolName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			return r
		}
		return '_'
	}, name)
}

// firstAccepted returns the first accepted value of each parameter; an empty one means optional. Objects list
// accepted values for each member; a member that is not a list is the value itself.
func firstAccepted(accepted map[string][]any) map[string]any {
	values := map[string]any{}
	for name, options := range accepted {
		if len(options) == 0 {
			values[name] = []any{}
			continue
		}
		switch first := options[0].(type) {
		case map[string]any:
			members := map[string][]any{}
			for member, choices := range first {
				list, ok := choices.([]any)
				if !ok {
					list = []any{choices}
				}
				members[member] = list
			}
			values[name] = firstAccepted(members)
		case string:
			if first != "" {
				values[name] = first
			}
		default:
			values[name] = first
		}
	}
	return values
}

// Spoken is a message of CLINC150 with the expected tool; nil for none.
type Spoken struct {
	ID, Text string
	Tool     *string
}

// ReadCLINC reads tools as a client registers them, the messages that measure matchers, and more such messages.
func ReadCLINC(folder string) (tools []map[string]any, measured, more []Spoken, err error) {
	content, err := os.ReadFile(filepath.Join(folder, "clinc", "tools.json"))
	if err == nil {
		err = json.Unmarshal(content, &tools)
	}
	for _, tool := range tools {
		delete(tool, "domain") // not a field of Earshot
	}
	measured, failed := matchertest.Read[Spoken](filepath.Join(folder, "clinc", "dev.jsonl"))
	more, lost := matchertest.Read[Spoken](filepath.Join(folder, "clinc", "train.jsonl"))
	return tools, measured, more, errors.Join(err, failed, lost)
}
