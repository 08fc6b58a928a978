package matcher

import (
	"encoding/json"
	"regexp"
	"slices"
)

// geminiSchemas is what Gemini takes of JSON Schema, as the description of
// responseJsonSchema in its API lists it.
var geminiSchemas = schemaSubset{
	keywords: []string{
		"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
		"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
	},
	formats: []string{"date-time", "date", "time", "duration"},
}

// Gemini's words for the two sides.
const (
	geminiUser  = "user"
	geminiReply = "model"
)

// The body of a request to generateContent.
type (
	geminiRequest struct {
		Contents          []geminiContent   `json:"contents"`
		GenerationConfig  struct{}          `json:"generationConfig"`
		SystemInstruction *geminiContent    `json:"systemInstruction,omitempty"`
		ToolConfig        *geminiToolConfig `json:"toolConfig,omitempty"`
		Tools             []geminiTools     `json:"tools,omitempty"`
	}
	geminiContent struct {
		Parts []geminiPart `json:"parts"`
		Role  string       `json:"role"`
	}
	geminiPart struct {
		Text      string        `json:"text,omitempty"`
		Call      *geminiCall   `json:"functionCall,omitempty"`
		Result    *geminiResult `json:"functionResponse,omitempty"`
		Signature string        `json:"thoughtSignature,omitempty"`
	}
	geminiCall struct {
		Args json.RawMessage `json:"args"`
		ID   string          `json:"id"`
		Name string          `json:"name"`
	}
	geminiResult struct {
		ID       string                     `json:"id"`
		Name     string                     `json:"name"`
		Response map[string]json.RawMessage `json:"response"`
	}
	geminiTools struct {
		Functions []geminiFunction `json:"functionDeclarations"`
	}
	geminiFunction struct {
		Description string          `json:"description,omitempty"`
		Name        string          `json:"name"`
		Parameters  json.RawMessage `json:"parametersJsonSchema"`
	}
	geminiToolConfig struct {
		Calling geminiCalling `json:"functionCallingConfig"`
	}
	geminiCalling struct {
		Mode string `json:"mode"`
	}
)

// newGeminiRequest renders a request for generateContent. The clock is a part of its own
// before the user's text.
func newGeminiRequest(request completionRequest) geminiRequest {
	rules, parted := sides(request.Messages)
	rendered := geminiRequest{Contents: geminiContents(parted, request)}
	if rules != "" {
		rendered.SystemInstruction = &geminiContent{Role: geminiUser, Parts: []geminiPart{{Text: rules}}}
	}
	if len(request.Tools) > 0 {
		rendered.Tools = []geminiTools{{Functions: geminiFunctions(request.Tools)}}
		rendered.ToolConfig = &geminiToolConfig{Calling: geminiCalling{Mode: "AUTO"}}
	}
	if signs.MatchString(request.Model) {
		signUnsigned(rendered.Contents)
	}
	return rendered
}

func geminiFunctions(tools []toolDefinition) []geminiFunction {
	rendered := make([]geminiFunction, len(tools))
	for i, tool := range tools {
		rendered[i] = geminiFunction{Name: tool.Name, Description: tool.Description, Parameters: geminiSchemas.reduce(tool.Schema)}
	}
	return rendered
}

// geminiContents renders the conversation. The results of calls are a content of their
// own, right after the calls.
func geminiContents(parted []side, request completionRequest) []geminiContent {
	calls, _ := callsByID(request.Messages)
	var contents []geminiContent
	for _, one := range parted {
		var results, parts []geminiPart
		for _, said := range one.Messages {
			if said.Role == roleTool {
				results = append(results, newGeminiResult(calls[said.CallID], said))
				continue
			}
			parts = append(parts, geminiParts(said)...)
		}
		speaker := geminiUser
		if one.Model {
			speaker = geminiReply
		}
		for _, group := range [][]geminiPart{results, parts} {
			if len(group) > 0 {
				contents = append(contents, geminiContent{Role: speaker, Parts: group})
			}
		}
	}
	return contents
}

func geminiParts(said message) []geminiPart {
	var parts []geminiPart
	if said.Text != "" {
		parts = append(parts, geminiPart{Text: said.Text})
	}
	for _, call := range said.Calls {
		parts = append(parts, geminiPart{
			Call: &geminiCall{ID: call.ID, Name: call.Name, Args: sentObject(call.Arguments)}, Signature: call.Echo,
		})
	}
	return parts
}

// newGeminiResult renders what came of a call: its output, as JSON where it is JSON, or
// its error.
func newGeminiResult(call toolCall, result message) geminiPart {
	member, value := "output", json.RawMessage(result.Text)
	if result.Failed {
		member = "error"
	}
	if _, err := decodeStrict(result.Text); err != nil {
		value = json.RawMessage(encode(result.Text))
	}
	return geminiPart{Result: &geminiResult{ID: result.CallID, Name: call.Name, Response: map[string]json.RawMessage{member: value}}}
}

// signs matches the models that refuse calls without a signature in the turn that they
// are to continue; the ones before Gemini 3 do not.
var signs = regexp.MustCompile(`^(?:models/)?gemini-(?:[3-9]|[1-9][0-9]|[a-z])`)

// unsigned is what Gemini's documentation has callers send for a call whose signature
// there is not, such as one out of a history.
const unsigned = "skip_thought_signature_validator"

// signUnsigned signs the first call of each group that the model did not sign, from the
// user's last text on.
func signUnsigned(contents []geminiContent) {
	for _, content := range slices.Backward(contents) {
		if content.Role == geminiUser && slices.ContainsFunc(content.Parts, func(part geminiPart) bool { return part.Text != "" }) {
			return
		}
		first := slices.IndexFunc(content.Parts, func(part geminiPart) bool { return part.Call != nil })
		if first >= 0 && content.Parts[first].Signature == "" {
			content.Parts[first].Signature = unsigned
		}
	}
}
