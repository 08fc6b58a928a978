// Package evaldata reads the evaluation data: real conversations, the tools
// that were on offer in them, and the calls that they should come to. The data is no
// part of this project; the variable EARSHOT_EVAL_DATA names its folder, and a test
// that asks for cases is skipped without it.
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
)

// Case is one conversation with what it should set off.
type Case struct {
	ID, Kind string
	// Tools are definitions as a client registers them.
	Tools []any
	// Messages are the conversation; the last one is to be matched.
	Messages []Message
	// Calls are what the last message should set off, in the order of the file; none
	// where it should fire nothing, and where any call will do.
	Calls   []Call
	AnyCall bool
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
	// Accepted are the values that are as right, by parameter: of BFCL all, of which "" may be left out.
	Accepted map[string][]any
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

// cases reads those of a set.
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

// Body is the repository that holds the tools of the case, as a client registers it.
func (c Case) Body(t testing.TB) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"tools": c.Tools})
	if err != nil {
		t.Fatalf("the tools of %s cannot be written: %v", c.ID, err)
	}
	return body
}

// Request is the last message, with the tools of the case in scope and what was said before.
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

// Definitions are tools as JSON.
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

// Accepts reports whether the call has a value of a parameter, or one that is as right.
func (c Call) Accepts(name string, value any) bool {
	text := strings.Trim(fmt.Sprint(value), " ")
	return slices.ContainsFunc(c.Accepted[name], func(form any) bool { return strings.EqualFold(strings.TrimSpace(fmt.Sprint(form)), text) })
}

// Complete lays the values of a call over the defaults of its tool: this, and nothing
// else, should arrive. A default that is none of the values that its own enum allows is
// no value; some functions of BFCL have one.
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
		if definition, is := one.(map[string]any); is && definition["name"] == tool {
			return definition
		}
	}
	return nil
}

// sgdCase is a line of the cases that are made of the Schema-Guided Dialogue dataset.
type sgdCase struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Tools   []any     `json:"tools"`
	History []Message `json:"history"`
	Expect  struct {
		Tool     string           `json:"tool"`
		Values   map[string]any   `json:"values"`
		Accept   map[string][]any `json:"accept"`
		Grounded map[string]bool  `json:"grounded"`
		Intent   string           `json:"intent"`
		// Partial lists the accepted forms of each value that was said, all as text.
		Partial map[string][]string `json:"partial"`
	} `json:"expect"`
}

// SGD reads dialogues with tools in the form of SERMAS. Today is Friday 2019-03-01 in
// all of them.
func SGD(t testing.TB) []Case {
	t.Helper()
	return must(t, ReadSGD)
}

// ReadSGD does so without a test.
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

// parameter is what the definitions of SGD say of one.
type parameter struct {
	name, kind string
	required   bool
	allowed    []any
}

// parameters lists those of a tool in the order of their definition.
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

// typed reads a value that stands as text in the file.
func (p parameter) typed(text string) any {
	switch p.kind {
	case "integer", "number", "float":
		return json.Number(text)
	case "boolean":
		return strings.EqualFold(text, "true")
	}
	return text
}

// Missing names the required parameters that a call of a tool with a schema lacks, in
// the order of their definition.
func (c Case) Missing(call Call) []string {
	var names []string
	for _, p := range c.parameters(call.Name) {
		if _, given := call.Values[p.name]; p.required && !given {
			names = append(names, p.name)
		}
	}
	return names
}

// Rest is what is missing of a call, with values that its tool takes; nobody said them.
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

// bfclCase is a line of the cases that are made of the Berkeley Function Calling
// Leaderboard.
type bfclCase struct {
	ID       string                           `json:"id"`
	Category string                           `json:"category"`
	Expect   string                           `json:"expect"`
	Tools    []Function                       `json:"tools"`
	Messages []struct{ Role, Content string } `json:"messages"`
	// Answer lists calls; each parameter has the values that are accepted.
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

// Definition is the function as a client registers it, under a name that a tool may have.
func (f Function) Definition() map[string]any {
	return map[string]any{"name": toolName(f.Function.Name), "description": f.Function.Description, "parameters": f.Function.Parameters}
}

// bfclContradiction is the case whose answer sorts words with a tool that takes
// integers alone.
const bfclContradiction = "parallel_multiple_94"

// BFCL reads single messages with function schemas in OpenAI's form. Where a value has
// several accepted forms, the first one is expected.
func BFCL(t testing.TB) []Case {
	t.Helper()
	return must(t, ReadBFCL)
}

// ReadBFCL does so without a test.
func ReadBFCL(folder string) ([]Case, error) { return cases[bfclCase](folder, "bfcl") }

func (c bfclCase) read() Case {
	read := Case{ID: c.ID, Kind: c.Category, AnyCall: c.Expect == "any_call"}
	if c.ID == bfclContradiction {
		read.Contradiction = "the expected values are not of the types that the tool declares"
	}
	for _, tool := range c.Tools {
		read.Tools = append(read.Tools, tool.Definition())
	}
	for _, message := range c.Messages { // its few system messages are as good as a user's
		read.Messages = append(read.Messages, Message{Actor: "user", Text: message.Content})
	}
	for _, answer := range c.Answer {
		for name, accepted := range answer {
			read.Calls = append(read.Calls, Call{Name: toolName(name), Values: firstAccepted(accepted), Accepted: accepted})
		}
	}
	return read
}

// toolName maps a name to one that a tool may have.
func toolName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			return r
		}
		return '_'
	}, name)
}

// firstAccepted takes the first accepted value of each parameter; an empty one means
// that it may be left out. Objects list accepted values for each of their members; one that is no list
// stands for itself.
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
				list, is := choices.([]any)
				if !is {
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

// Spoken is a message of CLINC150, and the tool that it calls for; nil for none.
type Spoken struct {
	ID, Text string
	Tool     *string
}

// ReadCLINC reads tools as a client registers them, and what people say to them: that by which matchers are
// measured, and more of the same.
func ReadCLINC(folder string) (tools []map[string]any, measured, more []Spoken, err error) {
	content, err := os.ReadFile(filepath.Join(folder, "clinc", "tools.json"))
	if err == nil {
		err = json.Unmarshal(content, &tools)
	}
	for _, tool := range tools {
		delete(tool, "domain") // which is no field of ours
	}
	measured, failed := matchertest.Read[Spoken](filepath.Join(folder, "clinc", "dev.jsonl"))
	more, lost := matchertest.Read[Spoken](filepath.Join(folder, "clinc", "train.jsonl"))
	return tools, measured, more, errors.Join(err, failed, lost)
}
