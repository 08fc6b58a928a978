package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// model is an OpenAI-compatible LLM that does as it is told. A text of
// `call book {"day":"monday"}; note {}` makes it call both; `flaky` in it makes it
// refuse the first time; all else calls nothing.
type model struct {
	secrets func(place, text string)
	pause   atomic.Int64 // before an answer, in nanoseconds

	mu   sync.Mutex
	seen map[string]bool // flaky texts
}

func newModel(secrets func(place, text string)) *model {
	return &model{secrets: secrets, seen: map[string]bool{}}
}

// ServeHTTP answers a chat completion.
func (m *model) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	body := readAll(request.Body)
	m.secrets("a request to the LLM", body)
	var asked struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal([]byte(body), &asked) != nil || len(asked.Messages) == 0 {
		http.Error(out, "no chat completion", http.StatusBadRequest)
		return
	}
	wait(request.Context(), time.Duration(m.pause.Load()))
	text := asked.Messages[len(asked.Messages)-1].Content
	if m.refuses(text) {
		http.Error(out, "overloaded", http.StatusServiceUnavailable)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(completion(text)) // a replica that died is the point
}

func (m *model) refuses(text string) bool {
	if !strings.Contains(text, "flaky") {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.seen[text]
	m.seen[text] = true
	return !before
}

type object = map[string]any

func completion(text string) object {
	message, finish := object{"role": "assistant", "content": "none"}, "stop"
	if said, calling := strings.CutPrefix(text, "call "); calling {
		message, finish = object{"role": "assistant", "tool_calls": calls(said)}, "tool_calls"
	}
	return object{
		"id": "c", "object": "chat.completion", "model": "scripted",
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	}
}

func calls(said string) []object {
	var list []object
	for part := range strings.SplitSeq(said, "; ") {
		name, arguments, _ := strings.Cut(part, " ")
		list = append(list, object{"id": "call_" + name, "type": "function", "function": object{"name": name, "arguments": arguments}})
	}
	return list
}
