//go:build nightly

package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// TestChatClientsTakeTheServiceForTheirModel has OpenAI's client ask three times for one
// answer, and the AI SDK call a tool of its own beside one in scope.
func TestChatClientsTakeTheServiceForTheirModel(t *testing.T) {
	folder := withPackages(t, "chat")
	s := shops(t, scriptedModel())
	require.Equal(t, "openai: It is noted.\nrefused: 401 key_invalid\nai: Booked at noon. | own calls: clock\n",
		run(t, folder, "node", "chat.mjs", s.URL+"/v1/apps/shop", testbed.AdminKey))
	require.Equal(t, 1, s.fired("/v1/apps/shop/sessions/watched"), "three requests of one client are one message")
	require.Equal(t, 1, s.fired("/v1/apps/shopacting/sessions/acted"))
}

// shops is a service with a model, and with two apps that have a tool; shopacting calls it.
func shops(t *testing.T, model http.Handler) *service {
	s := dev(t, "OPENAI_BASE_URL="+testbed.Serve(t, "", model)+"/v1", "OPENAI_API_KEY=sk-scripted")
	for app, settings := range map[string]string{"shop": `{}`, "shopacting": `{"openai":{"mode":"act"}}`} {
		s.Call("PUT", "/v1/apps/"+app, `{"settings":`+settings+`}`)
		s.Call("PUT", "/v1/apps/"+app+"/repositories/tables",
			`{"tools":[{"name":"book","description":"Book a table","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
	}
	return s
}

func (s *service) fired(session string) int {
	var list struct{ Items []struct{ Name string } }
	require.Eventually(s.T, func() bool {
		require.NoError(s.T, json.Unmarshal(s.Call("GET", session+"/triggers", ""), &list))
		return len(list.Items) > 0
	}, testbed.Patience, 10*time.Millisecond)
	return len(list.Items)
}

// scriptedModel breaks twice before it streams its first answer. It books where tools are
// offered, asks for the time where it may, and then says so.
func scriptedModel() http.Handler {
	var streams atomic.Int64
	call := func(name, arguments string) string {
		return fmt.Sprintf(`"tool_calls":[{"index":0,"id":"call_%s","type":"function","function":{"name":%q,"arguments":%q}}]`, name, name, arguments)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read, _ := io.ReadAll(r.Body)
		body := string(read)
		delta, finish := `"content":"It is noted."`, "stop"
		switch {
		case !strings.Contains(body, `"stream":true`): // of the matcher
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":null,%s},"finish_reason":"tool_calls"}]}`, call("book", `{"day":"Friday"}`))
			return
		case streams.Add(1) == 1:
			http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusInternalServerError)
			return
		case streams.Load() == 2:
			panic(http.ErrAbortHandler)
		case strings.Contains(body, "call_clock"):
			delta = `"content":"Booked at noon."`
		case strings.Contains(body, "call_book"):
			delta, finish = call("clock", "{}"), "tool_calls"
		case strings.Contains(body, `"book"`):
			delta, finish = call("book", `{"day":"Friday"}`), "tool_calls"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range []string{`{"role":"assistant","content":""},"finish_reason":null`, `{` + delta + `},"finish_reason":null`, `{},"finish_reason":"` + finish + `"`} {
			_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"scripted","choices":[{"index":0,"delta":`+chunk+"}]}\n\n")
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
}

// TestClientsOfTheResponsesAPITakeTheServiceForTheirModel has OpenAI's client, and OpenAI's agents at their
// defaults, call a tool of their own after one in scope.
func TestClientsOfTheResponsesAPITakeTheServiceForTheirModel(t *testing.T) {
	model := &responder{said: map[string][]any{}, stored: map[string]any{}}
	s := shops(t, model)
	t.Run("openai", func(t *testing.T) {
		folder := withPackages(t, "chat")
		require.Equal(t, `heard: It is noted. | It is noted. | scripted
refused: 401 key_invalid
not served: 404 unknown_path
whole: message reasoning clock | Booked at noon. | clock | 60
streamed: message reasoning clock | Booked at noon. | clock | 60 | One moment.Booked at noon.
`, run(t, folder, "node", "responses.mjs", s.URL+"/v1/apps/shop", testbed.AdminKey))
		for session, app := range map[string]string{"heard": "shop", "whole": "shopacting", "streamed": "shopacting"} {
			require.Equal(t, 1, s.fired("/v1/apps/"+app+"/sessions/"+session), session)
		}
	})
	t.Run("agents", func(t *testing.T) {
		folder := withPackages(t, "agents")
		t.Setenv("OPENAI_BASE_URL", s.URL+"/v1/apps/shopacting/sessions/agents/openai/v1")
		t.Setenv("OPENAI_API_KEY", testbed.AdminKey)
		require.Equal(t, "whole: Booked at noon. | own calls: 1\nstreamed: One moment.Booked at noon. | Booked at noon. | own calls: 2\n", run(t, folder, node22(folder), "listen.mjs"))
		require.Equal(t, 2, s.fired("/v1/apps/shopacting/sessions/agents"), "one for each message")
	})
	require.Empty(t, model.refused)
}

// responder is a model that keeps responses. It refuses what OpenAI refuses: a call without a result, a result without its
// call, and reasoning that nothing follows. It books where tools are offered, asks for the time, and then says so.
type responder struct {
	mu      sync.Mutex
	said    map[string][]any // input and output up to a response
	stored  map[string]any
	refused []string
}

type object = map[string]any

func (m *responder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	var body struct {
		Input    any
		Previous string `json:"previous_response_id"`
		Stream   bool
		Tools    []object
		Messages []object // of the matcher
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
	switch id, asked := strings.CutPrefix(r.URL.Path, "/v1/responses/"); {
	case asked:
		_ = json.NewEncoder(w).Encode(m.stored[id])
		return
	case strings.HasSuffix(r.URL.Path, "/models/scripted"):
		_, _ = w.Write([]byte(`{"id":"scripted","object":"model"}`))
		return
	case r.URL.Path != "/v1/responses": // of the matcher
		said := `"content":"It was thanks."`
		if text := fmt.Sprint(body.Messages[len(body.Messages)-1]["content"]); strings.HasSuffix(text, "a table on Friday") {
			said = `"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"book","arguments":"{\"day\":\"Friday\"}"}}]`
		}
		_, _ = fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant",%s},"finish_reason":"stop"}]}`, said)
		return
	}
	said := m.said[body.Previous]
	if text, is := body.Input.(string); is {
		said = append(said[:len(said):len(said)], object{"role": "user", "content": text})
	} else {
		said = append(said[:len(said):len(said)], body.Input.([]any)...)
	}
	if fault := refusal(said); fault != "" {
		m.refused = append(m.refused, fault)
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(object{"error": object{"message": fault, "type": "invalid_request_error"}})
		return
	}
	id := fmt.Sprintf("resp_%d", len(m.stored)+1)
	output := answerTo(said, body.Tools, id)
	response := object{
		"id": id, "object": "response", "created_at": 1, "status": "completed", "model": "scripted", "output": output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": body.Tools,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "temperature": 1, "top_p": 1,
		"usage": object{"input_tokens": 20, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 10, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 30},
	}
	m.stored[id] = response
	m.said[id] = append(said, output...)
	if !body.Stream {
		_ = json.NewEncoder(w).Encode(response)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	streamOf(w, response, output)
}

func refusal(said []any) string {
	results, calls := map[any]bool{}, map[any]bool{}
	for _, one := range said {
		switch is := one.(object); is["type"] {
		case "function_call":
			calls[is["call_id"]] = true
		case "function_call_output":
			results[is["call_id"]] = true
			if !calls[is["call_id"]] {
				return fmt.Sprintf("No tool call found for function call output with call_id %s.", is["call_id"])
			}
		}
	}
	for i, one := range said {
		switch is := one.(object); {
		case is["type"] == "function_call" && !results[is["call_id"]]:
			return fmt.Sprintf("No tool output found for function call %s.", is["call_id"])
		case is["type"] == "reasoning" && (i+1 == len(said) || said[i+1].(object)["type"] == "reasoning"):
			return fmt.Sprintf("Item %s of type 'reasoning' was provided without its required following item.", is["id"])
		}
	}
	return ""
}

// answerTo looks at what was said and done since the user spoke last.
func answerTo(said []any, tools []object, id string) []any {
	done := map[string]bool{}
	for _, one := range said {
		switch is := one.(object); {
		case is["role"] == "user":
			done = map[string]bool{}
		case is["type"] == "function_call":
			done[is["name"].(string)] = true
		}
	}
	call := func(name, arguments string) []any {
		return []any{object{"id": "rs_" + id, "type": "reasoning", "summary": []any{}}, object{"id": "fc_" + id, "type": "function_call", "status": "completed", "call_id": "call_" + id, "name": name, "arguments": arguments}}
	}
	speak := func(text string) object {
		return object{"id": "msg_" + id, "type": "message", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}}}
	}
	offered := fmt.Sprint(tools)
	switch {
	case done["clock"]:
		return []any{speak("Booked at noon.")}
	case done["book"] && strings.Contains(offered, "clock"):
		return call("clock", "{}")
	case strings.Contains(offered, "book"):
		return append([]any{speak("One moment.")}, call("book", `{"day":"Friday"}`)...)
	default:
		return []any{speak("It is noted.")}
	}
}

func streamOf(w http.ResponseWriter, response object, output []any) {
	sequence := 0
	send := func(kind string, with object) {
		event := object{"type": kind, "sequence_number": sequence}
		maps.Copy(event, with)
		text, _ := json.Marshal(event)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
		w.(http.Flusher).Flush()
		sequence++
	}
	but := func(of object, name string, value any) object {
		copied := maps.Clone(of)
		copied[name], copied["status"] = value, "in_progress"
		return copied
	}
	send("response.created", object{"response": but(response, "output", []any{})})
	send("response.in_progress", object{"response": but(response, "output", []any{})})
	for at, one := range output {
		item := one.(object)
		under := func(with object) object {
			with["item_id"], with["output_index"] = item["id"], at
			return with
		}
		switch item["type"] {
		case "message":
			part := item["content"].([]any)[0].(object)
			send("response.output_item.added", object{"output_index": at, "item": but(item, "content", []any{})})
			send("response.content_part.added", under(object{"content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}, "logprobs": []any{}}}))
			for _, delta := range strings.SplitAfter(part["text"].(string), " ") {
				send("response.output_text.delta", under(object{"content_index": 0, "delta": delta, "logprobs": []any{}}))
			}
			send("response.output_text.done", under(object{"content_index": 0, "text": part["text"], "logprobs": []any{}}))
			send("response.content_part.done", under(object{"content_index": 0, "part": part}))
		case "function_call":
			send("response.output_item.added", object{"output_index": at, "item": but(item, "arguments", "")})
			send("response.function_call_arguments.delta", under(object{"delta": item["arguments"]}))
			send("response.function_call_arguments.done", under(object{"arguments": item["arguments"], "name": item["name"]}))
		default:
			send("response.output_item.added", object{"output_index": at, "item": item})
		}
		send("response.output_item.done", object{"output_index": at, "item": item})
	}
	send("response.completed", object{"response": response})
}
