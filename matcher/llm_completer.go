package matcher

import (
	"context"
	"encoding/json"
)

// completer is an LLM with tool calling, whoever provides it. complete sends one
// request and makes no second attempt of its own at an answer that it did not like.
// Its error is an *Unavailable, or the context's.
type completer interface {
	complete(ctx context.Context, request completionRequest) (completion, error)
}

// role says whose a message is.
type role string

const (
	roleSystem    role = "system"
	roleUser      role = "user"
	roleAssistant role = "assistant"
	roleTool      role = "tool" // the result of a call
)

// completionRequest is what a model is asked, in no provider's dialect.
type completionRequest struct {
	Model    string
	Messages []message
	// Tools may be called, in any number; with none of them the model can only talk.
	Tools []toolDefinition
}

// message is one message of the conversation as the model sees it.
type message struct {
	Role  role
	Text  string
	Calls []toolCall // of the assistant
	// CallID is the call whose result a message of roleTool is; Failed says that the
	// result is none.
	CallID string
	Failed bool
}

// toolDefinition is a tool that is offered. Name and the names of the top-level
// properties are ones that every provider takes.
type toolDefinition struct {
	Name        string
	Description string
	Schema      json.RawMessage
	// Passing is true for a tool of a session's own, which other sessions do not offer.
	Passing bool
}

// toolCall is a call as the model wrote it: Arguments should be a JSON object.
type toolCall struct {
	ID        string
	Name      string
	Arguments string
	// Echo is what the provider sent with the call for itself alone, and wants back
	// with it as it came.
	Echo string
}

// completion is the model's answer.
type completion struct {
	Text  string
	Calls []toolCall
	Usage Usage
}

// Usage counts the tokens of one request, as far as the provider tells.
type Usage struct {
	Prompt     int // all of the request
	Cached     int // of Prompt, those that came cheaper out of the provider's cache
	Completion int
}
