package gemini

import (
	"encoding/json"
	"regexp"
	"slices"

	"earshot/matcher/llm/arguments"
	"earshot/matcher/llm/provider"
)

// schemaSubset is what Gemini takes of JSON Schema, as the description of
// responseJsonSchema in its API lists it.
var schemaSubset = provider.Subset{
	Keywords: []string{
		"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
		"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
	},
	Formats: []string{"date-time", "date", "time", "duration"},
}

// Gemini's words for the two sides.
const (
	userRole  = "user"
	modelRole = "model"
)

// The body of a request to generateContent.
type (
	jsonRequest struct {
		SystemInstruction *jsonContent  `json:"systemInstruction,omitempty"`
		Contents          []jsonContent `json:"contents"`
	}
	jsonContent struct {
		Parts []jsonPart `json:"parts"`
		Role  string     `json:"role"`
	}
	jsonPart struct {
		Text      string      `json:"text,omitempty"`
		Call      *jsonCall   `json:"functionCall,omitempty"`
		Result    *jsonResult `json:"functionResponse,omitempty"`
		Signature string      `json:"thoughtSignature,omitempty"`
	}
	jsonCall struct {
		Args json.RawMessage `json:"args"`
		ID   string          `json:"id"`
		Name string          `json:"name"`
	}
	jsonResult struct {
		ID       string                     `json:"id"`
		Name     string                     `json:"name"`
		Response map[string]json.RawMessage `json:"response"`
	}
	jsonFunction struct {
		Description string          `json:"description,omitempty"`
		Name        string          `json:"name"`
		Parameters  json.RawMessage `json:"parametersJsonSchema"`
	}
)

// newBody renders a request for generateContent. The clock is a part of its own
// before the user's text.
func newBody(request provider.Request) provider.Body {
	rules, parted := provider.Alternate(request.Messages)
	rendered := jsonRequest{Contents: contentsOf(parted, request)}
	if rules != "" {
		rendered.SystemInstruction = &jsonContent{Role: userRole, Parts: []jsonPart{{Text: rules}}}
	}
	if signs.MatchString(request.Model) {
		signUnsigned(rendered.Contents)
	}
	return provider.Body{Model: request.Model, Rest: rendered, Tools: toolsOf(request.Tools), Within: "functionDeclarations"}
}

// toolsOf renders the tools.
func toolsOf(tools []*provider.Tool) []json.RawMessage {
	rendered := make([]json.RawMessage, len(tools))
	for i, tool := range tools {
		rendered[i] = tool.Written("gemini", func(tool *provider.Tool) any {
			return jsonFunction{Name: tool.Name, Description: tool.Description, Parameters: schemaSubset.Reduce(tool.Schema)}
		})
	}
	return rendered
}

// contentsOf renders the conversation. The results of calls are a content of their
// own, right after the calls.
func contentsOf(parted []provider.Side, request provider.Request) []jsonContent {
	calls, _ := provider.CallsByID(request.Messages)
	var contents []jsonContent
	for _, one := range parted {
		var results, parts []jsonPart
		for _, said := range one.Messages {
			if said.Role == provider.ToolResult {
				results = append(results, newResult(calls[said.CallID], said))
				continue
			}
			parts = append(parts, partsOf(said)...)
		}
		speaker := userRole
		if one.Model {
			speaker = modelRole
		}
		for _, group := range [][]jsonPart{results, parts} {
			if len(group) > 0 {
				contents = append(contents, jsonContent{Role: speaker, Parts: group})
			}
		}
	}
	return contents
}

func partsOf(said provider.Message) []jsonPart {
	var parts []jsonPart
	if said.Text != "" {
		parts = append(parts, jsonPart{Text: said.Text})
	}
	for _, call := range said.Calls {
		parts = append(parts, jsonPart{
			Call: &jsonCall{ID: call.ID, Name: call.Name, Args: arguments.Object(call.Arguments)}, Signature: call.Echo,
		})
	}
	return parts
}

// newResult renders what came of a call: its output, as JSON where it is JSON, or
// its error.
func newResult(call provider.Call, result provider.Message) jsonPart {
	member, value := "output", json.RawMessage(result.Text)
	if result.Failed {
		member = "error"
	}
	if _, err := arguments.Decode(result.Text); err != nil {
		value = json.RawMessage(arguments.Encode(result.Text))
	}
	return jsonPart{Result: &jsonResult{ID: result.CallID, Name: call.Name, Response: map[string]json.RawMessage{member: value}}}
}

// signs matches the models that refuse calls without a signature in the turn that they
// are to continue; the ones before Gemini 3 do not.
var signs = regexp.MustCompile(`^(?:models/)?gemini-(?:[3-9]|[1-9][0-9]|[a-z])`)

// unsigned is what Gemini's documentation has callers send for a call whose signature
// there is not, such as one out of a history.
const unsigned = "skip_thought_signature_validator"

// signUnsigned signs the first call of each group that the model did not sign, from the
// user's last text on.
func signUnsigned(contents []jsonContent) {
	for _, content := range slices.Backward(contents) {
		if content.Role == userRole && slices.ContainsFunc(content.Parts, func(part jsonPart) bool { return part.Text != "" }) {
			return
		}
		first := slices.IndexFunc(content.Parts, func(part jsonPart) bool { return part.Call != nil })
		if first >= 0 && content.Parts[first].Signature == "" {
			content.Parts[first].Signature = unsigned
		}
	}
}
