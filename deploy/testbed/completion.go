package testbed

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Completion is what a fake LLM with the API of OpenAI answers: a text, or calls of tools.
type Completion struct {
	Text  string
	Calls [][2]string // a name and its arguments
}

// CompletionEnd is the end of a completion that is streamed.
const CompletionEnd = "data: [DONE]\n\n"

// Write answers a request for a chat completion. A client that has gone needs no answer.
func (c Completion) Write(out http.ResponseWriter, streamed bool) {
	type object = map[string]any
	var calls []object
	message, finish := object{"role": "assistant", "content": c.Text}, "stop"
	for i, call := range c.Calls {
		calls = append(calls, object{"id": fmt.Sprint("call_", i), "type": "function", "function": object{"name": call[0], "arguments": call[1]}})
		message, finish = object{"role": "assistant", "content": nil, "tool_calls": calls}, "tool_calls"
	}
	if !streamed {
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(object{
			"id": "c", "object": "chat.completion", "model": "fake",
			"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
			"usage":   object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		})
		return
	}
	out.Header().Set("Content-Type", "text/event-stream")
	send := func(delta object, finish any) {
		text, _ := json.Marshal(object{ // plain values always marshal
			"id": "c", "object": "chat.completion.chunk", "model": "fake",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		_, _ = fmt.Fprintf(out, "data: %s\n\n", text)
		_ = http.NewResponseController(out).Flush()
	}
	send(object{"role": "assistant", "content": ""}, nil)
	if len(calls) == 0 {
		send(object{"content": c.Text[:len(c.Text)/2]}, nil)
		send(object{"content": c.Text[len(c.Text)/2:]}, nil)
	}
	for i, call := range c.Calls { // the name, then its arguments
		send(object{"tool_calls": []object{{"index": i, "id": calls[i]["id"], "type": "function", "function": object{"name": call[0], "arguments": ""}}}}, nil)
		send(object{"tool_calls": []object{{"index": i, "function": object{"arguments": call[1]}}}}, nil)
	}
	send(object{}, finish)
	_, _ = io.WriteString(out, CompletionEnd)
}
