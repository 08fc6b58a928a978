package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"earshot/matcher/text"
)

// errUnreadableCalls means that an answer has unreadable calls, for example without a name.
var errUnreadableCalls = errors.New("the answer's tool calls cannot be read")

// serverError is an error in the body of an answer with a success status, as some proxies send it.
type serverError string

// Error returns the server's text.
func (e serverError) Error() string { return string(e) }

// answerError is embedded in all answers.
type answerError struct {
	Error anyError `json:"error"`
}

func (e answerError) failed() error {
	if e.Error.text == "" {
		return nil
	}
	return serverError(e.Error.text)
}

func decodeAnswer(body []byte, into interface{ failed() error }) error {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch err := json.Unmarshal(body, into); {
	case len(body) == 0:
		return errors.New("the answer is empty")
	case errors.Is(err, errUnreadableCalls):
		return errUnreadableCalls
	case err != nil && body[0] == '<':
		return errors.New("the answer is HTML, not JSON: check the base URL")
	case err != nil:
		return errors.New("the answer is not the JSON of a completion, or only a part of it")
	}
	return into.failed()
}

// checkFinish returns an error for an unfinished answer: a truncated or filtered answer must never become a match.
// It knows the finish reasons of all providers, because compatible endpoints pass on the model's. If a provider
// documents its reasons for a regular end, sound lists them: any other is an error.
func checkFinish(reason anyText, sound ...anyText) error {
	if reason == "" || slices.Contains(sound, reason) {
		return nil
	}
	switch strings.ToLower(string(reason)) {
	case "length", "max_tokens", "model_length", "model_context_window_exceeded", "error_limit":
		return errors.New("the answer was cut short by the model's limit of tokens")
	case "content_filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii", "error_toxic":
		return errors.New("the provider's content filter withheld the answer")
	case "error", "malformed_function_call":
	default:
		if sound == nil {
			return nil
		}
	}
	return fmt.Errorf("the model failed with finish_reason %q", text.Clip(string(reason), maxFinish))
}

// maxFinish bounds a provider's single word in an error, in bytes.
const maxFinish = 60

// Members of answers have varying JSON types. These types accept them all.
type (
	anyText      string // a text, a number, null, or a list of parts, whose reasoning is left out
	anyArguments string // arguments as text, digit for digit, from a string or from JSON
	// anyCount is a count that may be written as a fraction. Other JSON is zero.
	anyCount int
	// anyError is an error: a text, or an object with a message.
	anyError struct {
		text, param string
		retryDelay  string // from google.rpc.RetryInfo
	}
	// lenient is an object whose unreadable members are skipped.
	lenient[T any] struct{ value T }
)

func (t *anyText) UnmarshalJSON(raw []byte) error {
	if written, ok := stringIn(raw); ok {
		*t = anyText(written)
		return nil
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		*t = anyText(number)
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text any    `json:"text"` // lists in lists are left out: each level would be read once more for all above it
	}
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	for _, part := range parts {
		if written, is := part.Text.(string); is && (part.Type == "text" || part.Type == "") {
			*t += anyText(written)
		}
	}
	return nil
}

func (a *anyArguments) UnmarshalJSON(raw []byte) error {
	written, ok := stringIn(raw)
	if !ok {
		written = string(raw)
	}
	*a = anyArguments(written)
	return nil
}

// stringIn decodes a JSON string, or null as "". A string without escapes needs no decoder.
func stringIn(raw []byte) (written string, ok bool) {
	if len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), true
	}
	return written, json.Unmarshal(raw, &written) == nil
}

func (c *anyCount) UnmarshalJSON(raw []byte) error {
	var n float64
	_ = json.Unmarshal(raw, &n)
	*c = anyCount(min(max(0, n), math.MaxInt32))
	return nil
}

func (e *anyError) UnmarshalJSON(raw []byte) error {
	written, ok := stringIn(raw)
	if e.text = written; ok {
		return nil
	}
	var object struct {
		Message anyText `json:"message"`
		Code    any     `json:"code"`
		Param   anyText `json:"param"`
		Details []struct {
			RetryDelay string `json:"retryDelay"`
		} `json:"details"`
	}
	_ = json.Unmarshal(raw, &object) // the rest is read
	if e.text = string(object.Message); e.text == "" && object.Code != nil {
		e.text = fmt.Sprint(object.Code)
	}
	e.param = string(object.Param)
	for _, detail := range object.Details {
		if e.retryDelay == "" && seconds.MatchString(detail.RetryDelay) {
			e.retryDelay = detail.RetryDelay
		}
	}
	return nil
}

var seconds = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9})?s$`)

// UnmarshalJSON implements json.Unmarshaler.
func (l *lenient[T]) UnmarshalJSON(raw []byte) error {
	_ = json.Unmarshal(raw, &l.value) // the rest is read
	return nil
}

// functionMessage is a message with calls in OpenAI's form, which compatible servers and Cohere share.
type functionMessage struct {
	Content      anyText         `json:"content"`
	Refusal      anyText         `json:"refusal"`
	ToolCalls    functionCalls   `json:"tool_calls"`
	FunctionCall json.RawMessage `json:"function_call"` // the predecessor of tools
}

func (m *functionMessage) calls() ([]toolCall, error) {
	calls := m.ToolCalls
	if len(calls) > 0 || len(m.FunctionCall) == 0 {
		return calls, nil
	}
	err := calls.UnmarshalJSON(m.FunctionCall)
	return calls, err
}

// functionCalls is a list of calls, or a single one.
type functionCalls []toolCall

func (c *functionCalls) UnmarshalJSON(raw []byte) error {
	type function struct {
		Name       anyText      `json:"name"`
		Arguments  anyArguments `json:"arguments"`
		Parameters anyArguments `json:"parameters"` // Cohere's name
	}
	type call struct {
		ID       anyText   `json:"id"`
		Function *function `json:"function"`
		function
	}
	var list []call
	if json.Unmarshal(raw, &list) != nil {
		list = make([]call, 1)
		if json.Unmarshal(raw, &list[0]) != nil {
			return errUnreadableCalls
		}
	}
	for _, one := range list {
		called := one.function
		if one.Function != nil {
			called = *one.Function
		}
		if called.Name == "" {
			return errUnreadableCalls
		}
		*c = append(*c, toolCall{id: string(one.ID), name: string(called.Name), arguments: string(cmp.Or(called.Arguments, called.Parameters))})
	}
	return nil
}
