package gateway_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
)

const responsesPath = "/v1/apps/clinic/sessions/s1/openai/v1/responses"

// Items of responses in the API's format.
func says(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":%q,"annotations":[]}]}`, id, text)
}

func calls(id, name, arguments string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function_call","status":"completed","call_id":"call_%s","name":%q,"arguments":%q}`, id, id, name, arguments)
}

func thinks(id string) string { return fmt.Sprintf(`{"id":%q,"type":"reasoning","summary":[]}`, id) }

// response is an answer of one round with a number of tokens.
func response(id string, tokens int, items ...string) string {
	return fmt.Sprintf(`{"id":%q,"object":"response","status":"completed","output":[%s],"usage":{"input_tokens":%d,"output_tokens":1,"total_tokens":%d}}`, id, strings.Join(items, ","), tokens, tokens+1)
}

// events formats stream events, each a type and its other members.
func events(list ...[2]string) string {
	var out strings.Builder
	for i, one := range list {
		_, _ = fmt.Fprintf(&out, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", one[0], one[0], i, one[1])
	}
	return out.String()
}

func began(id string) [][2]string {
	under := fmt.Sprintf(`"response":{"id":%q,"status":"in_progress","output":[]}`, id)
	return [][2]string{{"response.created", under}, {"response.in_progress", under}}
}

// arrives returns the events of an item, with its text or arguments in two parts.
func arrives(at int, item string) (list [][2]string) {
	var of struct{ ID, Type string }
	if err := json.Unmarshal([]byte(item), &of); err != nil {
		panic(err)
	}
	list = append(list, [2]string{"response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, at, item)})
	if delta := map[string]string{"message": "response.output_text.delta", "function_call": "response.function_call_arguments.delta"}[of.Type]; delta != "" {
		list = append(list, [2]string{delta, fmt.Sprintf(`"item_id":%q,"output_index":%d,"delta":"a"`, of.ID, at)}, [2]string{delta, fmt.Sprintf(`"item_id":%q,"output_index":%d,"delta":"b"`, of.ID, at)})
	}
	return append(list, [2]string{"response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, at, item)})
}

func streamed(id string, tokens int, items ...string) string {
	list := began(id)
	for at, one := range items {
		list = append(list, arrives(at, one)...)
	}
	return events(append(list, [2]string{"response.completed", `"response":` + response(id, tokens, items...)})...)
}

// input returns the model's input in a round: the kinds of its items, and the body.
func (m *chatModel) input(t *testing.T, n int) (kinds []string, body string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var got struct{ Input []struct{ Type, Role string } }
	require.NoError(t, json.Unmarshal(m.sent[n], &got), string(m.sent[n]))
	for _, one := range got.Input {
		kinds = append(kinds, cmp.Or(one.Type, one.Role))
	}
	return kinds, string(m.sent[n])
}

func TestAResponseIsRelayedAndHeard(t *testing.T) {
	answers := map[string]string{"whole": response("r1", 5, says("m1", "Hello")), "streamed": streamed("r1", 5, says("m1", "Hello"))}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			model := newChatModel(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[name == "streamed"])
				_, _ = io.WriteString(w, answer)
			})
			w := listening(t, apitest.Everything, model)
			post := func(body string, headers ...string) string {
				got := w.Ask("POST", responsesPath, body, headers...)
				require.Equal(t, "200 "+answer, fmt.Sprint(got.StatusCode, " ", string(got.Body)))
				require.Equal(t, body, string(model.sent[model.count()-1]))
				require.Equal(t, "/v1/responses", model.asked[model.count()-1].URL.Path)
				return got.Header.Get("X-Earshot-Message-Id")
			}
			first := post(` {"model":"m","input":"on \"Friday\"","store":true,"instructions":"Be kind.","odd":[1.0]}`)
			require.NotEmpty(t, first)
			require.Equal(t, first, post(`{"instructions":"It is noon.","input":"on \"Friday\""}`), "a retry, or another answer")
			item := `{"role":"user","content":"on \"Friday\""}`
			require.Equal(t, first, post(`{"input":[{"role":"developer","content":"x"},`+item+`]}`), "a text is a message of the user")
			require.Equal(t, first, post(`{"input":[{"role":"user","content":[{"type":"input_text","text":"on \u0022Friday\u0022"}]}]}`), "written otherwise")
			require.Equal(t, first, post(`{"input":[`+item+`,`+calls("f", "own", "{}")+`,{"type":"function_call_output","call_id":"call_f","output":"4"}]}`), "the client's own tools have answered")
			require.NotEqual(t, first, post(`{"input":"on \"Friday\"","previous_response_id":"r1"}`), "it is said again")
			firedTexts(w, "s1", 2)

			parts := `{"input":[` + item + `,` + says("m1", "Yes?") + `,{"type":"message","role":"user","content":[{"type":"input_text","text":"Monday"},{"type":"input_image","image_url":"data:,]"},{"type":"input_text","text":"at noon"}]}]}`
			post(parts)
			require.Equal(t, "Monday\nat noon", firedTexts(w, "s1", 3)[0])
			var said []string
			for _, one := range settled(w, "s1", 4) {
				said = append(said, one.Actor+" "+one.Text)
			}
			require.Contains(t, said, "agent Yes?")

			require.Equal(t, "turn-1", post(`{"input":"Tuesday","conversation":"conv_1","background":true}`, "Idempotency-Key: turn-1"))
			for _, body := range []string{
				`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:,x"}]}]}`, `{"input":[{"type":"function_call_output","call_id":"c","output":"4"}],"previous_response_id":"r1"}`,
				`{"input":[]}`, `{"prompt":{"id":"p"}}`, `{"input":""}`, `{"input":{}}`, `no JSON`,
			} {
				require.Empty(t, post(body), body)
			}
			firedTexts(w, "s1", 4)
		})
	}
}

func TestCallsInAResponseAreCarriedOut(t *testing.T) {
	offered := `"tools":[{"type":"function","name":"own"},{"type":"function","name":"book"},{"type":"web_search"}],`
	last := response("r2", 20, says("m2", "Booked."))
	w, model := acts(t, response("r1", 10, says("m1", "One moment."), thinks("t1"), calls("f1", "book", `{"day":"5"}`)), strings.Replace(last, `"output"`, offered+`"output"`, 1))
	got := w.Ask("POST", responsesPath, `{"input":"the fifth","tool_choice":"required","store":false,"tools":[{"type":"function","name":"own"},{"type":"web_search"}]}`)
	want := response("r2", 30, says("m1", "One moment."), says("m2", "Booked."))
	want = strings.Replace(want, `"output"`, strings.Replace(offered, `{"type":"function","name":"book"},`, "", 1)+`"output"`, 1)
	got.Is(200, strings.Replace(want, `"output_tokens":1,"total_tokens":31`, `"output_tokens":2,"total_tokens":32`, 1))

	fired := w.Triggers("s1")
	require.Len(t, fired, 1)
	require.EqualValues(t, map[string]any{"day": 5.0, "desk": "A"}, fired[0].Values)
	require.Equal(t, "message "+got.Header.Get("X-Earshot-Message-Id")+" the fifth", fired[0].Source+" "+fired[0].MessageID+" "+fired[0].Text)
	require.Equal(t, "the fifth", settled(w, "s1", 1)[0].Text)

	require.Contains(t, string(model.sent[0]), `"input":"the fifth"`, "what need not change does not")
	require.Contains(t, string(model.sent[0]), `{"type":"web_search"},{"description":"Book","name":"book","parameters":{`)
	require.Contains(t, string(model.sent[0]), `"strict":false`)
	kinds, sent := model.input(t, 1)
	require.Equal(t, []string{"user", "message", "reasoning", "function_call", "function_call_output"}, kinds)
	require.Contains(t, sent, `{"role":"user","content":"the fifth"},`+says("m1", "One moment.")+`,`+thinks("t1")+`,`+calls("f1", "book", `{"day":"5"}`))
	require.Contains(t, sent, `"call_id":"call_f1","output":"{\"result\":{\"ok\":true},\"status\":\"done\"}"`)
	require.Contains(t, sent, `"tool_choice":"auto","store":false`)

	w.Ask("POST", responsesPath, `{"input":[{"role":"user","content":"the fifth"}]}`).Is(200, "")
	require.Len(t, w.Triggers("s1"), 1, "the same again")
}

func TestAStreamedResponseIsOneOfAllRounds(t *testing.T) {
	w, model := acts(t, streamed("r1", 10, says("m1", "One moment."), thinks("t1"), calls("f1", "book", `{"day":5}`))+done, streamed("r2", 20, thinks("t2"), says("m2", "Booked.")))
	got := w.Ask("POST", responsesPath, `{"stream":true,"input":[{"role":"user","content":"the fifth"}]}`)
	list := append(append(append(began("r1"), arrives(0, says("m1", "One moment."))...), arrives(1, thinks("t2"))...), arrives(2, says("m2", "Booked."))...)
	whole := strings.Replace(response("r1", 30, says("m1", "One moment."), thinks("t2"), says("m2", "Booked.")), `"output_tokens":1,"total_tokens":31`, `"output_tokens":2,"total_tokens":32`, 1)
	require.Equal(t, events(append(list, [2]string{"response.completed", `"response":` + whole})...), string(got.Body))
	require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
	require.Len(t, w.Triggers("s1"), 1)
	kinds, _ := model.input(t, 1)
	require.Equal(t, []string{"user", "message", "reasoning", "function_call", "function_call_output"}, kinds)
	require.Equal(t, 2, model.count())

	model.stored = map[string]string{"r1": response("r1", 10, says("m1", "One moment."), thinks("t1"), calls("f1", "book", `{"day":5}`))}
	w.Ask("POST", responsesPath, `{"input":"thank you","previous_response_id":"r1"}`).Is(200, "")
	kinds, sent := model.input(t, 2)
	require.Equal(t, []string{"function_call_output", "user"}, kinds, "the response that began has a call of ours")
	require.Contains(t, sent, `"call_id":"call_f1","output":"{\"result\":{\"ok\":true},\"status\":\"done\"}"`)
	require.Contains(t, sent, `"previous_response_id":"r1"`)
}

// TestOwnCallsOfALaterRoundSayWhereTheyStand: the client only has the id of the first round.
func TestOwnCallsOfALaterRoundSayWhereTheyStand(t *testing.T) {
	w, model := acts(t, streamed("r1", 10, says("m1", "One moment."), calls("f1", "book", `{"day":5}`)), streamed("r2", 20, calls("f2", "look", `{}`)), streamed("r3", 20, says("m2", "Done.")))
	got := string(w.Ask("POST", responsesPath, `{"stream":true,"input":"the fifth"}`).Is(200, "").Body)
	marked := strings.Replace(calls("f2", "look", `{}`), `"call_f2"`, `"call_f2@after:r2"`, 1)
	require.Equal(t, 3, strings.Count(got, marked), "it came, was done, and stands in the response")
	require.NotContains(t, got, `"call_f2"`)

	output := `{"type":"function_call_output","call_id":"call_f2%s","output":"seen"}`
	w.Ask("POST", responsesPath, `{"previous_response_id":"r1","input":[`+fmt.Sprintf(output, "@after:r2")+`]}`).Is(200, "")
	kinds, sent := model.input(t, 2)
	require.Equal(t, []string{"function_call_output"}, kinds)
	require.Contains(t, sent, `"previous_response_id":"r2","input":[`+fmt.Sprintf(output, "")+`]`)
	w.Ask("POST", responsesPath, `{"input":[{"role":"user","content":"the fifth"},`+says("m1", "One moment.")+`,`+marked+`,`+fmt.Sprintf(output, "@after:r2")+`]}`).Is(200, "")
	kinds, sent = model.input(t, 3)
	require.Equal(t, []string{"user", "function_call", "function_call_output", "message", "function_call", "function_call_output"}, kinds)
	require.NotContains(t, sent, "@after")
	require.Len(t, w.Triggers("s1"), 1)
}

// TestAResponseWithoutOurCallsComesAsItIs, including the client's own calls.
func TestAResponseWithoutOurCallsComesAsItIs(t *testing.T) {
	for name, answer := range map[string]string{
		"own calls":             streamed("r1", 10, thinks("t1"), calls("f1", "look", `{}`), says("m1", "Let me see.")),
		"a refusal":             streamed("r1", 10, `{"id":"m1","type":"message","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`),
		"a search":              streamed("r1", 10, thinks("t1"), `{"id":"w1","type":"web_search_call","status":"completed"}`, says("m1", "Rain.")),
		"thoughts alone":        streamed("r1", 10, thinks("t1")),
		"nothing":               streamed("r1", 10),
		"incomplete":            events(append(append(began("r1"), arrives(0, says("m1", "And"))...), [2]string{"response.incomplete", `"response":{"id":"r1","status":"incomplete","output":[` + says("m1", "And") + `]}`})...),
		"failed":                events(append(began("r1"), [2]string{"response.failed", `"response":{"id":"r1","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}`})...),
		"an error":              events(append(began("r1"), [2]string{"error", `"error":{"code":"x","message":"y"}`})...),
		"whole, with own calls": response("r1", 10, thinks("t1"), calls("f1", "look", `{}`)),
		"whole, its own error":  `{"id":"r1","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			w, model := acts(t, answer)
			require.Equal(t, answer, string(w.Ask("POST", responsesPath, `{"input":"x"}`).Is(200, "").Body))
			require.Empty(t, w.Triggers("s1"))
			require.Equal(t, 1, model.count())
		})
	}
}

// TestACallThatIsCutOffIsNotCarriedOut: the answer ends without it.
func TestACallThatIsCutOffIsNotCarriedOut(t *testing.T) {
	cut := func(id string, items ...string) string {
		return strings.Replace(response(id, 10, items...), `"completed"`, `"incomplete"`, 1)
	}
	all := []string{says("m1", "Well."), thinks("t1"), calls("f1", "book", `{"day":5}`)}
	list := append(append(append(began("r1"), arrives(0, all[0])...), arrives(1, all[1])...), arrives(2, all[2])...)
	for name, answer := range map[string]string{"whole": cut("r1", all...), "streamed": events(append(list, [2]string{"response.incomplete", `"response":` + cut("r1", all...)})...)} {
		t.Run(name, func(t *testing.T) {
			w, model := acts(t, answer)
			got := string(w.Ask("POST", responsesPath, `{"input":"the fifth"}`).Is(200, "").Body)
			want := cut("r1", all[0])
			if name == "streamed" {
				want = events(append(append(began("r1"), arrives(0, all[0])...), [2]string{"response.incomplete", `"response":` + want})...)
			}
			require.Equal(t, want, got)
			require.Empty(t, w.Triggers("s1"))
			require.Equal(t, 1, model.count())
		})
	}
}

// TestACallThatIsCutOffInACompleteResponseOrBesideARefusalIsNotCarriedOut: a server may mark the call alone.
func TestACallThatIsCutOffInACompleteResponseOrBesideARefusalIsNotCarriedOut(t *testing.T) {
	const refusal = `{"id":"m1","type":"message","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`
	whole := calls("f1", "book", `{"day":5}`)
	cut := strings.Replace(whole, `"completed"`, `"incomplete"`, 1)
	require.Contains(t, cut, "incomplete")
	for name, answer := range map[string]string{
		"cut": response("r1", 10, cut), "cut, streamed": streamed("r1", 10, cut),
		"refused": response("r1", 10, refusal, whole), "refused, streamed": streamed("r1", 10, whole, refusal),
	} {
		t.Run(name, func(t *testing.T) {
			w, model := acts(t, answer)
			got := string(w.Ask("POST", responsesPath, `{"input":"the fifth"}`).Is(200, "").Body)
			require.Equal(t, strings.HasPrefix(name, "refused"), strings.Contains(got, `"refusal":"No."`))
			require.NotContains(t, got, `"book"`)
			require.Empty(t, w.Triggers("s1"))
			require.Equal(t, 1, model.count())
		})
	}
}

// TestOwnCallsBesideOursArePassedOn: the client continues from the response, or with the whole conversation, unaware of
// our call.
func TestOwnCallsBesideOursArePassedOn(t *testing.T) {
	look, book, said := calls("f1", "look", `{}`), calls("f2", "book", `{"day":5}`), says("m", "Done.")
	for name, both := range map[string][]string{"the client's first": {thinks("t1"), look, book}, "ours first": {thinks("t1"), book, look}} {
		whole := response("r1", 10, thinks("t1"), look)
		inEvents := events(append(append(append(began("r1"), arrives(0, thinks("t1"))...), arrives(1, look)...), [2]string{"response.completed", `"response":` + whole})...)
		for stream, rounds := range map[string][2]string{whole: {response("r1", 10, both...), response("r2", 10, said)}, inEvents: {streamed("r1", 10, both...), streamed("r2", 10, said)}} {
			t.Run(name+" "+stream[:5], func(t *testing.T) {
				w, model := acts(t, rounds[0], rounds[1])
				model.stored = map[string]string{"r1": response("r1", 10, both...)}
				user, result := `{"role":"user","content":"look and book"}`, `{"type":"function_call_output","call_id":"call_f1","output":"seen"}`
				got := w.Ask("POST", responsesPath, `{"input":[`+user+`]}`).Is(200, "")
				require.Equal(t, stream, string(got.Body))
				require.Len(t, w.Triggers("s1"), 1)
				require.Equal(t, 1, model.count())

				w.Ask("POST", responsesPath, `{"previous_response_id":"r1","input":[`+result+`]}`).Is(200, "")
				kinds, sent := model.input(t, 1)
				require.Equal(t, []string{"function_call_output", "function_call_output"}, kinds)
				require.Contains(t, sent, `"call_id":"call_f2","output":"{\"result\":{\"ok\":true},\"status\":\"done\"}"`)
				w.Ask("POST", responsesPath, `{"input":[`+user+`,`+thinks("t1")+`,`+look+`,`+result+`]}`).Is(200, "")
				kinds, sent = model.input(t, 2)
				require.Equal(t, []string{"user", "function_call", "function_call_output", "reasoning", "function_call", "function_call_output"}, kinds)
				require.Contains(t, sent, `"{\"day\":5}","call_id":"act-`)
				require.Len(t, w.Triggers("s1"), 1)
			})
		}
	}
}

// TestAResponseGoesOnFromAnEarlierOne has input without a user message, which came before.
func TestAResponseGoesOnFromAnEarlierOne(t *testing.T) {
	w, model := acts(t, response("r2", 10, calls("f1", "book", `{"day":5}`)), response("r3", 10, says("m", "Booked.")))
	model.answer = alternately(model)
	on := `{"previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"c","output":"seen"}]}`
	for range 2 {
		got := w.Ask("POST", responsesPath, on).Is(200, "")
		require.Empty(t, got.Header.Get("X-Earshot-Message-Id"), "nothing was said")
		require.Len(t, w.Triggers("s1"), 1, "the same again fires nothing again")
		kinds, sent := model.input(t, model.count()-1)
		require.Equal(t, []string{"function_call_output", "function_call", "function_call_output"}, kinds)
		require.Contains(t, sent, `"previous_response_id":"r1"`)
	}
	w.Ask("POST", responsesPath, strings.Replace(on, "r1", "r3", 1)).Is(200, "")
	require.Len(t, w.Triggers("s1"), 2, "another turn")
	w.Ask("POST", responsesPath, strings.Replace(on, "seen", "nothing", 1)).Is(200, "")
	require.Len(t, w.Triggers("s1"), 3, "another result")
	settled(w, "s1", 0)
}

// alternately answers with a call, and with text after its result.
func alternately(model *chatModel) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		model.mu.Lock()
		carried := strings.Contains(string(model.sent[len(model.sent)-1]), `"call_f1"`)
		model.mu.Unlock()
		answer := response("r2", 10, calls("f1", "book", `{"day":5}`))
		if carried {
			answer = response("r3", 10, says("m", "Booked."))
		}
		_, _ = io.WriteString(w, answer)
	}
}

func TestAnErrorInALaterRoundIsTheLastEvent(t *testing.T) {
	refused := `{"error":{"message":"slow down","type":"rate","param":null,"code":"rate_limit_exceeded"}}`
	rounds := 0
	model := newChatModel(t, func(out http.ResponseWriter, _ *http.Request) {
		if rounds++; rounds > 1 {
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(429)
			_, _ = io.WriteString(out, refused)
			return
		}
		out.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(out, streamed("r1", 1, says("m1", "Well."), calls("f1", "book", `{"day":5}`)))
	})
	w, _ := actsOn(t, time.Now, model)
	got := string(w.Ask("POST", responsesPath, `{"stream":true,"input":"the fifth"}`).Is(200, "").Body)
	require.True(t, strings.HasSuffix(got, "event: error\n"+`data: {"type":"error","sequence_number":6,"code":"rate_limit_exceeded","message":"slow down","param":null,"error":{"message":"slow down","type":"rate","param":null,"code":"rate_limit_exceeded"}}`+"\n\n"), got)
}

// breaksOff checks that the answer to a request for a response does not come to its end.
func breaksOff(w apitest.World, body string) {
	w.T.Helper()
	got, err := sends(w, responsesPath, body)
	if err == nil {
		_, err = io.ReadAll(got.Body)
		_ = got.Body.Close()
	}
	require.Error(w.T, err)
}

// TestAStreamWithoutAnEndBreaksOff: the client must not take it as complete.
func TestAStreamWithoutAnEndBreaksOff(t *testing.T) {
	for name, answer := range map[string]string{
		"in a text": events(append(began("r1"), arrives(0, says("m1", "Well."))...)...),
		"in a call": events(append(began("r1"), arrives(0, calls("f1", "book", `{"day":5}`))...)...),
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := acts(t, answer)
			breaksOff(w, `{"input":"the fifth"}`)
			require.Empty(t, w.Triggers("s1"))
		})
	}
}

func TestAResponseThatNobodyWaitsForIsRelayed(t *testing.T) {
	answer := response("r1", 1, calls("f1", "book", `{"day":5}`))
	w, model := acts(t, answer)
	for _, with := range []string{`"background":true,`, `"conversation":"conv_1",`, `"conversation":{"id":"conv_1"},`} {
		body := `{` + with + `"input":"the fifth"}`
		w.Ask("POST", responsesPath, body).Is(200, answer)
		require.Equal(t, body, string(model.sent[model.count()-1]))
	}
	w.Ask("POST", "/v1/apps/clinic/openai/v1/responses", `{"input":"nobody"}`).Is(200, answer)
	require.Empty(t, w.Triggers("s1"))
	w.Ask("POST", responsesPath, `{"input":"the fifth","background":false,"conversation":null}`).Is(502, "") // it calls for ever
	require.Len(t, w.Triggers("s1"), 1)
}

func TestModelsAndLengthsOfResponsesAreBounded(t *testing.T) {
	for _, mode := range []string{"watch", "act"} {
		t.Run(mode, func(t *testing.T) {
			w, model := relaying(t)
			w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"openai":{"mode":"`+mode+`","limits":{"requestsPerMinute":12,"models":["small"],"maxTokens":100}}}}`).Is(200, "")
			ask := func(with string) apitest.Answer {
				return w.Ask("POST", responsesPath, `{`+with+`"input":"hello"}`)
			}
			openAIError(ask(`"model":"gpt-5-pro",`), 403, "permission_error", "model_not_allowed")
			openAIError(ask(`"model":"small","max_output_tokens":101,`), 400, "invalid_request_error", "max_tokens_exceeded", "max_output_tokens")
			openAIError(ask(`"model":"small","max_output_tokens":1,"max_output_tokens":2,`), 400, "invalid_request_error", "invalid_body")
			require.Zero(t, model.count())
			ask(`"model":"small","max_tokens":7,`).Is(200, completion)
			require.Contains(t, string(model.sent[0]), `"max_output_tokens":100,`)
			ask(`"model":"small","max_output_tokens":7,`).Is(200, completion)
			require.NotContains(t, string(model.sent[1]), `100`)
			for range 10 {
				ask(`"model":"small",`).Is(200, completion)
			}
			openAIError(ask(`"model":"small",`), 429, "rate_limit_error", "rate_limited", "requestsPerMinute")
		})
	}
}

func TestATokensResponsesAreOfItsSession(t *testing.T) {
	w, model := relaying(t)
	as := "Authorization: Bearer " + credentialsOf(w, "clinic")["token"]
	openAIError(w.Call("POST", strings.Replace(responsesPath, "s1", "s2", 1), `{"input":"Friday"}`, as), 403, "permission_error", "forbidden")
	openAIError(w.Call("POST", "/v1/apps/clinic/openai/v1/responses", `{"input":"Friday","metadata":{"session_id":"s2"}}`, as), 403, "permission_error", "forbidden")
	require.Zero(t, model.count())
	w.Ask("POST", "/v1/apps/clinic/openai/v1/responses", `{"input":[`+says("m", "Your code is 4711")+`,{"role":"user","content":"Friday"}]}`, as).Is(200, completion)
	require.Equal(t, []string{"Friday"}, firedTexts(w, "s1", 1))
	require.Len(t, settled(w, "s1", 1), 1, "a visitor does not speak for the assistant")
}

func TestOneModelIsLookedUp(t *testing.T) {
	w, model := relaying(t)
	for asked, want := range map[string]string{"gpt-4o": "gpt-4o", "meta%2Fllama": "meta%2Fllama", "ft:gpt-4o:org::id": "ft:gpt-4o:org::id", "a%3Fb": "a%3Fb", "a..b%2F.c": "a..b%2F.c", "a%25": "a%25"} {
		w.Ask("GET", "/v1/apps/clinic/openai/v1/models/"+asked, "").Is(200, completion)
		require.Equal(t, "/v1/models/"+want, model.asked[model.count()-1].URL.EscapedPath())
	}
	for _, asked := range []string{
		"%2E%2E", "..%2Ffiles", "x%2F..%2F..%2Ffiles", "%2e%2e%2ffiles", "..%252Ffiles", "%252e%252E%25252Ffiles", "..%5Cfiles", "..%255Cfiles", "x%2F.%2Fy", "%25zz%2F..",
	} {
		openAIError(w.Ask("GET", "/v1/apps/clinic/openai/v1/models/"+asked, ""), 400, "invalid_request_error", "invalid_path", "modelId")
	}
	require.Equal(t, 6, model.count())
}

// TestWhatAStoredResponseHasSaidCounts: the client does not send it, but the model's host stores it.
func TestWhatAStoredResponseHasSaidCounts(t *testing.T) {
	for _, mode := range []string{"watch", "act"} {
		t.Run(mode, func(t *testing.T) {
			model := newChatModel(t, nil)
			model.stored = map[string]string{"r1": response("r1", 1, thinks("t"), says("m1", "B-2,"), says("m2", "is it?")), "r2": `{"id":"r2"}`, "r.": response("r.", 1, says("m1", "odd"))}
			w := listening(t, apitest.Everything, model)
			w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"openai":{"mode":"`+mode+`"}}}`).Is(200, "")
			ask := func(session, id string, headers ...string) {
				w.Ask("POST", strings.Replace(responsesPath, "s1", session, 1), `{"input":"that one","previous_response_id":"`+id+`"}`, headers...).Is(200, completion)
			}
			ask("s1", "r1")
			entries := settled(w, "s1", 2)
			require.ElementsMatch(t, []string{"agent B-2,\nis it?", "user that one"}, []string{entries[0].Actor + " " + entries[0].Text, entries[1].Actor + " " + entries[1].Text})
			for i, id := range []string{"r2", "gone", "r.", "../models"} {
				ask(fmt.Sprint("other", i), id)
				settled(w, fmt.Sprint("other", i), 1)
			}
			w.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
			ask("s1", "r1", "Authorization: Bearer "+credentialsOf(w, "clinic")["token"])
			settled(w, "s1", 1)
		})
	}
}

// TestAYesToAStoredQuestionLetsItGo is the row of confirm.md about a question asked by the model.
func TestAYesToAStoredQuestionLetsItGo(t *testing.T) {
	w, model := acts(t, response("r1", 1, calls("f1", "refund", `{"order":"A1"}`)), response("r2", 1, says("m1", "Shall I?")))
	w.Ask("POST", responsesPath, `{"input":"refund order A1"}`).Is(200, "")
	asked := waiting(w)
	model.stored = map[string]string{"r2": response("r2", 1, says("m1", "One thing. "+asked.Question))}
	w.Ask("POST", responsesPath, `{"input":"yes","previous_response_id":"r2"}`).Is(200, "")
	require.Equal(t, "delivered", w.Triggers("s1")[0].State)
	kinds, sent := model.input(t, 2)
	require.Equal(t, []string{"user", "system"}, kinds)
	require.Contains(t, sent, "tool refund asked")
}

// TestReasoningStaysWithWhatCameOfIt: a model's host refuses one without the other.
func TestReasoningStaysWithWhatCameOfIt(t *testing.T) {
	w, model := acts(t, response("r1", 10, thinks("t1"), calls("f1", "book", `{"day":5}`), thinks("t2"), says("m1", "Well.")), response("r2", 10, says("m2", "Booked.")))
	got := w.Ask("POST", responsesPath, `{"input":"the fifth"}`).Is(200, "")
	require.Contains(t, string(got.Body), `"output":[`+thinks("t2")+`,`+says("m1", "Well.")+`,`+says("m2", "Booked.")+`]`)
	kinds, _ := model.input(t, 1)
	require.Equal(t, []string{"user", "reasoning", "function_call", "reasoning", "message", "function_call_output"}, kinds)
}

// TestWhatTheClientAnswersForIsAnsweredOnce, although it does not name its tools again.
func TestWhatTheClientAnswersForIsAnsweredOnce(t *testing.T) {
	w, model := acts(t, response("r2", 10, says("m", "Seen.")))
	model.stored = map[string]string{"r1": response("r1", 10, calls("f1", "look", `{}`))}
	w.Ask("POST", responsesPath, `{"previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"call_f1","output":"seen"}]}`).Is(200, "")
	kinds, _ := model.input(t, 0)
	require.Equal(t, []string{"function_call_output"}, kinds)
}

func TestCallsThatAreKeptBackAreBounded(t *testing.T) {
	list := append(began("r1"), [2]string{"response.output_item.added", `"output_index":0,"item":` + calls("f1", "look", "")})
	for range 17 {
		list = append(list, [2]string{"response.function_call_arguments.delta", `"output_index":0,"delta":"` + strings.Repeat("a", 1<<20) + `"`})
	}
	w, _ := acts(t, events(append(list, [2]string{"response.completed", `"response":` + response("r1", 1, calls("f1", "look", ""))})...))
	breaksOff(w, `{"input":"the fifth"}`)
}
