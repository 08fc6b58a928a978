package matcher

import (
	"encoding/json"
	"regexp"
	"slices"

	"google.golang.org/genai"
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

// geminiRequest renders a request for generateContent. The clock is a part of its own
// before the user's text.
func geminiRequest(request completionRequest) ([]*genai.Content, *genai.GenerateContentConfig) {
	rules, parted := sides(request.Messages)
	config := &genai.GenerateContentConfig{
		HTTPOptions: &genai.HTTPOptions{ExtrasRequestProvider: unwrapExact},
		// One message is one request.
		AutomaticContinuation: new(bool),
	}
	if rules != "" {
		config.SystemInstruction = genai.NewContentFromText(rules, genai.RoleUser)
	}
	if len(request.Tools) > 0 {
		config.Tools = []*genai.Tool{{FunctionDeclarations: geminiTools(request.Tools)}}
		config.ToolConfig = &genai.ToolConfig{
			FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAuto},
		}
	}
	contents := geminiContents(parted, request)
	if signs.MatchString(request.Model) {
		signUnsigned(contents)
	}
	return contents, config
}

func geminiTools(tools []toolDefinition) []*genai.FunctionDeclaration {
	rendered := make([]*genai.FunctionDeclaration, len(tools))
	for i, tool := range tools {
		rendered[i] = &genai.FunctionDeclaration{
			Name: tool.Name, Description: tool.Description,
			ParametersJsonSchema: exact(geminiSchemas.reduce(tool.Schema)),
		}
	}
	return rendered
}

// geminiContents renders the conversation. The results of calls are a content of their
// own, right after the calls.
func geminiContents(parted []side, request completionRequest) []*genai.Content {
	calls, _ := called(request.Messages)
	var contents []*genai.Content
	for _, one := range parted {
		var results, parts []*genai.Part
		for _, said := range one.Messages {
			if said.Role == roleTool {
				results = append(results, geminiResult(calls[said.CallID], said))
				continue
			}
			parts = append(parts, geminiParts(said)...)
		}
		role := genai.Role(genai.RoleUser)
		if one.Model {
			role = genai.RoleModel
		}
		for _, group := range [][]*genai.Part{results, parts} {
			if len(group) > 0 {
				contents = append(contents, genai.NewContentFromParts(group, role))
			}
		}
	}
	return contents
}

func geminiParts(said message) []*genai.Part {
	var parts []*genai.Part
	if said.Text != "" {
		parts = append(parts, genai.NewPartFromText(said.Text))
	}
	for _, call := range said.Calls {
		parts = append(parts, &genai.Part{
			FunctionCall:     &genai.FunctionCall{ID: call.ID, Name: call.Name, Args: exact(sentObject(call.Arguments))},
			ThoughtSignature: []byte(call.Echo),
		})
	}
	return parts
}

// geminiResult renders what came of a call: its output, as JSON where it is JSON, or
// its error.
func geminiResult(call toolCall, result message) *genai.Part {
	member, value := "output", json.RawMessage(result.Text)
	if result.Failed {
		member = "error"
	}
	if _, err := decodeStrict(result.Text); err != nil {
		value = json.RawMessage(encode(result.Text))
	}
	object := json.RawMessage(`{"` + member + `":` + string(value) + `}`)
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: result.CallID, Name: call.Name, Response: exact(object)}}
}

// signs matches the models that refuse calls without a signature in the turn that they
// are to continue; the ones before Gemini 3 do not.
var signs = regexp.MustCompile(`^(?:models/)?gemini-(?:[3-9]|[1-9][0-9]|[a-z])`)

// unsigned is what Gemini's documentation has callers send for a call whose signature
// there is not, such as one out of a history.
const unsigned = "skip_thought_signature_validator"

// signUnsigned signs the first call of each group that the model did not sign, from the
// user's last text on.
func signUnsigned(contents []*genai.Content) {
	for _, content := range slices.Backward(contents) {
		if slices.ContainsFunc(content.Parts, func(part *genai.Part) bool { return content.Role == genai.RoleUser && part.Text != "" }) {
			return
		}
		first := slices.IndexFunc(content.Parts, func(part *genai.Part) bool { return part.FunctionCall != nil })
		if first >= 0 && len(content.Parts[first].ThoughtSignature) == 0 {
			content.Parts[first].ThoughtSignature = []byte(unsigned)
		}
	}
}
