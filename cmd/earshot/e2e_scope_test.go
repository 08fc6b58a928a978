package main

import (
	"testing"

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
