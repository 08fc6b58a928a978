package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Reply is what the server answers a request with.
type Reply struct {
	status int
	header http.Header
	body   string
	hang   bool
}

// Call answers with one tool call, whose arguments are sent as they are given.
func Call(name, arguments string) Reply { return Calls([2]string{name, arguments}) }

// Calls answers with several tool calls, each a name and its arguments.
func Calls(calls ...[2]string) Reply {
	rendered := make([]map[string]any, len(calls))
	for i, call := range calls {
		rendered[i] = map[string]any{
			"id": fmt.Sprintf("call_%d", i+1), "type": "function",
			"function": map[string]string{"name": call[0], "arguments": call[1]},
		}
	}
	return Answer(map[string]any{"role": "assistant", "content": nil, "tool_calls": rendered}, "tool_calls")
}

// Text answers with text and no call.
func Text(text string) Reply {
	return Answer(map[string]any{"role": "assistant", "content": text}, "stop")
}

// Answer answers with any message and finish_reason.
func Answer(message any, finish string) Reply {
	body, err := json.Marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage": map[string]any{
			"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110,
			"prompt_tokens_details": map[string]int{"cached_tokens": 64},
		},
	})
	if err != nil {
		panic(fmt.Sprintf("llmtest: the message cannot be marshalled: %v", err))
	}
	return Raw(string(body))
}

// Raw answers 200 with a body as it is.
func Raw(body string) Reply { return Status(http.StatusOK, nil, body) }

// Status answers with a status, headers (nil for none) and a body as it is.
func Status(code int, header http.Header, body string) Reply {
	return Reply{status: code, header: header, body: body}
}

// Hang does not answer until the client goes away or the test ends.
func Hang() Reply { return Reply{hang: true} }

func (reply Reply) write(w http.ResponseWriter, r *http.Request, done <-chan struct{}) {
	if reply.hang {
		select {
		case <-r.Context().Done():
		case <-done:
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for name, values := range reply.header {
		w.Header()[name] = values
	}
	w.WriteHeader(reply.status)
	_, _ = w.Write([]byte(reply.body)) // a client that went away is the test's business
}
