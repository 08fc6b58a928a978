package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/matcher/llm"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/usage"
)

// acts is a clinic in mode act, with booking for all sessions and a scripted model.
func acts(t *testing.T, rounds ...string) (apitest.World, *chatModel) {
	return actsAt(t, time.Now, rounds...)
}

func actsAt(t *testing.T, now func() time.Time, rounds ...string) (apitest.World, *chatModel) {
	var model *chatModel
	model = newChatModel(t, func(w http.ResponseWriter, _ *http.Request) {
		answer := rounds[min(model.count(), len(rounds))-1]
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(answer, "data:") || strings.HasPrefix(answer, "event:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, answer)
	})
	return actsOn(t, now, model)
}

// actsOn is such a clinic with a given model, and more options.
func actsOn(t *testing.T, now func() time.Time, model *chatModel, more ...func(*api.Options)) (apitest.World, *chatModel) {
	w := apitest.Live(t, func(matcher.Request) (matcher.Result, error) {
		t.Error("the matcher is asked for nothing")
		return matcher.Result{}, nil
	}, model.behind, func(o *api.Options) {
		o.Now, o.Model.Arguments, o.Model.Read = now, llm.ReadArguments, evidence.Read
		for _, set := range more {
			set(o)
		}
	})
	putActing(w)
	return w, model
}

func putActing(w apitest.World) {
	w.Call("PUT", "/v1/apps/clinic", strings.Replace(apitest.ClinicBody, `{`, `{"settings":{"openai":{"mode":"act"}},`, 1)).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/booking", `{"tools":[
		{"name":"book","description":"Book","schema":[{"parameter":"day","type":"integer","required":true},{"parameter":"desk","type":"string","value":"A"}],"url":"https://example.org/book"},
		{"name":"refund","description":"Refund","confirm":"always","schema":[{"parameter":"order","type":"string"}],"url":"https://example.org/refund"},
		{"name":"ring","description":"Ring"},{"name":"collect-user-message","schema":[{"parameter":"value","type":"string"}]}]}`).Is(201, "")
}

// calling is an unstreamed answer with calls, each a name and its arguments.
func calling(content string, calls ...[2]string) string {
	var list []string
	for i, one := range calls {
		text, _ := json.Marshal(one[1])
		list = append(list, fmt.Sprintf(`{"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}`, i, one[0], text))
	}
	return `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":` + content + `,"tool_calls":[` + strings.Join(list, ",") +
		`]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"odd":1}}`
}

const booked = `{"id":"y","big":12345678901234567890,"choices":[{"index":0,"message":{"role":"assistant","content":"Booked."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":3,"total_tokens":23}}`

// conversation returns the roles and the body of a request to the model, without the caller's messages.
func (m *chatModel) conversation(t *testing.T, n int) (roles []string, body string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var got struct{ Messages []struct{ Role string } }
	require.NoError(t, json.Unmarshal(m.sent[n], &got), string(m.sent[n]))
	for _, one := range got.Messages {
		roles = append(roles, one.Role)
	}
	return roles, string(m.sent[n])
}

func TestCallsOfToolsInScopeAreCarriedOut(t *testing.T) {
	w, model := acts(t, calling(`"One moment."`, [2]string{"book", `{"day":"5","extra":1}`}), booked)
	got := w.Ask("POST", sessionChatPath, saying("the fifth"))
	require.Equal(t, 200, got.StatusCode, string(got.Body))
	require.Equal(t, strings.NewReplacer(`"Booked."`, `"One moment.\nBooked."`, ":20,", ":30,", ":3,", ":5,", ":23}", ":35}").Replace(booked), string(got.Body))

	fired := w.Triggers("s1")
	require.Len(t, fired, 1)
	require.EqualValues(t, map[string]any{"day": float64(5), "desk": "A"}, fired[0].Values)
	require.Equal(t, "message "+got.Header.Get("X-Earshot-Message-Id")+" the fifth", fired[0].Source+" "+fired[0].MessageID+" "+fired[0].Text)
	require.Equal(t, []string{"day"}, fired[0].Coerced)
	entries := settled(w, "s1", 1)
	require.Equal(t, "the fifth", entries[0].Text)

	roles, first := model.conversation(t, 0)
	require.Equal(t, []string{"system", "user"}, roles)
	require.Contains(t, first, `"name":"book"`)
	require.NotContains(t, first, "desk")
	require.NotContains(t, first, "collect-user-message")
	roles, second := model.conversation(t, 1)
	require.Equal(t, []string{"system", "user", "assistant", "tool"}, roles)
	require.Contains(t, second, `"tool_call_id":"call_0","content":"{\"result\":{\"ok\":true},\"status\":\"done\"}"`)
	require.Empty(t, sinkTexts(w, "notmatching"))
}

func TestTheModelIsToldWhatAnEndpointRefused(t *testing.T) {
	w, model := acts(t, calling("null", [2]string{"book", `{"day":5}`}), booked)
	w.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Dead, Status: 422, Reason: effect.ReasonRequest, Error: "it answered 422", Result: json.RawMessage(`{"message":"closed"}`)}
	})
	w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "")
	_, sent := model.conversation(t, 1)
	require.Contains(t, sent, `"{\"error\":\"it answered 422\",\"result\":{\"message\":\"closed\"},\"status\":\"failed\"}"`)
}

func TestAMessageHasWhatTheModelCalledForIt(t *testing.T) {
	w, _ := acts(t, calling("null", [2]string{"book", `{"day":5}`}, [2]string{"ring", `{}`}), calling("null", [2]string{"ring", `{}`}, [2]string{"refund", `{"order":"7"}`}), booked)
	id := w.Ask("POST", sessionChatPath, saying("the fifth, and more")).Is(200, "").Header.Get("X-Earshot-Message-Id")
	var message query.Entry
	require.Eventually(t, func() bool { // effects are recorded after the answer
		require.NoError(t, json.Unmarshal(w.Call("GET", apitest.MessagesPath+"/"+id, "").Is(200, "").Body, &message))
		return message.Matches[0].State == query.StateDelivered
	}, time.Minute, time.Millisecond)
	require.Equal(t, []query.Entry{message}, settled(w, "s1", 1))
	require.Equal(t, message.Matches, message.Triggers)
	var called []string
	for _, match := range message.Matches {
		called = append(called, fmt.Sprint(match.Name, " ", match.Source, " ", match.Values))
	}
	require.Equal(t, []string{"book message map[day:5 desk:A]", "ring message map[]", "refund message map[order:7]"}, called)
	require.Equal(t, query.StateConfirming, message.Matches[2].State)
	require.NotEmpty(t, message.Matches[2].Question)
	require.Contains(t, string(w.Call("GET", "/v1/apps/clinic/sessions?outcome=fired", "").Is(200, "").Body), `"s1"`)
	var explained struct{ Why string }
	require.NoError(t, json.Unmarshal(w.Call("GET", apitest.MessagesPath+"/"+id+"/explain", "").Is(200, "").Body, &explained))
	require.Equal(t, "Nothing is matched: the model of the chat is offered the tools in scope, and calls them itself. "+
		"The model called booking/book, booking/ring, booking/refund.", explained.Why)
}

func sinkTexts(w apitest.World, word string) (subjects []string) {
	for _, event := range w.Sink.All() {
		if strings.Contains(event.Subject, word) {
			subjects = append(subjects, event.Subject)
		}
	}
	return subjects
}

func TestARetryGivesTheFirstResultsAndFiresNothing(t *testing.T) {
	w, _ := acts(t, calling("null", [2]string{"book", `{"day":5}`}, [2]string{"book", `{"day":6}`}), booked,
		calling("null", [2]string{"book", `{"day":6}`}, [2]string{"book", `{"day":7}`}), booked)
	for range 2 {
		w.Ask("POST", sessionChatPath, saying("both days")).Is(200, "")
	}
	fired := w.Triggers("s1")
	require.Len(t, fired, 2, "the model that says it otherwise is given what was done")
	require.Len(t, settled(w, "s1", 1), 1)
	w.Ask("POST", sessionChatPath, saying("both days", "again")).Is(200, "")
	require.Len(t, w.Triggers("s1"), 2, "it called for nothing")
	other := strings.Replace(sessionChatPath, "s1", "s2", 1)
	w.Ask("POST", other, saying("both days")).Is(200, "")
	require.Empty(t, w.Triggers("s2"))
	w.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	require.Empty(t, w.Triggers("s1"))
}

func TestASessionThatBeginsAnewFiresAnew(t *testing.T) {
	w, model := acts(t, calling("null", [2]string{"book", `{"day":5}`}), booked, calling("null", [2]string{"book", `{"day":5}`}), booked)
	w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "")
	first := w.Triggers("s1")[0].TriggerID
	w.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "")
	require.Equal(t, 4, model.count())
	require.Len(t, w.Triggers("s1"), 1)
	require.NotEqual(t, first, w.Triggers("s1")[0].TriggerID)
}

// unreadLives are keys whose lives cannot be read while failing is set, as while Redis is away.
type unreadLives struct {
	api.KeyStore
	failing *atomic.Bool
}

func (l unreadLives) CachedGeneration(ctx context.Context, appID, sessionID string) (store.Generation, error) {
	if l.failing.Load() {
		return store.Generation{}, keyspace.ErrUnavailable
	}
	return l.KeyStore.CachedGeneration(ctx, appID, sessionID)
}

func TestACallOfASessionWhoseLifeCannotBeReadIsNotCarriedOut(t *testing.T) {
	var failing atomic.Bool
	model := newChatModel(t, nil)
	model.answer = func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, []string{calling("null", [2]string{"book", `{"day":5}`}), booked}[(model.count()-1)%2])
	}
	w, _ := actsOn(t, time.Now, model, func(o *api.Options) { o.Keys = unreadLives{o.Keys, &failing} })
	scripted := model.answer
	model.answer = func(out http.ResponseWriter, r *http.Request) {
		failing.Store(true)
		scripted(out, r)
	}
	for _, asked := range []int{1, 1} { // the second fails before the model is asked
		w.Ask("POST", sessionChatPath, saying("the fifth")).Is(503, "")
		require.Equal(t, asked, model.count())
	}
	require.Empty(t, w.Triggers("s1"), "with another id it would fire again")
	failing.Store(false)
	model.asked, model.sent, model.answer = nil, nil, scripted
	for range 2 {
		w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "")
	}
	require.Len(t, w.Triggers("s1"), 1)
}

// TestACallAfterTheEndOfItsSessionIsNotCarriedOut ends the session or its app while the model answers.
func TestACallAfterTheEndOfItsSessionIsNotCarriedOut(t *testing.T) {
	const session = "/v1/apps/clinic/sessions/s1"
	for form, asked := range map[string]struct{ path, body, answer string }{
		"chat": {sessionChatPath, saying("the fifth"), calling("null", [2]string{"book", `{"day":5}`})},
		"streamed chat": {sessionChatPath, saying("the fifth"), chunk(speaks, "null") +
			chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"book","arguments":"{\"day\":5}"}}]}`, "null") + chunk("{}", `"tool_calls"`) + done},
		"streamed chat with a call of the client": {sessionChatPath, saying("the fifth"), chunk(speaks, "null") +
			chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"book","arguments":"{\"day\":5}"}},{"index":1,"id":"d","function":{"name":"own","arguments":""}}]}`, "null") + chunk("{}", `"tool_calls"`) + done},
		"response":          {responsesPath, `{"input":"the fifth"}`, response("r1", 10, calls("f1", "book", `{"day":5}`))},
		"streamed response": {responsesPath, `{"input":"the fifth"}`, streamed("r1", 10, calls("f1", "book", `{"day":5}`))},
	} {
		for name, test := range map[string]struct {
			end    func(w apitest.World)
			status int
			word   string
		}{
			"closed": {func(w apitest.World) { w.Ask("DELETE", session, "") }, 409, "the session was closed"},
			"erased": {func(w apitest.World) {
				mark, err := w.Store.BeginErasing(t.Context(), "clinic", "s1")
				_ = errors.Join(err, mark.Drop(t.Context()), mark.End(t.Context()))
			}, 409, "the session was closed"},
			"deleted": {func(w apitest.World) { w.Ask("DELETE", "/v1/apps/clinic", "") }, 404, "not found"},
			"anew": {func(w apitest.World) {
				w.Ask("DELETE", "/v1/apps/clinic", "")
				putActing(w)
			}, 409, "the session was closed"},
		} {
			t.Run(form+" "+name, func(t *testing.T) {
				w, model := acts(t, asked.answer)
				scripted := model.answer
				model.answer = func(out http.ResponseWriter, r *http.Request) {
					test.end(w)
					scripted(out, r)
				}
				status := test.status
				if strings.HasPrefix(form, "streamed") {
					status = 200
				}
				got := w.Call("POST", asked.path, asked.body).Is(status, "")
				require.Contains(t, string(got.Body), test.word)
				require.Equal(t, got.StatusCode == 409, got.Header.Get("X-Should-Retry") == "false", "OpenAI's clients repeat a 409")
				require.NotContains(t, string(got.Body), `"tool_calls"`+"}")
				require.NotContains(t, string(got.Body), "completed")
				require.Equal(t, 1, model.count())
				if name == "deleted" {
					putActing(w)
				}
				require.Empty(t, w.Triggers("s1"))
				require.Empty(t, sinkTexts(w, "tool.trigger"))
			})
		}
	}
}

// firstLives are keys whose lives are as they were first read, as those of a replica that has heard of no change yet.
type firstLives struct {
	api.KeyStore
	first *store.Generation
}

func (l firstLives) CachedGeneration(ctx context.Context, appID, sessionID string) (life store.Generation, err error) {
	if l.first.App == "" {
		*l.first, err = l.KeyStore.CachedGeneration(ctx, appID, sessionID)
	}
	return *l.first, err
}

func TestACallThatIsCommittedAfterTheEndOfItsSessionIsNotCarriedOut(t *testing.T) {
	model := newChatModel(t, nil)
	w, _ := actsOn(t, time.Now, model, func(o *api.Options) { o.Keys = firstLives{o.Keys, &store.Generation{}} })
	model.answer = func(out http.ResponseWriter, _ *http.Request) {
		w.Ask("DELETE", "/v1/apps/clinic/sessions/s1", "")
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, calling("null", [2]string{"book", `{"day":5}`}))
	}
	openAIError(w.Call("POST", sessionChatPath, saying("the fifth")), 409, "invalid_request_error", "session_closed")
	require.Equal(t, 1, model.count())
	require.Empty(t, w.Triggers("s1"))
}

// TestAnswersMadeAtTheSameTimeFireOnce regenerates an answer many times concurrently.
func TestAnswersMadeAtTheSameTimeFireOnce(t *testing.T) {
	w, model := acts(t, "")
	model.answer = func(out http.ResponseWriter, r *http.Request) {
		model.mu.Lock()
		again := strings.Contains(string(model.sent[slices.Index(model.asked, r)]), `"role":"tool"`)
		model.mu.Unlock()
		out.Header().Set("Content-Type", "application/json")
		if again {
			_, _ = io.WriteString(out, booked)
			return
		}
		_, _ = io.WriteString(out, calling("null", [2]string{"book", `{"day":5}`}))
	}
	statuses := make([]int, 12)
	var asking sync.WaitGroup
	for i := range statuses {
		asking.Go(func() { statuses[i] = w.Post(sessionChatPath, saying("the fifth"), apitest.AdminKey).StatusCode })
	}
	asking.Wait()
	for _, status := range statuses {
		require.Equal(t, 200, status)
	}
	require.Len(t, w.Triggers("s1"), 1)
}

// TestTheCallersToolsAreItsOwn: they are passed on besides ours, and the caller continues with their results,
// unaware of ours.
func TestTheCallersToolsAreItsOwn(t *testing.T) {
	w, model := acts(t, calling(`"Let me see."`, [2]string{"ring", `{"how":1}`}, [2]string{"earshot_ring", ``}, [2]string{"book", `{"day":5}`}), booked)
	body := strings.Replace(saying("ring and book"), `"model"`, `"tool_choice":"required","tools":[{"type":"function","function":{"name":"ring","parameters":{}}}],"model"`, 1)
	got := w.Ask("POST", sessionChatPath, body).Is(200, "")
	require.Equal(t, calling(`"Let me see."`, [2]string{"ring", `{"how":1}`}), string(got.Body))
	require.Len(t, w.Triggers("s1"), 2)
	require.Equal(t, 1, model.count())
	_, sent := model.conversation(t, 0)
	require.Equal(t, 1, strings.Count(sent, `"name":"ring"`))
	require.Contains(t, sent, `"tool_choice":"required"`)

	answered := strings.Replace(body, `"}]}`, `"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"ring","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_0","content":"rung"}]}`, 1)
	w.Ask("POST", sessionChatPath, answered).Is(200, booked)
	roles, sent := model.conversation(t, 1)
	require.Equal(t, []string{"system", "user", "assistant", "tool", "tool", "assistant", "tool"}, roles)
	require.Contains(t, sent, `\"day\":5`)
	require.NotContains(t, sent, "desk")
	require.Len(t, w.Triggers("s1"), 2)
}

// searching is a matcher that finds the tool whose name is in the text, and asks for nothing.
type searching struct{ apitest.Scripted }

func (searching) Search(_ context.Context, request matcher.Request, text string, _ int) (found []matcher.Score) {
	for _, one := range request.Candidates {
		if strings.Contains(text, one.Tool.Name) {
			found = append(found, matcher.Score{Candidate: one})
		}
	}
	return found
}

// TestAYesIsOfferedWhatWasSpokenOf: more tools are in scope than the model is offered.
func TestAYesIsOfferedWhatWasSpokenOf(t *testing.T) {
	model := newChatModel(t, nil)
	w := apitest.LiveOn(t, redistest.Mini(t), searching{}, model.behind)
	w.Call("PUT", "/v1/apps/clinic", `{"settings":{"openai":{"mode":"act"},"llm":{"mostTools":1}}}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/bells", `{"tools":[{"name":"chime"},{"name":"ring"}]}`).Is(201, "")
	for i, test := range []struct{ talk, want string }{
		{`{"role":"user","content":"ring"}`, "ring"}, {`{"role":"user","content":"yes"}`, "chime"},
		{`{"role":"assistant","content":"Shall I ring?"},{"role":"user","content":"yes"}`, "ring"},
		{`{"role":"user","content":"ring"},{"role":"system","content":"chime"},{"role":"assistant","content":"How?"},{"role":"user","content":"softly"}`, "ring"},
	} {
		w.Ask("POST", sessionChatPath, `{"messages":[`+test.talk+`]}`).Is(200, "")
		_, sent := model.conversation(t, i)
		require.Contains(t, sent, `"name":"`+test.want+`"`)
		require.Equal(t, 1, strings.Count(sent, `"parameters"`))
	}
}

// TestOursFillUpTheCallersTools: models take 128 tools.
func TestOursFillUpTheCallersTools(t *testing.T) {
	w, model := acts(t, booked)
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"llm":{"mostTools":128}}}`).Is(200, "")
	for i, test := range []struct{ theirs, ours int }{{0, 3}, {125, 3}, {126, 2}, {128, 0}, {130, 0}} {
		own := make([]string, test.theirs)
		for n := range own {
			own[n] = fmt.Sprintf(`{"type":"function","function":{"name":"own%d"}}`, n)
		}
		w.Ask("POST", sessionChatPath, strings.Replace(saying("hello"), `"model"`, `"tools":[`+strings.Join(own, ",")+`],"model"`, 1)).Is(200, booked)
		_, sent := model.conversation(t, i)
		require.Equal(t, test.theirs, strings.Count(sent, `"own`))
		require.Equal(t, test.ours, strings.Count(sent, `"parameters"`))
	}
}

// TestACustomToolOfTheCallerKeepsItsName: ours gets another one.
func TestACustomToolOfTheCallerKeepsItsName(t *testing.T) {
	own := strings.Replace(calling("null", [2]string{"ring", ""}), `"type":"function","function":{"name":"ring","arguments":""}`, `"type":"custom","custom":{"name":"ring","input":"x"}`, 1)
	w, model := acts(t, calling("null", [2]string{"earshot_ring", `{}`}), own)
	body := strings.Replace(saying("ring"), `"model"`, `"tools":[{"type":"custom","custom":{"name":"ring"}}],"model"`, 1)
	got := string(w.Ask("POST", sessionChatPath, body).Is(200, "").Body)
	require.Contains(t, got, `"custom":{"name":"ring","input":"x"}`)
	_, sent := model.conversation(t, 0)
	require.Equal(t, 1, strings.Count(sent, `"name":"ring"`))
	require.Len(t, w.Triggers("s1"), 1)
}

// TestAChoiceOfToolsHoldsForOurs lets the model call book, whether it was offered or not.
func TestAChoiceOfToolsHoldsForOurs(t *testing.T) {
	chats := [2]string{sessionChatPath, `{"messages":[{"role":"user","content":"the fifth"}],"tools":[{"type":"function","function":{"name":"own"}}],"tool_choice":`}
	inResponses := [2]string{responsesPath, `{"input":"the fifth","tools":[{"type":"function","name":"own"}],"tool_choice":`}
	for _, test := range []struct {
		form    [2]string
		choice  string
		permits bool
	}{
		{chats, `"none"`, false}, {chats, `"auto"`, true}, {chats, `"required"`, true}, {chats, `null`, true},
		{chats, `{"type":"function","function":{"name":"own"}}`, false}, {chats, `{"type":"function","function":{"name":"book"}}`, true},
		{chats, `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"own"}}]}}`, false},
		{chats, `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"own"}},{"type":"function","function":{"name":"book"}}]}}`, true},
		{inResponses, `"none"`, false}, {inResponses, `"required"`, true}, {inResponses, `{"type":"web_search"}`, false},
		{inResponses, `{"type":"function","name":"own"}`, false}, {inResponses, `{"type":"function","name":"book"}`, true},
		{inResponses, `{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"own"}]}`, false},
		{inResponses, `{"type":"allowed_tools","mode":"required","tools":[{"type":"web_search"},{"type":"function","name":"book"}]}`, true},
	} {
		t.Run(test.form[0]+" "+test.choice, func(t *testing.T) {
			rounds := []string{calling("null", [2]string{"book", `{"day":5}`}), booked}
			if test.form == inResponses {
				rounds = []string{response("r1", 10, calls("f1", "book", `{"day":5}`)), response("r2", 10, says("m2", "Booked."))}
			}
			w, model := acts(t, rounds...)
			got := w.Ask("POST", test.form[0], test.form[1]+test.choice+"}")
			require.Equal(t, 200, got.StatusCode, string(got.Body))
			require.Contains(t, string(model.sent[0]), test.choice)
			require.Equal(t, test.permits, strings.Contains(string(model.sent[0]), `"parameters"`))
			require.Equal(t, test.permits && test.choice[0] != '{', strings.Contains(string(model.sent[0]), "refund"), "an object permits what it names")
			if !test.permits {
				require.Equal(t, rounds[0], string(got.Body))
				require.Empty(t, w.Triggers("s1"))
				return
			}
			require.Len(t, w.Triggers("s1"), 1)
			require.NotContains(t, string(got.Body), "book\"")
		})
	}
}

// TestAModelThatMayCallNothingKnowsWhatWasDone: a client may forbid calls when it returns the results of its own.
func TestAModelThatMayCallNothingKnowsWhatWasDone(t *testing.T) {
	w, model := acts(t, calling("null", [2]string{"own", `{}`}, [2]string{"book", `{"day":5}`}), booked)
	body := strings.Replace(saying("both"), `"model"`, `"tools":[{"type":"function","function":{"name":"own"}}],"model"`, 1)
	w.Ask("POST", sessionChatPath, body).Is(200, "")
	body = strings.Replace(body, `"}]}`, `"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"own","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_0","content":"4"}],"tool_choice":"none"}`, 1)
	w.Ask("POST", sessionChatPath, body).Is(200, booked)
	roles, sent := model.conversation(t, 1)
	require.Equal(t, []string{"system", "user", "assistant", "tool", "assistant", "tool"}, roles)
	require.Contains(t, sent, `\"day\":5`)
	require.NotContains(t, sent, `"parameters"`)
}

func TestWhatIsWrongWithACallIsToldToTheModel(t *testing.T) {
	w, model := acts(t, calling("null", [2]string{"book", `{"day":"Friday"}`}, [2]string{"book", `{"day":`}, [2]string{"refund", `{"order":"7"}`}), booked)
	w.Ask("POST", sessionChatPath, saying("Friday")).Is(200, "")
	_, sent := model.conversation(t, 1)
	require.Contains(t, sent, `not carried out: day`)
	require.Contains(t, sent, `not carried out: the arguments are not a JSON object: the text ends before the value does. Call it again`)
	require.Contains(t, sent, `waits for confirmation`)
	fired := w.Triggers("s1")
	require.Len(t, fired, 1)
	require.Equal(t, "confirming", fired[0].State)

	question, _ := json.Marshal(fired[0].Question)
	w.Ask("POST", sessionChatPath, strings.Replace(saying("Friday", "yes"), `"Yes?"`, string(question), 1)).Is(200, booked)
	roles, sent := model.conversation(t, 2)
	require.Equal(t, "system", roles[len(roles)-1])
	require.Contains(t, sent, `tool refund asked`)
	require.Equal(t, "delivered", w.Triggers("s1")[0].State)
}

func TestTheModelIsAskedSoOftenAndNoMore(t *testing.T) {
	for name, answer := range map[string]string{
		"whole":    calling("null", [2]string{"book", `{"day":5}`}),
		"streamed": chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":"book","arguments":"{\"day\":5}"}}]}`, "null") + chunk(`{}`, `"tool_calls"`) + done,
	} {
		t.Run(name, func(t *testing.T) {
			w, model := acts(t, answer)
			got := w.Ask("POST", sessionChatPath, saying("for ever"))
			require.Equal(t, 8, model.count())
			require.NotContains(t, string(got.Body), `"book"`, "the caller does not know our tools")
			require.Contains(t, string(got.Body), "the model still calls tools after 8 requests")
			_, last := model.conversation(t, 7)
			require.NotContains(t, last, `"tools"`)
			fired := w.Triggers("s1")
			require.Len(t, fired, 1, "the same call of one turn is one")
			require.Equal(t, fired[0].MessageID, got.Header.Get("X-Earshot-Message-Id"))
		})
	}
}

// TestARequestThatWasAnsweredFiresNothingMore has the model call for other things when an answer is regenerated.
func TestARequestThatWasAnsweredFiresNothingMore(t *testing.T) {
	w, model := acts(t, calling("null", [2]string{"book", `{"day":5}`}), booked,
		calling("null", [2]string{"book", `{"day":6}`}, [2]string{"book", `{"day":7}`}, [2]string{"ring", `{}`}), booked)
	w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "")
	w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "")
	require.Len(t, w.Triggers("s1"), 1)
	_, told := model.conversation(t, 3)
	require.Contains(t, told, "This was done before, with other values, and is not done again.")
	require.Equal(t, 2, strings.Count(told, "this message was answered before, and nothing more is done for it"))
}

// TestARequestThatEndsInAResultFiresOnce has a client continue with the results of its own tool, and regenerate each
// answer.
func TestARequestThatEndsInAResultFiresOnce(t *testing.T) {
	ofChat := func(n int) string {
		return fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"own%d","type":"function","function":{"name":"own","arguments":"{}"}}]},{"role":"tool","tool_call_id":"own%[1]d","content":"4"}`, n)
	}
	ofResponse := func(n int) string {
		return "," + calls(fmt.Sprint("own", n), "own", "{}") + fmt.Sprintf(`,{"type":"function_call_output","call_id":"call_own%d","output":"4"}`, n)
	}
	for name, test := range map[string]struct {
		path, field string
		results     func(n int) string
		first       [][2]string
		books       func(day int) string
		ends        string
	}{
		"chat":                {sessionChatPath, "messages", ofChat, [][2]string{{"book", `{"day":1}`}, {"own", `{}`}}, func(day int) string { return calling("null", [2]string{"book", fmt.Sprintf(`{"day":%d}`, day)}) }, booked},
		"chat, own first":     {sessionChatPath, "messages", ofChat, [][2]string{{"own", `{}`}}, func(day int) string { return calling("null", [2]string{"book", fmt.Sprintf(`{"day":%d}`, day)}) }, booked},
		"response, own first": {responsesPath, "input", ofResponse, [][2]string{{"own", `{}`}}, func(day int) string { return response("r1", 1, calls("f", "book", fmt.Sprintf(`{"day":%d}`, day))) }, response("r2", 1, says("m", "Booked."))},
	} {
		t.Run(name, func(t *testing.T) {
			first, fired := calling("null", test.first...), len(test.first)-1
			if test.field == "input" {
				first = response("r0", 1, calls("own0", "own", "{}"))
			}
			w, _ := acts(t, first, test.books(2), test.ends, test.books(3), test.ends, test.books(4), test.ends, test.books(5), test.ends, test.books(6), test.ends)
			ask := func(results string, more int) {
				t.Helper()
				w.Ask("POST", test.path, `{"`+test.field+`":[{"role":"user","content":"own and book"}`+results+`]}`).Is(200, "")
				fired += more
				require.Len(t, w.Triggers("s1"), fired)
			}
			ask("", 0)
			ask(test.results(0), 1)
			ask(test.results(0), 0)
			ask(test.results(0)+test.results(1), 1)
			ask(test.results(0)+test.results(1), 0)
			ask("", 0)
		})
	}
}

func TestARequestThatBrokeOffGoesOnWhenItIsMadeAgain(t *testing.T) {
	rounds := []string{
		calling("null", [2]string{"book", `{"day":5}`}), "broken off",
		calling("null", [2]string{"book", `{"day":5}`}), calling("null", [2]string{"ring", `{}`}), booked,
	}
	model := newChatModel(t, nil)
	model.answer = func(out http.ResponseWriter, _ *http.Request) {
		answer := rounds[model.count()-1]
		if answer == "broken off" {
			panic(http.ErrAbortHandler)
		}
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, answer)
	}
	w, _ := actsOn(t, time.Now, model)
	broken := w.Ask("POST", sessionChatPath, saying("the fifth, and ring")).Is(502, "")
	fired := w.Triggers("s1")
	require.Len(t, fired, 1)
	require.Equal(t, fired[0].MessageID, broken.Header.Get("X-Earshot-Message-Id"))
	w.Ask("POST", sessionChatPath, saying("the fifth, and ring")).Is(200, "")
	require.Len(t, w.Triggers("s1"), 2, "what it had not called for yet is done")
}

func TestARequestThatFiredNothingMayFireWhenItIsMadeAgain(t *testing.T) {
	w, _ := acts(t, booked, calling("null", [2]string{"book", `{"day":5}`}), booked)
	w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "")
	w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "")
	require.Len(t, w.Triggers("s1"), 1)
}

// TestAMessageCountsAsWhatItsChatCameTo has each chat made twice.
func TestAMessageCountsAsWhatItsChatCameTo(t *testing.T) {
	for name, test := range map[string]struct {
		rounds   []string
		status   int
		want     usage.Use
		outcomes string
	}{
		"a call":             {[]string{calling("null", [2]string{"book", `{"day":5}`}), booked, booked}, 200, usage.Use{Messages: 1, Matched: 1, Triggers: 1}, `["fired"]`},
		"a streamed call":    {[]string{chunk(speaks, "null") + chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"ring","arguments":"{}"}}]}`, "null") + chunk("{}", `"tool_calls"`) + done, chunk(speaks, `"stop"`) + done}, 200, usage.Use{Messages: 1, Matched: 1, Triggers: 1}, `["fired"]`},
		"a call for a yes":   {[]string{calling("null", [2]string{"refund", `{"order":"7"}`}), booked, booked}, 200, usage.Use{Messages: 1, Matched: 1}, `["fired"]`},
		"no call":            {[]string{booked}, 200, usage.Use{Messages: 1, Unmatched: 1}, `["unmatched"]`},
		"wrong values":       {[]string{calling("null", [2]string{"book", `{"day":"Friday"}`}), booked}, 200, usage.Use{Messages: 1, Rejected: 1}, `["rejected"]`},
		"cut arguments":      {[]string{calling("null", [2]string{"book", `{"day":`}), booked}, 200, usage.Use{Messages: 1, Rejected: 1}, `["rejected"]`},
		"a model with a 503": {[]string{"503"}, 503, usage.Use{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			model := newChatModel(t, nil)
			model.answer = func(out http.ResponseWriter, _ *http.Request) {
				answer := test.rounds[min(model.count(), len(test.rounds))-1]
				out.Header().Set("Content-Type", "application/json")
				if strings.HasPrefix(answer, "data:") {
					out.Header().Set("Content-Type", "text/event-stream")
				}
				out.WriteHeader(test.status)
				_, _ = io.WriteString(out, answer)
			}
			w, _ := actsOn(t, time.Now, model)
			for range 2 {
				w.Ask("POST", sessionChatPath, saying("the fifth")).Is(test.status, "")
			}
			var used struct{ Total usage.Use }
			require.NoError(t, json.Unmarshal(w.Call("GET", "/v1/apps/clinic/usage", "").Is(200, "").Body, &used))
			got := used.Total
			require.Equal(t, test.want, usage.Use{Messages: got.Messages, Matched: got.Matched, Rejected: got.Rejected, Unmatched: got.Unmatched, Triggers: got.Triggers})
			listed := string(w.Call("GET", "/v1/apps/clinic/sessions", "").Is(200, "").Body)
			require.Contains(t, listed, `"s1"`)
			if test.outcomes == "" {
				require.NotContains(t, listed, "outcomes")
			} else {
				require.Contains(t, listed, `"outcomes":`+test.outcomes)
			}
		})
	}
}

// chunk is a stream event with a delta.
func chunk(delta, finish string) string {
	return `data: {"id":"c","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
}

const (
	speaks = `{"role":"assistant","content":""}`
	done   = "data: [DONE]\n\n"
)

func TestArgumentsMayBeAnObject(t *testing.T) {
	const ofChat, ofResponse = `"{\"day\":\"5\"}"`, `"{\"day\":5}"`
	for name, test := range map[string]struct {
		path, body string
		rounds     []string
	}{
		"whole": {sessionChatPath, saying("the fifth"), []string{strings.Replace(calling("null", [2]string{"book", `{"day":"5"}`}), ofChat, `{"day":"5"}`, 1), booked}},
		"null":  {sessionChatPath, saying("ring"), []string{strings.Replace(calling("null", [2]string{"ring", ``}), `"arguments":""`, `"arguments":null`, 1), booked}},
		"streamed": {sessionChatPath, saying("the fifth"), []string{
			chunk(speaks, "null") + chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"book","arguments":{"day":5}}}]}`, "null") + chunk("{}", `"tool_calls"`) + done, chunk(speaks, `"stop"`) + done,
		}},
		"a response":          {responsesPath, `{"input":"the fifth"}`, []string{strings.Replace(response("r1", 10, calls("f1", "book", `{"day":5}`)), ofResponse, `{"day":5}`, 1), response("r2", 1)}},
		"a streamed response": {responsesPath, `{"input":"the fifth"}`, []string{strings.ReplaceAll(streamed("r1", 10, calls("f1", "book", `{"day":5}`)), ofResponse, `{"day":5}`), streamed("r2", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			w, model := acts(t, test.rounds...)
			w.Ask("POST", test.path, test.body).Is(200, "")
			require.Equal(t, 2, model.count())
			fired := w.Triggers("s1")
			require.Len(t, fired, 1)
			if fired[0].Name == "book" {
				require.EqualValues(t, 5, fired[0].Values["day"])
			}
		})
	}
}

// TestCallsOfAStreamAreToldApart: hosts differ in the index and the id of a part. The arguments of the last call come in
// two parts.
func TestCallsOfAStreamAreToldApart(t *testing.T) {
	part := func(head, name, arguments string) string {
		if name != "" {
			name = `"name":"` + name + `",`
		}
		text, _ := json.Marshal(arguments)
		return chunk(`{"tool_calls":[{`+head+`"function":{`+name+`"arguments":`+string(text)+`}}]}`, "null")
	}
	for name, heads := range map[string][4]string{
		"an index and an id": {`"index":0,"id":"a",`, `"index":1,"id":"b",`, `"index":2,"id":"c",`, `"index":2,`},
		"no index":           {`"id":"a",`, `"id":"b",`, `"id":"c",`, ``},
		"an id each time":    {`"id":"a",`, `"id":"b",`, `"id":"c",`, `"id":"c",`},
		"the same index":     {`"index":0,"id":"a",`, `"index":0,"id":"b",`, `"index":0,"id":"c",`, `"index":0,`},
		"another id anyway":  {`"index":0,"id":"a",`, `"index":1,"id":"b",`, `"index":2,"id":"c",`, `"index":2,"id":"d",`},
		"null":               {`"index":null,"id":"a",`, `"index":null,"id":"b",`, `"index":null,"id":"c",`, `"index":null,"id":null,`},
		"neither":            {``, ``, ``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			w, model := acts(t, part(heads[0], "book", `{"day":5}`)+part(heads[2], "ring", `{"n`)+part(heads[3], "", `":1}`)+chunk("{}", `"tool_calls"`)+done, chunk(speaks, `"stop"`)+done)
			got := w.Ask("POST", sessionChatPath, saying("both")).Is(200, "")
			require.Len(t, w.Triggers("s1"), 2)
			_, sent := model.conversation(t, 1)
			require.Contains(t, sent, `\"n\":1`)
			require.NotContains(t, string(got.Body), "tool_calls\":[{")

			w, model = acts(t, part(heads[0], "book", `{"day":5}`)+part(heads[1], "own", `{}`)+part(heads[2], "other", `{"n`)+part(heads[3], "", `":1}`)+chunk("{}", `"tool_calls"`)+done)
			got = w.Ask("POST", sessionChatPath, saying("all")).Is(200, "")
			require.Len(t, w.Triggers("s1"), 1)
			require.Equal(t, 1, model.count())
			require.NotContains(t, string(got.Body), "book")
			require.Equal(t, 3, strings.Count(string(got.Body), `"tool_calls":[{`))
			if strings.Contains(heads[0], `"index":0`) {
				require.Contains(t, string(got.Body), `"index":0,"id":"b"`)
				require.Contains(t, string(got.Body), `"index":1,"id":"c"`)
			}
		})
	}
}

func TestAStreamKeepsOurCallsBackAndNothingElse(t *testing.T) {
	used := func(n int) string {
		return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"total_tokens":%d}}`, n, n) + "\n\n"
	}
	w, model := acts(t, "data: {\"odd\":1}\r\n\r\n"+": ping\n\n"+chunk(speaks, "null")+chunk(`{"content":"One moment."}`, "null")+
		chunk(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"book","arguments":""}}]}`, "null")+
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"day\""}}]}`, "null")+
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":5}"}}]}`, "null")+chunk(`{}`, `"tool_calls"`)+used(10)+done,
		chunk(speaks, "null")+chunk(`{"content":"Boo"}`, "null")+chunk(`{"content":"ked."}`, "null")+chunk(`{}`, `"stop"`)+used(20)+done)
	got := w.Ask("POST", sessionChatPath, strings.Replace(saying("the fifth"), `"model"`, `"stream":true,"stream_options":{"include_usage":true},"model"`, 1))
	require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
	require.Equal(t, "data: {\"odd\":1}\r\n\r\n"+": ping\n\n"+chunk(speaks, "null")+chunk(`{"content":"One moment."}`, "null")+
		chunk(`{"content":"Boo"}`, "null")+chunk(`{"content":"ked."}`, "null")+chunk(`{}`, `"stop"`)+used(30)+done, string(got.Body))
	require.Len(t, w.Triggers("s1"), 1)
	roles, sent := model.conversation(t, 1)
	require.Equal(t, []string{"system", "user", "assistant", "tool"}, roles)
	require.Contains(t, sent, `"content":"One moment."`)
	require.Contains(t, sent, `{\"day\":5}`)
}

// TestACallOfAnAnswerThatWasCutIsNotCarriedOut: the client gets the answer without it.
func TestACallOfAnAnswerThatWasCutIsNotCarriedOut(t *testing.T) {
	for _, test := range []struct{ finish, refusal string }{{"length", "null"}, {"content_filter", "null"}, {"MAX_TOKENS", "null"}, {"tool_calls", `"No."`}} {
		t.Run(test.finish, func(t *testing.T) {
			w, model := acts(t, strings.NewReplacer(`"finish_reason":"tool_calls"`, `"finish_reason":"`+test.finish+`"`, `"content"`, `"refusal":`+test.refusal+`,"content"`).
				Replace(calling(`"Well"`, [2]string{"book", `{"day":5}`}, [2]string{"own", `{}`})))
			got := string(w.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "").Body)
			require.NotContains(t, got, `"book"`)
			require.Contains(t, got, `"content":"Well"`)
			require.Contains(t, got, `"own"`)
			require.Contains(t, got, `"`+test.finish+`"`)

			called := chunk(`{"refusal":`+test.refusal+`,"content":"Well"}`, "null")
			w2, streaming := acts(t, called+chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"book","arguments":"{\"day\":5}"}}]}`, "null")+chunk(`{}`, `"`+test.finish+`"`)+done)
			got = string(w2.Ask("POST", sessionChatPath, saying("the fifth")).Is(200, "").Body)
			require.Equal(t, called+chunk(`{}`, `"`+test.finish+`"`)+done, got)
			require.Empty(t, append(w.Triggers("s1"), w2.Triggers("s1")...))
			require.Equal(t, 2, model.count()+streaming.count())
		})
	}
}

// TestOnlyTheFirstChoiceCounts: some hosts send two, although the client asked for one.
func TestOnlyTheFirstChoiceCounts(t *testing.T) {
	second := func(text string) string { return strings.Replace(text, `"index":0,`, `"index":1,`, 1) }
	other := `{"index":1,"message":{"role":"assistant","tool_calls":[{"id":"b","function":{"name":"book","arguments":"{\"day\":6}"}}]}}`
	otherChunks := second(chunk(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"book","arguments":"{\"day\":6}"}}]}`, "null")) + second(chunk(`{}`, `"tool_calls"`))
	says, called := chunk(`{"content":"Well."}`, "null"), chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"ring","arguments":"{}"}}]}`, "null")
	for name, test := range map[string]struct {
		rounds []string
		want   string
		fired  int
	}{
		"whole":              {[]string{strings.Replace(booked, `[{"index":0`, `[`+other+`,{"index":0`, 1)}, `"book"`, 0},
		"whole, with a call": {[]string{strings.Replace(calling("null", [2]string{"ring", "{}"}), `[{"index":0`, `[`+other+`,{"index":0`, 1), booked}, "Booked.", 1},
		"streamed":           {[]string{says + otherChunks + chunk("{}", `"stop"`) + done}, says + otherChunks + chunk("{}", `"stop"`) + done, 0},
		"streamed, with a call": {
			[]string{called + otherChunks + chunk("{}", `"tool_calls"`) + done, says + chunk("{}", `"stop"`) + done}, otherChunks + says + chunk("{}", `"stop"`) + done, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, model := acts(t, test.rounds...)
			got := w.Ask("POST", sessionChatPath, saying("ring")).Is(200, "")
			require.Contains(t, string(got.Body), test.want)
			require.Len(t, w.Triggers("s1"), test.fired)
			require.Equal(t, len(test.rounds), model.count())
		})
	}
}

func TestAStreamPassesTheCallersCallsOn(t *testing.T) {
	w, model := acts(t, chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"book","arguments":"{\"day\":5}"}}]}`, "null")+
		chunk(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"look","arguments":""}}]}`, "null")+
		chunk(`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`, `"tool_calls"`)+done)
	got := w.Ask("POST", sessionChatPath, saying("look and book"))
	require.Equal(t, chunk(`{"role":"assistant","tool_calls":[]}`, "null")+
		chunk(`{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"look","arguments":""}}]}`, "null")+
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`, `"tool_calls"`)+done, string(got.Body))
	require.Len(t, w.Triggers("s1"), 1)
	require.Equal(t, 1, model.count())
}

func TestWhatCannotBeActedUponIsRelayed(t *testing.T) {
	w, model := acts(t, booked)
	for _, body := range []string{`no JSON`, `{"messages":[]}`, strings.Replace(saying("x"), `"model"`, `"n":2,"model"`, 1), strings.Replace(saying("x"), `"model"`, `"functions":[],"model"`, 1)} {
		w.Ask("POST", sessionChatPath, body).Is(200, booked)
		require.Equal(t, body, string(model.sent[model.count()-1]))
	}
	w.Ask("POST", chatPath, saying("nobody")).Is(200, booked)
	require.Equal(t, saying("nobody"), string(model.sent[model.count()-1]))
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":1}}}`).Is(200, "")
	w.Ask("POST", sessionChatPath, saying("one")).Is(200, booked)
	openAIError(w.Call("POST", sessionChatPath, saying("one", "two")), 429, "rate_limit_error", "rate_limited", "session")
}

// TestWhatRulesAMessageRulesAChat: of the calls of one answer, exclusive ones fire alone, a triggerOnce
// repository fires once, and equal values make one refund.
func TestWhatRulesAMessageRulesAChat(t *testing.T) {
	w, model := acts(t, calling("null", [2]string{"ring", `{}`}, [2]string{"only", `{}`}), booked,
		calling("null", [2]string{"first", `{}`}, [2]string{"second", `{}`}), booked,
		calling("null", [2]string{"pay", `{"order":"A1"}`}), booked, calling("null", [2]string{"pay", `{"order":"A1"}`}), booked)
	put := func(id, body string) { w.Call("PUT", "/v1/apps/clinic/repositories/"+id, body).Is(201, "") }
	put("alone", `{"options":{"exclusive":true},"tools":[{"name":"only"}]}`)
	w.Ask("POST", sessionChatPath, saying("one of them")).Is(200, "")
	_, results := model.conversation(t, 1)
	require.Contains(t, results, "is to be the only one")

	w.Call("DELETE", "/v1/apps/clinic/repositories/alone", "").Is(204, "")
	put("once", `{"options":{"triggerOnce":true},"tools":[{"name":"first"},{"name":"second"}]}`)
	w.Ask("POST", sessionChatPath, saying("both at once")).Is(200, "")
	_, results = model.conversation(t, 3)
	require.Contains(t, results, "not there any more")

	put("paying", `{"tools":[{"name":"pay","schema":[{"parameter":"order","type":"string"}],"dedupe":{"within":"10m"}}]}`)
	w.Ask("POST", sessionChatPath, saying("pay A1")).Is(200, "")
	w.Ask("POST", sessionChatPath, saying("pay it again")).Is(200, "")
	_, results = model.conversation(t, 7)
	require.Contains(t, results, "done before")
	var names []string
	for _, one := range w.Triggers("s1") {
		names = append(names, strings.TrimSuffix(one.Name+" "+one.State, " delivered"))
	}
	require.Equal(t, []string{"pay duplicate", "pay", "first", "only"}, names)
}

// TestAModelInventsNoGroundedValueInAChat: a grounded value must have been said by the user, or by the
// assistant before, and amounts are the user's.
func TestAModelInventsNoGroundedValueInAChat(t *testing.T) {
	w, model := acts(t, calling("null", [2]string{"pay", `{"order":"A-17"}`}), booked, calling("null", [2]string{"pay", `{"order":"B-2"}`}), booked,
		calling("null", [2]string{"wait", `{"time":2}`}), booked)
	w.Call("PUT", "/v1/apps/clinic/repositories/paying", `{"tools":[{"name":"pay","schema":[{"parameter":"order","type":"string","required":true,"grounded":true}]},
		{"name":"wait","schema":[{"parameter":"time","type":"integer","required":true,"unit":"minutes"}]}]}`).Is(201, "")
	w.Ask("POST", sessionChatPath, saying("pay my order")).Is(200, "")
	_, results := model.conversation(t, 1)
	require.Contains(t, results, "was not said in the conversation")
	require.Empty(t, w.Triggers("s1"))
	w.Ask("POST", sessionChatPath, `{"messages":[{"role":"user","content":"pay my order"},{"role":"assistant","content":"B-2, is it?"},{"role":"user","content":"that one"}]}`).Is(200, "")
	require.EqualValues(t, map[string]any{"order": "B-2"}, w.Triggers("s1")[0].Values)
	w.Ask("POST", sessionChatPath, saying("wait two hours")).Is(200, "")
	require.EqualValues(t, map[string]any{"time": 120.0}, w.Triggers("s1")[0].Values)
}

// TestWhatWasSaidInAChatIsUnderstoodWhereItsUserIs: it is Sunday evening in UTC and Monday morning in Tokyo, so
// tomorrow is Tuesday.
func TestWhatWasSaidInAChatIsUnderstoodWhereItsUserIs(t *testing.T) {
	sunday := func() time.Time { return time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC) }
	w, _ := actsAt(t, sunday, calling("null", [2]string{"visit", `{"date":"2026-11-24"}`}), booked)
	w.Call("PUT", "/v1/apps/clinic/sessions/s1", `{"timeZone":"Asia/Tokyo"}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/visits", `{"tools":[{"name":"visit","schema":[{"parameter":"date","type":"string","required":true,"grounded":true}]}]}`).Is(201, "")
	w.Ask("POST", sessionChatPath, saying("a visit tomorrow")).Is(200, "")
	require.EqualValues(t, map[string]any{"date": "2026-11-24"}, w.Triggers("s1")[0].Values)
}

// TestAStreamThatNeverEndsBreaksOff has a host that streams three times as much as may be kept of an answer.
func TestAStreamThatNeverEndsBreaksOff(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct{ path, body, begin, event string }{
		"text":           {sessionChatPath, saying("the fifth"), "", chunk(`{"content":"`+long+`"}`, "null")},
		"calls":          {sessionChatPath, saying("the fifth"), "", chunk(`{"tool_calls":[{"function":{"name":"book","arguments":"`+long+`"}}]}`, "null")},
		"arguments":      {sessionChatPath, saying("the fifth"), chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"book","arguments":""}}]}`, "null"), chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"`+long+`"}}]}`, "null")},
		"responses":      {responsesPath, `{"input":"the fifth"}`, "", events([2]string{"response.created", `"response":{"id":"` + long + `"}`})},
		"items":          {responsesPath, `{"input":"the fifth"}`, "", events([2]string{"response.output_item.done", `"output_index":0,"item":{"type":"message","id":"` + long + `"}`})},
		"parts of calls": {responsesPath, `{"input":"the fifth"}`, events([2]string{"response.output_item.added", `"output_index":0,"item":{"type":"function_call","name":"book"}`}), events([2]string{"response.function_call_arguments.delta", `"output_index":0,"delta":"` + long + `"`})},
	} {
		t.Run(name, func(t *testing.T) {
			model := newChatModel(t, func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", "text/event-stream")
				_, err := io.WriteString(out, test.begin)
				for range 48 {
					if err == nil {
						_, err = io.WriteString(out, test.event)
					}
				}
				_, _ = io.WriteString(out, map[string]string{sessionChatPath: chunk("{}", `"stop"`) + done, responsesPath: streamed("r1", 10)}[test.path])
			})
			w, _ := actsOn(t, time.Now, model)
			got, err := sends(w, test.path, test.body)
			if err == nil {
				_, err = io.ReadAll(got.Body)
				_ = got.Body.Close()
			}
			require.Error(t, err)
			require.Empty(t, w.Triggers("s1"))
		})
	}
}
