package main

import (
	"net/http"
	"testing"

	"earshot/repositories/keyspace"

	"github.com/stretchr/testify/require"
)

func TestToolsOfOthersAreNeitherSeenNorFired(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/other", `{}`)
	tool := func(name string) string {
		return `{"tools":[{"name":"` + name + `","description":"description of ` + name + `"}]}`
	}
	w.put("/v1/apps/clinic/repositories/app", tool("ours"))
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", tool("mine"))
	w.put("/v1/apps/clinic/sessions/s2/repositories/own", tool("neighbours"))
	w.put("/v1/apps/other/repositories/app", tool("foreign"))
	w.put("/v1/apps/other/sessions/s1/repositories/own", tool("namesake"))

	got := w.say("s1", "m1", "call ours {}; mine {}; neighbours {}; foreign {}; namesake {}; invented {}")
	require.Len(t, got.Matches, 2)
	require.Equal(t, []string{"ours", "mine"}, []string{got.Matches[0].Name, got.Matches[1].Name})
	require.Empty(t, got.Rejected)
	require.Equal(t, []string{"mine", "ours"}, w.llm.Requests()[0].ToolNames())
	for _, hidden := range []string{"neighbours", "foreign", "namesake"} {
		require.NotContains(t, string(w.llm.Requests()[0].Body), "description of "+hidden)
	}

	const mine, app = "/v1/apps/clinic/sessions/s1/triggers", "/v1/apps/clinic/triggers"
	for path, bodies := range map[string][]string{
		mine: {`{"name":"neighbours","source":"ui"}`, `{"name":"neighbours","repositoryId":"own","source":"ui"}`,
			`{"name":"foreign","source":"ui"}`, `{"name":"namesake","repositoryId":"own","source":"agent"}`},
		app: {`{"name":"mine","source":"ui"}`, `{"name":"foreign","repositoryId":"app","source":"ui"}`},
	} {
		for _, body := range bodies {
			w.call(404, "POST", path, body)
		}
	}
	w.rest()
	require.Len(t, w.events("tool.trigger.>"), 2)
	require.Empty(t, w.events("tool.trigger.other.>"))
}

func TestHistoryAndTriggersOfOthersAreNotShown(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/other", `{}`)
	w.put("/v1/apps/clinic/repositories/app", `{"tools":[{"name":"ours"}]}`)
	fired := w.say("s1", "m1", "call ours {}").Matches[0].TriggerID
	w.say("s2", "m1", "call ours {}")
	require.NotContains(t, string(w.llm.Requests()[1].Body), fired)
	require.Len(t, w.llm.Requests()[1].Messages, 3, "rules, clock, and the message: no history of the other session")

	w.call(200, "GET", "/v1/apps/clinic/triggers/"+fired, "")
	w.call(404, "GET", "/v1/apps/other/triggers/"+fired, "")
	for _, path := range []string{"/v1/apps/other/triggers", "/v1/apps/other/sessions/s1/triggers", "/v1/apps/other/sessions/s1/messages", "/v1/apps/other/repositories"} {
		require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", path, "").Body)
	}
}

func TestSessionsToolShadowsTheAppsOfTheSameName(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/app", `{"tools":[{"name":"book","description":"the app's"}]}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"book","description":"the session's"}]}`)
	require.Equal(t, "own", w.say("s1", "", "call book {}").Matches[0].RepositoryID)
	require.Equal(t, "app", w.say("s2", "", "call book {}").Matches[0].RepositoryID)
	require.Equal(t, "own", w.fire("s1", "book", `{}`).RepositoryID)
	require.Len(t, w.llm.Requests()[0].Tools, 1)
	require.Equal(t, "the session's", w.llm.Requests()[0].Tools[0].Description)
}

func TestAppsMayGiveTheirTriggersTheSameID(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	const direct = `{"name":"book","source":"task","triggerId":"job-1"}`
	for _, app := range []string{"clinic", "other", "other"} {
		w.put("/v1/apps/"+app, `{}`)
		w.put("/v1/apps/"+app+"/repositories/desk", `{"tools":[{"name":"book"}]}`)
		w.call(201, "POST", "/v1/apps/"+app+"/triggers", direct)
	}
	w.rest()
	require.Len(t, w.events("tool.trigger.clinic._.book"), 1)
	require.Len(t, w.events("tool.trigger.other._.book"), 1, "it is not taken for a repeat of the other app's, and its own repeat is one")

	w.call(204, "DELETE", "/v1/apps/other", "")
	w.put("/v1/apps/other", `{}`)
	w.put("/v1/apps/other/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.call(201, "POST", "/v1/apps/other/triggers", direct)
	w.rest()
	require.Len(t, w.events("tool.trigger.other._.book"), 2, "an app that is made anew has fired nothing yet")
}

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
	w.until("the history is gone", func() bool { return w.ask(w.replicas[0], "GET", messagesPath("s1"), "").Body == `{"items":[]}`+"\n" })
	w.rest()
	require.Equal(t, []string{"created", "deleted"}, w.operations("clinic", "own"))
	require.Equal(t, []string{"created"}, w.operations("clinic", "app"))
	w.call(200, "GET", "/v1/apps/clinic/repositories/app", "")
	client := w.client()
	w.until("nothing of the session is left in Redis", func() bool {
		keys := keyspace.KeysOf("clinic")
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
	for _, got := range together(len(names), func(i int) httpAnswer {
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
