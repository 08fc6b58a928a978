//go:build nightly

package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
	model := httptest.NewServer(scriptedModel())
	t.Cleanup(model.Close)
	s := dev(t, "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=sk-scripted")
	const tools = `{"tools":[{"name":"book","description":"Book a table","schema":[{"parameter":"day","type":"string","required":true}]}]}`
	for app, settings := range map[string]string{"shop": `{}`, "shopacting": `{"openai":{"mode":"act"}}`} {
		s.Call("PUT", "/v1/apps/"+app, `{"settings":`+settings+`}`)
		s.Call("PUT", "/v1/apps/"+app+"/repositories/tables", tools)
	}
	require.Equal(t, "openai: It is noted.\nrefused: 401 key_invalid\nai: Booked at noon. | own calls: clock\n",
		run(t, folder, "node", "chat.mjs", s.URL+"/v1/apps/shop", testbed.AdminKey))
	require.Equal(t, 1, s.fired("/v1/apps/shop/sessions/watched"), "three requests of one client are one message")
	require.Equal(t, 1, s.fired("/v1/apps/shopacting/sessions/acted"))
}

func (s *service) fired(session string) int {
	var list struct{ Items []struct{ Name string } }
	require.Eventually(s.t, func() bool {
		require.NoError(s.t, json.Unmarshal(s.Call("GET", session+"/triggers", ""), &list))
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
