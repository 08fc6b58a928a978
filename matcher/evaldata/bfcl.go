package evaldata

import (
	"strings"
	"testing"
)

// bfclCase is a line of the cases that are made of the Berkeley Function Calling
// Leaderboard.
type bfclCase struct {
	ID       string                           `json:"id"`
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
	return cases[bfclCase](t, "bfcl", "cases.jsonl")
}

func (c bfclCase) read() Case {
	read := Case{ID: c.ID}
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
			read.Calls = append(read.Calls, Call{Name: toolName(name), Values: firstAccepted(accepted)})
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
// that it may be left out. Objects list accepted values for each of their members.
func firstAccepted(accepted map[string][]any) map[string]any {
	values := map[string]any{}
	for name, options := range accepted {
		if len(options) == 0 {
			values[name] = []any{}
			continue
		}
		switch first := options[0].(type) {
		case map[string]any:
			values[name] = firstAccepted(members(first))
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

// members lists the accepted values of an object's members; one that is no list stands
// for itself.
func members(object map[string]any) map[string][]any {
	lists := map[string][]any{}
	for member, choices := range object {
		list, is := choices.([]any)
		if !is {
			list = []any{choices}
		}
		lists[member] = list
	}
	return lists
}
