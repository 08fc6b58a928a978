package endpoints

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Model is an OpenAI-compatible LLM that does as it is told. A text of
// `call book {"day":"monday"}; note {}` makes it call both. `flaky` in it makes it
// refuse the first time. `fickle` makes it change its mind: asked again, it puts Again
// behind that word. All else calls nothing. Behind the results of tools it says
// those, after Said.
type Model struct {
	// Pause is how long it thinks before an answer, in nanoseconds.
	Pause atomic.Int64

	secrets func(place, text string)

	mu    sync.Mutex
	asked map[string]int // texts that it answers otherwise the second time
}

// Words of the model.
const (
	// Again stands behind a fickle word from the second time on.
	Again = "-again"
	// Said stands before the results of tools.
	Said = "the tools said: "
)

// NewModel returns a Model. It shows every request to secrets.
func NewModel(secrets func(place, text string)) *Model {
	return &Model{secrets: secrets, asked: map[string]int{}}
}

// ServeHTTP answers a chat completion, as a stream where it is asked for one.
func (m *Model) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	body := ReadAll(request.Body)
	m.secrets("a request to the LLM", body)
	var asked struct {
		Stream   bool
		Messages []said
	}
	if json.Unmarshal([]byte(body), &asked) != nil || len(asked.Messages) == 0 {
		http.Error(out, "no chat completion", http.StatusBadRequest)
		return
	}
	m.think(request.Context())
	answer, refuses := m.answer(asked.Messages)
	switch {
	case refuses:
		http.Error(out, "overloaded", http.StatusServiceUnavailable)
	case asked.Stream:
		out.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range answer.chunks() {
			text, _ := json.Marshal(chunk) // plain values always marshal
			_, _ = fmt.Fprintf(out, "data: %s\n\n", text)
			_ = http.NewResponseController(out).Flush() // a replica that died is the point
		}
		_, _ = fmt.Fprint(out, "data: [DONE]\n\n")
	default:
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(answer.completion())
	}
}

func (m *Model) think(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(m.Pause.Load())):
	}
}

// said is a message of a conversation.
type said struct{ Role, Content string }

// spoken is an answer: words, or calls.
type spoken struct {
	text  string
	calls []object
}

// answer is what the model says to a conversation, unless it refuses.
func (m *Model) answer(conversation []said) (answer spoken, refuses bool) {
	last := conversation[len(conversation)-1]
	if last.Role == "tool" {
		return spoken{text: Said + results(conversation)}, false
	}
	text := last.Content
	before := m.times(text)
	if strings.Contains(text, "flaky") && before == 0 {
		return answer, true
	}
	if words, calling := strings.CutPrefix(text, "call "); calling {
		return spoken{calls: calls(words, before)}, false
	}
	return spoken{text: "none"}, false
}

// times counts how often a text was answered before that is not answered the same each time.
func (m *Model) times(text string) int {
	if !strings.Contains(text, "flaky") && !strings.Contains(text, "fickle") {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[text]++
	return m.asked[text] - 1
}

// results are those of the tools at the end of a conversation.
func results(conversation []said) string {
	var list []string
	for _, one := range conversation {
		switch one.Role {
		case "tool":
			list = append(list, one.Content)
		case "user":
			list = nil
		}
	}
	return strings.Join(list, "; ")
}

// calls are the calls that words tell the model to make.
func calls(words string, before int) []object {
	var list []object
	for part := range strings.SplitSeq(words, "; ") {
		name, arguments, _ := strings.Cut(part, " ")
		if before > 0 {
			arguments = strings.ReplaceAll(arguments, "fickle", "fickle"+Again)
		}
		list = append(list, object{"id": "call_" + name, "type": "function", "function": object{"name": name, "arguments": arguments}})
	}
	return list
}

type object = map[string]any

func (s spoken) finish() string {
	if len(s.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (s spoken) completion() object {
	message := object{"role": "assistant", "content": s.text}
	if len(s.calls) > 0 {
		message = object{"role": "assistant", "tool_calls": s.calls}
	}
	return object{
		"id": "c", "object": "chat.completion", "model": "scripted",
		"choices": []object{{"index": 0, "message": message, "finish_reason": s.finish()}},
		"usage":   object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	}
}

// chunks are the answer as a stream: words in two pieces, the arguments of a call apart from its
// name.
func (s spoken) chunks() (list []object) {
	chunk := func(delta object, finish any) {
		list = append(list, object{
			"id": "c", "object": "chat.completion.chunk", "model": "scripted",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	half := len(s.text) / 2
	for _, piece := range []string{s.text[:half], s.text[half:]} {
		if piece != "" {
			chunk(object{"content": piece}, nil)
		}
	}
	for i, call := range s.calls {
		function := call["function"].(object)
		chunk(object{"tool_calls": []object{{"index": i, "id": call["id"], "type": "function", "function": object{"name": function["name"], "arguments": ""}}}}, nil)
		chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": function["arguments"]}}}}, nil)
	}
	chunk(object{}, s.finish())
	return list
}
