package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/files"
)

// lines reads a file of one JSON value a line.
func lines[T any](path ...string) ([]T, error) {
	name := filepath.Join(path...)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var found []T
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, len(text)+1)
	for scanner.Scan() {
		var one T
		if err := exactjson.Unmarshal(scanner.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("line %d of %s: %w", len(found)+1, name, err)
		}
		found = append(found, one)
	}
	return found, scanner.Err()
}

// repository registers tools as a client would.
func repository(tools any) (*repositories.Repository, error) {
	body, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		return nil, err
	}
	return repositories.DecodeRepository(repositories.Scope{AppID: "eval"}, "eval", body)
}

// message is a message of the data.
type message struct{ Actor, Role, Text, Content string }

// saying makes the test of a conversation whose last message is to be matched; what came before
// is only heard.
func saying(id string, history []message, expect ...files.Expectation) *files.Test {
	test := &files.Test{Name: id}
	for _, one := range history {
		test.Chat = append(test.Chat, files.Said{Agent: one.Actor == "agent", Text: one.Text + one.Content, Past: true})
	}
	last := &test.Chat[len(test.Chat)-1]
	last.Past, last.Agent, last.Expect = false, false, expect
	return test
}

// nothing expects that nothing fires.
var nothing = files.Expectation{None: true}

// readCLINC reads messages that call for one of 150 tools, or none.
func readCLINC(folder string) (data, error) {
	text, err := os.ReadFile(filepath.Join(folder, "clinc", "tools.json"))
	if err != nil {
		return data{}, err
	}
	var tools []map[string]any
	if err := json.Unmarshal(text, &tools); err != nil {
		return data{}, fmt.Errorf("clinc/tools.json: %w", err)
	}
	for _, tool := range tools {
		delete(tool, "domain")
	}
	all, err := repository(tools)
	if err != nil {
		return data{}, err
	}
	said, err := lines[struct {
		ID, Text string
		Tool     *string
	}](folder, "clinc", "dev.jsonl")
	var made data
	for _, one := range said {
		kind, expect := "nothing", nothing
		if one.Tool != nil {
			kind, expect = "a tool", files.Expectation{Tool: *one.Tool}
		}
		made.cases = append(made.cases, evalCase{kind, saying(one.ID, []message{{Text: one.Text}}, expect), all})
	}
	return made, err
}

// sgdNow is the time of all dialogues.
var sgdNow = time.Date(2019, 3, 1, 9, 0, 0, 0, time.UTC)

// readSGD reads dialogues, each with the tools of its services.
func readSGD(folder string) (data, error) {
	dialogues, err := lines[struct {
		ID, Kind string
		Tools    []any
		History  []message
		Expect   struct {
			Tool   *string
			Values map[string]any
			Accept map[string][]any
		}
	}](folder, "sgd", "cases.jsonl")
	var made data
	for _, one := range dialogues {
		tools, err := repository(one.Tools)
		if err != nil {
			return data{}, fmt.Errorf("%s: %w", one.ID, err)
		}
		expect := nothing
		if one.Expect.Tool != nil {
			expect = files.Expectation{Tool: *one.Expect.Tool, Values: one.Expect.Values, Also: one.Expect.Accept}
		}
		test := saying(one.ID, one.History, expect)
		test.Now = sgdNow
		made.cases = append(made.cases, evalCase{one.Kind, test, tools})
	}
	return made, err
}

// readBFCL reads messages with functions. Those that any call would do for are left out.
func readBFCL(folder string) (data, error) {
	said, err := lines[struct {
		ID, Category, Expect string
		Tools                []struct {
			Function struct {
				Name, Description string
				Parameters        any
			}
		}
		Messages []message
		Answer   []map[string]map[string][]any `json:"possible_answer"`
	}](folder, "bfcl", "cases.jsonl")
	var made data
	for _, one := range said {
		if one.Expect == "any_call" {
			continue
		}
		var tools []any
		for _, tool := range one.Tools {
			tools = append(tools, map[string]any{"name": toolName(tool.Function.Name), "description": tool.Function.Description, "parameters": tool.Function.Parameters})
		}
		all, err := repository(tools)
		if err != nil {
			return data{}, fmt.Errorf("%s: %w", one.ID, err)
		}
		expect := []files.Expectation{nothing}
		if one.Expect == "call" {
			expect = expected(one.Answer)
		}
		made.cases = append(made.cases, evalCase{one.Category, saying(one.ID, one.Messages, expect...), all})
	}
	return made, err
}

// expected are calls with their values, each of which has a list of those that are right. One that
// may be left out is not compared.
func expected(calls []map[string]map[string][]any) (all []files.Expectation) {
	for _, call := range calls {
		for name, values := range call {
			one := files.Expectation{Tool: toolName(name), Values: map[string]any{}, Also: map[string][]any{}}
			for parameter, right := range values {
				if len(right) > 0 && !slices.Contains(right, any("")) {
					one.Values[parameter], one.Also[parameter] = right[0], right[1:]
				}
			}
			all = append(all, one)
		}
	}
	return all
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
