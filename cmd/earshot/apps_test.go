package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/emitter"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

func TestWhatIsOfOtherSessionsAndAppsIsNotShown(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/other", `{}`)
	w.put("/v1/apps/other/sessions/s1/repositories/own", `{"tools":[{"name":"namesake"}]}`)
	w.put("/v1/apps/clinic/repositories/app", `{"tools":[{"name":"ours"}]}`)
	matches := w.say("s1", "m1", "call ours {}; namesake {}").Matches
	require.Len(t, matches, 1)
	fired := matches[0].TriggerID
	w.say("s2", "m1", "call ours {}")
	require.Len(t, w.llm.Requests()[1].Messages, 3, "rules, clock, and the message: no history of the other session")

	w.call(200, "GET", "/v1/apps/clinic/triggers/"+fired, "")
	w.call(404, "GET", "/v1/apps/other/triggers/"+fired, "")
	for _, path := range []string{"/v1/apps/other/triggers", "/v1/apps/other/sessions/s1/triggers", "/v1/apps/other/sessions/s1/messages", "/v1/apps/other/repositories"} {
		require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", path, "").Body)
	}
}

func (w *world) operations(repository string) []string {
	changes := w.events("tool.changed.clinic." + repository)
	return lists.Map(changes, func(one storedEvent) string { return one.Payload["operation"].(string) })
}

func TestDeletedAppLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	w.put("/v1/apps/clinic/repositories/app", `{"tools":[{"name":"ours"}]}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"mine"}]}`)
	w.put("/v1/apps/clinic/sessions/s2/repositories/own2", `{"tools":[{"name":"mine"}]}`)
	trigger := w.say("s1", "m1", "call mine {}; ours {}").Matches[0].TriggerID
	w.say("s1", "m2", "call ours {}")
	w.call(204, "DELETE", "/v1/apps/clinic", "")
	for _, r := range w.replicas {
		for path, body := range map[string]string{
			messagesPath("s1"): messageBody("m3", "call ours {}"), "/v1/apps/clinic/triggers": `{"name":"ours","source":"ui"}`,
		} {
			require.Equal(t, http.StatusNotFound, w.ask(r, "POST", path, body).Status)
		}
		for _, path := range []string{"", "/repositories/app", "/sessions/s1/repositories", "/sessions/s1/messages"} {
			require.Equal(t, http.StatusNotFound, w.ask(r, "GET", "/v1/apps/clinic"+path, "").Status, path)
		}
	}
	w.call(404, "DELETE", "/v1/apps/clinic", "")
	w.rest()
	require.Empty(t, w.left())
	for _, repository := range []string{"app", "own", "own2"} {
		require.Equal(t, []string{"created", "deleted"}, w.operations(repository))
	}

	w.put("/v1/apps/clinic", `{}`)
	for _, path := range []string{"/repositories", "/sessions/s1/repositories", "/sessions/s1/messages", "/triggers"} {
		require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", "/v1/apps/clinic"+path, "").Body, path)
	}
	w.call(404, "GET", "/v1/apps/clinic/triggers/"+trigger, "")
	require.Empty(t, w.say("s1", "m1", "call ours {}; mine {}").Matches, "the message of before is not remembered")
}

// left lists the app's keys in Redis that do not expire.
func (w *world) left() []string {
	keys := []string{}
	for _, key := range w.client().Keys(w.t.Context(), "*:clinic*").Val() {
		if w.client().PTTL(w.t.Context(), key).Val() < 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestCallThatADeletedAppOwesLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	sink := newEndpoint(t, func(out http.ResponseWriter, _ received) { out.WriteHeader(http.StatusServiceUnavailable) })
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`"}]}`)
	require.Equal(t, "pending", w.say("s1", "m1", "call book {}").Matches[0].Call.State)
	w.call(204, "DELETE", "/v1/apps/clinic", "")
	w.rest()
	require.Empty(t, w.left())
	results := w.events("tool.result.clinic.s1.book")
	require.Len(t, results, 1, "its end is told")
	require.Equal(t, false, results[0].Payload["ok"])
}

func TestIdleSessionExpiresWithItsRepositories(t *testing.T) {
	t.Parallel()
	w := serving(t, 2, "--session-ttl", "1s")
	w.put("/v1/apps/clinic/repositories/app", `{"tools":[{"name":"ours"}]}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"mine"}]}`)
	require.Len(t, w.say("s1", "m1", "call mine {}").Matches, 1)
	w.until("the repository is gone", func() bool {
		return w.ask(w.replicas[1], "GET", "/v1/apps/clinic/sessions/s1/repositories/own", "").Status == http.StatusNotFound
	})
	w.until("the history is gone", func() bool { return w.ask(w.replicas[0], "GET", messagesPath("s1"), "").Body == `{"items":[]}`+"\n" })
	w.rest()
	require.Equal(t, []string{"created", "deleted"}, w.operations("own"))
	require.Equal(t, []string{"created"}, w.operations("app"))
	w.call(200, "GET", "/v1/apps/clinic/repositories/app", "")
	client := w.client()
	w.until("nothing of the session is left in Redis", func() bool {
		keys := keyspace.KeysOf("clinic")
		found, err := client.Exists(t.Context(), keys.Turns("s1"), keys.Order("s1"), keys.Repos("s1"), keys.Outbox("s1"), keys.Idle()).Result()
		return err == nil && found == 0
	})
}

// Each concurrent patch of two replicas is stored, and announced once.
func TestConcurrentPatchesAreEachAnnounced(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	const path = "/v1/apps/clinic/sessions/s1/repositories/desk"
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, got := range together(len(names), func(i int) httpAnswer {
		return w.ask(w.replicas[i%2], "PATCH", path, `{"tools":[{"name":"`+names[i]+`"}]}`)
	}) {
		require.Contains(t, []int{200, 201}, got.Status, got.Body)
	}
	require.ElementsMatch(t, names, w.names(path))
	w.rest()
	operations := w.operations("desk")
	require.Len(t, operations, len(names))
	require.Equal(t, "created", operations[0])
}

// redisDump has a line for each key of Redis, with its content.
func (w *world) redisDump() string {
	var all strings.Builder
	for _, text := range w.held() {
		fmt.Fprintf(&all, "%q\n", text)
	}
	return all.String()
}

func (w *world) streamDump() string {
	var all strings.Builder
	for _, stream := range []string{emitter.Stream, emitter.AnswerStream} {
		for _, message := range w.nats.Stored(stream, ">") {
			fmt.Fprintf(&all, "%s %v %s\n", message.Subject, message.Header, message.Data)
		}
	}
	return all.String()
}

func linesOf(text, word string) (found []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return found
}

func (w *world) nothingOf(word string) {
	require.Empty(w.t, linesOf(w.redisDump(), word), "Redis")
	require.Empty(w.t, linesOf(w.streamDump(), word), "the streams")
}

// erasable are tools of every kind that stores data; down answers 503 and wrong 400.
func erasable(sink, down, wrong string) string {
	day := `"schema":[{"parameter":"day","type":"string","required":true}]`
	return `{"tools":[
		{"name":"book","url":"` + sink + `","emitter":"calendar.request",` + day + `},
		{"name":"order","url":"` + down + `",` + day + `},
		{"name":"refuse","url":"` + wrong + `",` + day + `},
		{"name":"settle","settle":"60s","url":"` + sink + `",` + day + `},
		{"name":"sure","confirm":"always","url":"` + sink + `",` + day + `},
		{"name":"once","dedupe":{"within":"1h","scope":"app"},"url":"` + sink + `",` + day + `},
		{"name":"ask","answer":{"within":"1h"},"request":{"timeout":"1ms"},` + day + `}]}`
}

func refusing(t *testing.T, status int) *endpoint {
	return newEndpoint(t, func(w http.ResponseWriter, _ received) { w.WriteHeader(status) })
}

// lead uses every feature in a session, with a word of its own.
func (w *world) lead(session, word string) {
	path := "/v1/apps/clinic/sessions/" + session
	w.put(path, `{"metadata":{"of":"`+word+`"}}`)
	w.put(path+"/repositories/own", `{"tools":[{"name":"wave","url":"https://example.org/`+word+`"}]}`)
	for i, tool := range []string{"book", "order", "refuse", "settle", "sure", "once", "once", "ask", "wave"} {
		arguments := `{"day":"` + word + `"}`
		if tool == "wave" {
			arguments = "{}"
		}
		w.say(session, fmt.Sprint(word, i), "call "+tool+" "+arguments)
	}
	w.say(session, "", "call book {} "+word)
	w.say(session, "", "nothing of "+word)
	w.call(200, "POST", path+"/messages", `{"actor":"agent","text":"an answer for `+word+`"}`)
	w.call(200, "POST", path+"/messages", `{"actor":"user","final":false,"messageId":"d-`+word+`","text":"a draft of `+word+`"}`)
	w.call(201, "POST", path+"/triggers", `{"name":"ask","source":"task","triggerId":"t-`+word+`","values":{"day":"`+word+`"}}`)
	w.publishAnswer("t-"+word, `{"ok":true,"result":"`+word+`"}`)
	w.publishAnswer("t-"+word, `{"ok":true,"result":"late `+word+`"}`)
}

func TestAnErasedSessionLeavesNothing(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2, "--session-messages", "6"), newSink(t)
	down, wrong := refusing(t, http.StatusServiceUnavailable), refusing(t, http.StatusBadRequest)
	w.put("/v1/apps/clinic", `{"settings":{"chatEvents":true}}`)
	w.put("/v1/apps/clinic/repositories/desk", erasable(sink.URL, down.URL, wrong.URL))
	w.lead("s1", "garlic")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1", "") // an earlier generation
	w.lead("s1", "pepper")
	w.lead("s2", "walnut")
	w.until("what was said is everywhere", func() bool {
		return len(linesOf(w.redisDump(), "pepper")) > 10 && len(linesOf(w.streamDump(), "garlic")) > 10
	})
	redisBefore, streamsBefore := linesOf(w.redisDump(), "walnut"), linesOf(w.streamDump(), "walnut")

	exported := w.call(200, "GET", "/v1/apps/clinic/sessions/s1/export", "").Body
	for _, kind := range []string{`{"kind":"message",`, `{"kind":"trigger",`, `{"kind":"event",`} {
		require.NotEmpty(t, linesOf(exported, kind))
	}
	require.NotEmpty(t, linesOf(exported, "garlic"))
	require.Empty(t, linesOf(exported, "walnut"))

	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
	w.nothingOf("pepper")
	w.nothingOf("garlic")
	require.Empty(t, w.call(200, "GET", "/v1/apps/clinic/sessions/s1/export", "").Body)
	require.Len(t, linesOf(w.streamDump(), "walnut"), len(streamsBefore))
	require.GreaterOrEqual(t, len(linesOf(w.redisDump(), "walnut")), len(redisBefore)-1, "a draft may have expired")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
	w.call(404, "DELETE", "/v1/apps/none/sessions/s1?erase=true", "")
	w.call(400, "DELETE", "/v1/apps/clinic/sessions/s1?erase=yes", "")

	require.Len(t, w.say("s1", "pepper0", `call book {"day":"monday"}`).Matches, 1, "it begins anew")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s2?erase=true", "")
	w.nothingOf("walnut")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
	w.until("nothing is owed", func() bool { return strings.Trim(w.owed(), "0 ") == "" })
}

// TestAnErasedUserLeavesNothing has sessions of all generations of a user, and an erasure that is interrupted
// after the messages are gone.
func TestAnErasedUserLeavesNothing(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2), newSink(t)
	down, wrong := refusing(t, http.StatusServiceUnavailable), refusing(t, http.StatusBadRequest)
	for _, app := range []string{"clinic", "home"} {
		w.put("/v1/apps/"+app, `{"settings":{"chatEvents":true}}`)
		w.put("/v1/apps/"+app+"/repositories/desk", erasable(sink.URL, down.URL, wrong.URL))
	}
	w.put("/v1/apps/clinic/sessions/s1", `{"user":"parsley"}`)
	w.lead("s1", "garlic")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1", "") // it has ended
	w.lead("s2", "pepper")
	w.call(200, "POST", messagesPath("s2"), `{"actor":"user","text":"I am in","user":"parsley"}`)
	w.lead("s3", "walnut")
	w.call(200, "POST", messagesPath("s3"), `{"actor":"user","text":"I am in","user":"bob"}`)
	w.call(200, "POST", "/v1/apps/home/sessions/s2/messages", `{"actor":"user","text":"call book {\"day\":\"celery\"}","user":"parsley"}`)
	w.until("what was said is everywhere", func() bool {
		streams := w.streamDump()
		return len(linesOf(w.redisDump(), "pepper")) > 10 && len(linesOf(streams, "garlic")) > 10 && len(linesOf(streams, "celery")) > 0
	})
	redisBefore, streamsBefore := linesOf(w.redisDump(), "walnut"), linesOf(w.streamDump(), "walnut")

	const of = "/v1/apps/clinic/users/parsley"
	exported := w.call(200, "GET", of+"/export", "").Body
	require.Len(t, linesOf(exported, `{"kind":"session",`), 2)
	require.Contains(t, exported, `{"kind":"session","appId":"clinic","sessionId":"s1","user":"parsley"}`)
	for _, word := range []string{"garlic", "pepper"} {
		require.NotEmpty(t, linesOf(exported, word))
	}
	require.Empty(t, linesOf(exported, "walnut"))
	require.Empty(t, linesOf(exported, "celery"))

	w.nats.Stop()
	require.Contains(t, w.call(503, "DELETE", of+"?erase=true", "").Body, `"events_unavailable"`)
	require.NotContains(t, w.call(200, "GET", "/v1/apps/clinic/sessions", "").Body, `"s2"`, "it has come so far")
	w.nats.Start()
	w.until("the rest is erased", func() bool {
		return w.ask(w.replicas[1], "DELETE", of+"?erase=true", "").Status == http.StatusOK
	})
	for _, word := range []string{"garlic", "pepper"} {
		w.nothingOf(word)
	}
	for _, line := range linesOf(w.redisDump(), "parsley") {
		require.Contains(t, line, "home", "nor whose it was")
	}
	require.JSONEq(t, `{"user":"parsley","erased":0}`, w.call(200, "DELETE", of+"?erase=true", "").Body)
	require.Empty(t, w.call(200, "GET", of+"/export", "").Body)
	require.Len(t, linesOf(w.streamDump(), "walnut"), len(streamsBefore))
	require.GreaterOrEqual(t, len(linesOf(w.redisDump(), "walnut")), len(redisBefore)-1, "a draft may have expired")
	require.NotEmpty(t, linesOf(w.redisDump(), "celery"), "of another app")
	require.NotEmpty(t, linesOf(w.streamDump(), "celery"))

	w.call(200, "POST", messagesPath("s1"), `{"actor":"user","text":"hello","user":"bob"}`) // it now belongs to bob
	require.JSONEq(t, `{"user":"bob","erased":2}`, w.call(200, "DELETE", "/v1/apps/clinic/users/bob?erase=true", "").Body)
	w.nothingOf("walnut")
	require.JSONEq(t, `{"user":"parsley","erased":1}`, w.call(200, "DELETE", "/v1/apps/home/users/parsley?erase=true", "").Body)
	w.nothingOf("celery")
	w.call(404, "DELETE", "/v1/apps/none/users/parsley?erase=true", "")
	w.call(404, "GET", "/v1/apps/none/users/parsley/export", "")
}

func (w *world) owed() string {
	client := w.client()
	counts := lists.Map(client.Keys(w.t.Context(), "*:owed").Val(), func(key string) string { return client.Get(w.t.Context(), key).Val() })
	return strings.Join(counts, " ")
}

func TestWhatIsUnderWayInAnErasedSessionComesToNothing(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	begun, let := make(chan string, 10), make(chan struct{})
	release := sync.OnceFunc(func() { close(let) })
	slow := newEndpoint(t, func(out http.ResponseWriter, _ received) {
		begun <- "a call"
		<-let
		_, _ = out.Write([]byte(`{"said":"pepper"}`))
	})
	t.Cleanup(release)
	w.put("/v1/apps/clinic", `{"settings":{"chatEvents":true}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+slow.URL+`","schema":[{"parameter":"day","type":"string"}]},{"name":"wave"}]}`)
	w.rest()
	w.llm.Handle(func(request llmtest.Request) llmtest.Reply {
		if strings.Contains(request.Last().Content, "think") {
			begun <- "a model"
			<-let
			return llmtest.Calls([2]string{"wave", "{}"})
		}
		return obey(request)
	})
	var posts sync.WaitGroup
	post := func(replica int, body string) {
		posts.Go(func() { w.ask(w.replicas[replica], "POST", messagesPath("s1"), body) })
		<-begun
	}
	post(0, messageBody("m1", `call book {"day":"pepper"}`))
	post(1, messageBody("m2", "think of pepper"))
	post(1, messageBody("m3", `call book {"day":"pepper"}`))
	w.nats.Stop()
	w.call(503, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
	w.nats.Start()
	w.until("NATS is back", func() bool { return w.ask(w.replicas[0], "GET", "/readyz", "").Status == http.StatusOK })
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
	w.nothingOf("pepper")
	release()
	posts.Wait()
	w.rest()
	w.nothingOf("pepper")
}

func TestWhatAReplicaPublishesAsItIsErasedIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	w.put("/v1/apps/clinic", `{"settings":{"chatEvents":true}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string"}]}]}`)
	w.rest()
	stop := testbed.Background(t, func(ctx context.Context) {
		for i := 0; ctx.Err() == nil; i++ {
			w.ask(w.replicas[i%2], "POST", messagesPath("s1"), messageBody("", fmt.Sprintf(`call book {"day":"pepper%d"}`, i)))
		}
	})
	for range 3 {
		got := w.ask(w.replicas[1], "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
		require.Equal(t, http.StatusNoContent, got.Status, got.Body)
	}
	stop()
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "")
	w.nothingOf("pepper")
	w.rest()
	w.nothingOf("pepper")
}

func TestARecordThatOwesNothingCanBeRemoved(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`"},{"name":"later","settle":"60s"}]}`)
	w.call(201, "POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"book","source":"task","triggerId":"t1"}`)
	w.call(201, "POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"later","source":"task","triggerId":"t2"}`)
	w.until("it is delivered", func() bool {
		return w.ask(w.replicas[0], "DELETE", "/v1/apps/clinic/triggers/t1", "").Status == http.StatusNoContent
	})
	w.call(404, "DELETE", "/v1/apps/clinic/triggers/t1", "")
	w.call(404, "GET", "/v1/apps/clinic/triggers/t1", "")
	require.Contains(t, w.call(409, "DELETE", "/v1/apps/clinic/triggers/t2", "").Body, "still has pending effects")
	w.call(202, "POST", "/v1/apps/clinic/triggers/t2/cancel", "")
	w.call(204, "DELETE", "/v1/apps/clinic/triggers/t2", "")
	require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", "/v1/apps/clinic/sessions/s1/triggers", "").Body)
}
