package matcher

import "encoding/json"

// serverError is an error that came with a good status, as proxies send it.
type serverError struct{ text string }

func (e *serverError) Error() string { return e.text }

// The shapes in which compatible servers answer. Raw members come in several types.
type (
	rawAnswer struct {
		Error   json.RawMessage `json:"error"`
		Choices []rawChoice     `json:"choices"`
		Usage   json.RawMessage `json:"usage"`
	}
	rawChoice struct {
		Message      *rawMessage     `json:"message"`
		FinishReason json.RawMessage `json:"finish_reason"`
	}
	rawMessage struct {
		Content      json.RawMessage `json:"content"`
		Refusal      json.RawMessage `json:"refusal"`
		ToolCalls    json.RawMessage `json:"tool_calls"`
		FunctionCall *rawFunction    `json:"function_call"` // before there were tools
	}
	rawCall struct {
		ID       json.RawMessage `json:"id"`
		Function *rawFunction    `json:"function"`
		rawFunction
	}
	rawFunction struct {
		Name       json.RawMessage `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"` // Cohere's word
	}
)

// The one shape that go-openai is given.
type (
	plainAnswer struct {
		Choices []plainChoice  `json:"choices"`
		Usage   map[string]any `json:"usage,omitempty"`
	}
	plainChoice struct {
		Message      plainMessage `json:"message"`
		FinishReason string       `json:"finish_reason"`
	}
	plainMessage struct {
		Role      string      `json:"role"`
		Content   string      `json:"content"`
		ToolCalls []plainCall `json:"tool_calls,omitempty"`
	}
	plainCall struct {
		ID       string        `json:"id"`
		Type     string        `json:"type"`
		Function plainFunction `json:"function"`
	}
	plainFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)
