package earshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AgentTool is a tool in scope for a model of one's own. A call is a direct trigger of the source agent.
type AgentTool struct {
	scope      *scope
	definition ScopedTool
	order      []string // of its parameters, as they stand in the schema
	schema     struct {
		Properties map[string]struct {
			Type        any    `json:"type"`
			Description string `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
}

// AgentTools are the tools in scope.
func (s *scope) AgentTools(ctx context.Context) ([]*AgentTool, error) {
	var found []*AgentTool
	for definition, err := range s.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		tool := &AgentTool{scope: s, definition: definition}
		if err := decode(definition.InputSchema, &tool.schema); err != nil {
			return nil, err
		}
		tool.order = slices.Sorted(maps.Keys(tool.schema.Properties))
		found = append(found, tool)
	}
	return found, nil
}

// Name is that of the tool.
func (t *AgentTool) Name() string { return t.definition.Name }

// Schema is the JSON Schema of the tool's parameters.
func (t *AgentTool) Schema() json.RawMessage { return t.definition.InputSchema }

// Description says what the tool does and, for agents that are shown nothing else, what its input is.
func (t *AgentTool) Description() string {
	text := strings.TrimSpace(t.definition.Description)
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	switch only, single := t.onlyText(); {
	case len(t.order) == 0:
		text += " It takes no input: write {}."
	case single:
		text += fmt.Sprintf(" The input is the %s.", strings.TrimSuffix(strings.TrimSpace(only+": "+t.schema.Properties[only].Description), ":"))
	default:
		text += " The input is a JSON object of this JSON Schema: " + string(t.definition.InputSchema)
	}
	return strings.TrimSpace(text)
}

func (t *AgentTool) onlyText() (string, bool) {
	if len(t.order) == 1 && t.schema.Properties[t.order[0]].Type == "string" {
		return t.order[0], true
	}
	return "", false
}

// Function is the tool as OpenAI and langchaingo define one.
func (t *AgentTool) Function() FunctionTool {
	return FunctionTool{Type: "function", Function: Function{
		Name: t.definition.Name, Description: t.definition.Description, Parameters: t.definition.InputSchema,
	}}
}

// Functions are the tools as the tools of a request to a model.
func Functions(tools []*AgentTool) []FunctionTool {
	functions := make([]FunctionTool, len(tools))
	for i, tool := range tools {
		functions[i] = tool.Function()
	}
	return functions
}

// Call fires the tool with the input of a model, and returns what to tell it. The input is a JSON object of the values, or for
// one text parameter the text. Invalid values, a missing tool, and a call that failed or waits are answers for the model. The
// error says that the service was not reached, or refused the key.
func (t *AgentTool) Call(ctx context.Context, input string) (string, error) {
	values, fault := t.read(input)
	if fault != "" {
		return fault, nil
	}
	match, err := t.scope.Fire(ctx, Direct{Name: t.definition.Name, RepositoryID: t.definition.RepositoryID, Values: values})
	var problem *Problem
	if errors.As(err, &problem) && (errors.Is(err, ErrInvalid) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict)) {
		return told(problem), nil
	}
	if err != nil {
		return "", err
	}
	return match.Told(), nil
}

// CallTool fires the tool that a model has named, with its arguments as they came, and returns what to tell it.
func CallTool(ctx context.Context, tools []*AgentTool, name, arguments string) (string, error) {
	for _, tool := range tools {
		if tool.definition.Name == name {
			return tool.Call(ctx, arguments)
		}
	}
	return fmt.Sprintf("There is no tool %q. Do not call it.", name), nil
}

// read makes values of an input. Models put JSON into fences, and leave out empty objects.
func (t *AgentTool) read(input string) (values map[string]any, fault string) {
	text := unfenced(input)
	only, single := t.onlyText()
	err := decode([]byte(text), &values)
	switch _, wrapped := values[oneArgument]; {
	case err == nil && wrapped && len(values) == 1:
		inner, _ := values[oneArgument].(string)
		return t.read(inner)
	case err == nil && (values != nil || text == ""):
		return values, ""
	case text == "null" || text == "none" || len(t.order) == 0:
		return nil, ""
	case single:
		return map[string]any{only: strings.Trim(text, `"`)}, ""
	}
	return nil, fmt.Sprintf("Not done: the input is no JSON object of this JSON Schema: %s", t.definition.InputSchema)
}

// oneArgument is the only parameter of every tool of langchaingo's agent for OpenAI's functions.
const oneArgument = "__arg1"

func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if inner, fenced := strings.CutPrefix(text, "```"); fenced {
		inner = strings.TrimPrefix(inner, "json")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "```"))
	}
	return text
}

func told(problem *Problem) string {
	if errors.Is(problem, ErrNotFound) {
		return "Not done: this tool is not there any more. Do not call it again."
	}
	var faults []string
	for _, fault := range problem.Errors {
		faults = append(faults, strings.TrimPrefix(fault.Pointer, "/values/")+": "+fault.Detail)
	}
	if len(faults) == 0 {
		faults = append(faults, problem.Detail)
	}
	return "Not done: " + strings.Join(faults, "; ") + "."
}

// Told is what to tell a model of a tool that fired: its result, where there is one.
func (m *Match) Told() string {
	switch {
	case m.State == "confirming":
		return "Not done yet: the user is asked first. " + m.Question
	case m.State == "cancelled":
		return "Not done: it was cancelled."
	case m.Call == nil || m.Call.State == "delivered" && len(m.Call.Result) == 0:
		return "Done."
	case m.Call.State == "delivered":
		return m.Call.Text()
	case m.Call.State == "failed":
		failed := strings.TrimSpace("Failed: " + m.Call.Reason + " " + m.Call.Error)
		if len(m.Call.Result) > 0 { // what the endpoint answered often says what to do
			failed += ": " + m.Call.Text()
		}
		return failed
	}
	return "Under way: it will be done, and its result is not there yet."
}
