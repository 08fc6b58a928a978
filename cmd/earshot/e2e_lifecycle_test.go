package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

// operations lists what tool.changed told of a repository.
func (w *world) operations(app, repository string) []string {
	w.t.Helper()
	var list []string
	for _, one := range w.events("tool.changed." + app + "." + repository) {
		list = append(list, one.Payload["operation"].(string))
	}
	return list
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
			messages("s1"): message("m3", "call ours {}"), "/v1/apps/clinic/triggers": `{"name":"ours","source":"ui"}`,
		} {
			require.Equal(t, http.StatusNotFound, w.ask(r, "POST", path, body).Status)
		}
		for _, path := range []string{"", "/repositories/app", "/sessions/s1/repositories", "/sessions/s1/messages"} {
			require.Equal(t, http.StatusNotFound, w.ask(r, "GET", "/v1/apps/clinic"+path, "").Status, path)
		}
	}
	w.call(404, "DELETE", "/v1/apps/clinic", "")
	w.rest()
	require.Empty(t, w.leftOf("clinic"))
	for _, repository := range []string{"app", "own", "own2"} {
		require.Equal(t, []string{"created", "deleted"}, w.operations("clinic", repository))
	}

	w.put("/v1/apps/clinic", `{}`)
	for _, path := range []string{"/repositories", "/sessions/s1/repositories", "/sessions/s1/messages", "/triggers"} {
		require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", "/v1/apps/clinic"+path, "").Body, path)
	}
	w.call(404, "GET", "/v1/apps/clinic/triggers/"+trigger, "")
	require.Empty(t, w.say("s1", "m1", "call ours {}; mine {}").Matches, "the message of before is not remembered")
}

// leftOf lists what Redis holds of an app for good; what expires by itself is not.
func (w *world) leftOf(app string) []string {
	left := []string{}
	for _, key := range w.client().Keys(w.t.Context(), "*:"+app+"*").Val() {
		if w.client().PTTL(w.t.Context(), key).Val() < 0 {
			left = append(left, key)
		}
	}
	return left
}

func TestCallThatADeletedAppOwesLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	sink := newEndpoint(t, func(out http.ResponseWriter, _ received) { out.WriteHeader(http.StatusServiceUnavailable) })
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`"}]}`)
	require.Equal(t, "pending", w.say("s1", "m1", "call book {}").Matches[0].Call.State)
	w.call(204, "DELETE", "/v1/apps/clinic", "")
	w.rest()
	require.Empty(t, w.leftOf("clinic"))
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
	w.until("the history is gone", func() bool { return w.ask(w.replicas[0], "GET", messages("s1"), "").Body == `{"items":[]}`+"\n" })
	w.rest()
	require.Equal(t, []string{"created", "deleted"}, w.operations("clinic", "own"))
	require.Equal(t, []string{"created"}, w.operations("clinic", "app"))
	w.call(200, "GET", "/v1/apps/clinic/repositories/app", "")
	client := w.client()
	w.until("nothing of the session is left in Redis", func() bool {
		keys := repositories.KeysOf("clinic")
		found, err := client.Exists(t.Context(), keys.Turns("s1"), keys.Order("s1"), keys.Repos("s1"), keys.Outbox("s1"), keys.Idle()).Result()
		return err == nil && found == 0
	})
}

func TestClosedSessionBeginsAnew(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/app", `{"tools":[{"name":"ours"}]}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"mine"}]}`)
	w.say("s1", "m1", "call mine {}")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1", "")
	w.call(404, "GET", "/v1/apps/clinic/sessions/s1/repositories/own", "")
	require.Empty(t, w.say("s1", "m1", "call mine {}").Matches)
	last := w.llm.Requests()[w.llm.Count()-1]
	require.Equal(t, []string{"ours"}, last.ToolNames())
	require.Len(t, last.Messages, 3, "without the history of before")
}

func TestMessageOfASessionThatBeginsAnewIsAnotherOne(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/app", `{"tools":[{"name":"ours","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
	ids := map[string]bool{}
	for range 2 {
		ids[w.say("s1", "m1", `call ours {"day":"monday"}`).Matches[0].TriggerID] = true
		w.say("s1", "m2", "call ours {}")
		w.say("s1", "m3", "hello")
		w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1", "")
	}
	w.rest()
	require.Len(t, ids, 2)
	require.Len(t, w.events("tool.trigger.clinic.s1.ours"), 2, "the stream takes none for a repeat")
	require.Len(t, w.events("tool.rejected.clinic.s1.ours"), 2)
	require.Len(t, w.events("tool.notmatching.clinic.s1"), 2)
}

func TestConcurrentPatchesLoseNothing(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	const path = "/v1/apps/clinic/sessions/s1/repositories/desk"
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, got := range together(len(names), func(i int) answer {
		return w.ask(w.replicas[i%2], "PATCH", path, `{"tools":[{"name":"`+names[i]+`"}]}`)
	}) {
		require.Contains(t, []int{200, 201}, got.Status, got.Body)
	}
	stored := read[struct{ Tools []struct{ Name string } }](t, w.call(200, "GET", path, ""))
	var found []string
	for _, tool := range stored.Tools {
		found = append(found, tool.Name)
	}
	require.ElementsMatch(t, names, found)
	w.rest()
	operations := w.operations("clinic", "desk")
	require.Len(t, operations, len(names))
	require.Equal(t, "created", operations[0])
}
