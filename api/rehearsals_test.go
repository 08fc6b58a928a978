package api_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/trial"
)

// deskTools are the tools of the repository desk, with more examples of the first.
func deskTools(examples string) string {
	return `{"tools":[
		{"name":"book","description":"User needs an appointment","schema":[{"parameter":"day","type":"string","description":"wished day","required":true}],
		 "examples":["I want an appointment on [Monday](day)"` + examples + `]},
		{"name":"hours","description":"Tell when the clinic is open","examples":["When are you open?"]}]}`
}

const squeezed = `,"can you squeeze me in on [Tuesday](day)"`

// onServers runs a test on the store of earshot dev, and on Redis.
func onServers(t *testing.T, test func(*testing.T, *redistest.Server)) {
	t.Run("embedded", func(t *testing.T) { test(t, redistest.Mini(t)) })
	t.Run("redis", func(t *testing.T) { test(t, redistest.Run(t)) })
}

// desk is a world with the offline matcher, tools and earlier messages.
func desk(t *testing.T, server *redistest.Server, change ...func(*api.Options)) apitest.World {
	w := apitest.LiveOn(t, server, chain.New(llm.Options{}), change...)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", deskTools("")).Is(201, "")
	for i, said := range []string{"When are you open?", "can you squeeze me in on Friday", "What a lovely day", "I want an appointment on Sunday"} {
		w.Call("POST", fmt.Sprintf("/v1/apps/clinic/sessions/s%d/messages", i%2), fmt.Sprintf(`{"messageId":"m%d","actor":"user","text":%q}`, i, said)).Is(200, "")
	}
	w.Call("POST", "/v1/apps/clinic/sessions/s1/messages", `{"actor":"agent","text":"can you squeeze me in on Friday"}`).Is(200, "")
	return w
}

func rehearse(w apitest.World, body string) trial.Outcome {
	return bodyOf[trial.Outcome](w.Call("POST", "/v1/apps/clinic/rehearsals", body).Is(200, ""))
}

func TestARehearsalSaysWhatAChangeDoesAndDoesNothing(t *testing.T) {
	onServers(t, func(t *testing.T, server *redistest.Server) {
		w := desk(t, server)
		for name, expects := range map[string]string{"squeezed%20in": `{"tool":"book","values":{"day":"friday"}}`, "nothing": `{"none":true}`} {
			w.Call("PUT", "/v1/apps/clinic/tests/"+name, `{"chat":[{"user":"can you squeeze me in on Friday"},{"expect":`+expects+`}]}`).Is(201, "")
		}
		repository := w.Call("GET", "/v1/apps/clinic/repositories/desk", "").Is(200, "").Body
		history := w.Call("GET", "/v1/apps/clinic/sessions/s1/messages", "").Is(200, "").Body

		found := rehearse(w, `{"repositories":{"desk":{"definition":`+deskTools(squeezed)+`}},"tests":true}`)
		require.Equal(t, trial.Counts{Tried: 4, Same: 3, Fires: 1}, found.Messages)
		require.Len(t, found.Differences, 1)
		one := found.Differences[0]
		require.Equal(t, "s1 m1 fires", one.SessionID+" "+one.MessageID+" "+one.Change)
		require.Empty(t, one.Before.Fired)
		require.Contains(t, one.Before.Why, "Nothing fired: ")
		require.Equal(t, []trial.Fired{{RepositoryID: "desk", Name: "book", Values: map[string]any{"day": "Friday"}}}, one.After.Fired)
		passed := map[string][2]bool{}
		for _, test := range found.Tests {
			passed[test.Name] = [2]bool{test.Before.OK, test.After.OK}
		}
		require.Equal(t, map[string][2]bool{"squeezed in": {false, true}, "nothing": {true, false}}, passed)
		require.Zero(t, found.Before.ModelRequests+found.After.ModelRequests)
		require.Equal(t, []string{"The words decided, and no model was asked."}, found.Notes)

		require.Equal(t, string(repository), string(w.Call("GET", "/v1/apps/clinic/repositories/desk", "").Body))
		require.Equal(t, string(history), string(w.Call("GET", "/v1/apps/clinic/sessions/s1/messages", "").Body))
		require.Len(t, w.Triggers("s0"), 1, "nothing more has fired")

		found = rehearse(w, `{"tests":["nothing"],"messages":2}`)
		require.Equal(t, trial.Counts{Tried: 2, Same: 2}, found.Messages, "without a change")
		require.True(t, found.Tests[0].After.OK)
		found = rehearse(w, `{"repositories":{"desk":{"definition":{"tools":[]}},"other":{"definition":`+deskTools("")+`}},"messages":1}`)
		require.Equal(t, trial.Counts{Tried: 1, OtherTool: 1}, found.Messages, "the last message, by the tool of another repository")
	})
}

// A message is rehearsed with its conversation at that time.
func TestARehearsalKnowsTheConversationBeforeAMessage(t *testing.T) {
	w := desk(t, redistest.Mini(t))
	w.Call("POST", "/v1/apps/clinic/sessions/s3/messages", `{"messageId":"a1","actor":"user","text":"I want an appointment"}`).Is(200, "")
	answer := w.Call("POST", "/v1/apps/clinic/sessions/s3/messages", `{"messageId":"a2","actor":"user","text":"Tuesday"}`).Is(200, "").Body
	require.Contains(t, string(answer), `"values":{"day":"Tuesday"}`)
	found := rehearse(w, `{"repositories":{"desk":{"definition":{"tools":[]}}},"messages":1}`)
	require.Equal(t, trial.Counts{Tried: 1, NoLonger: 1}, found.Messages)
	require.Equal(t, map[string]any{"day": "Tuesday"}, found.Differences[0].Before.Fired[0].Values, "the value completes the call before")
}

func TestARehearsalNamesWhatItCannotTry(t *testing.T) {
	w := desk(t, redistest.Mini(t), func(o *api.Options) { o.Rehearser.(*trial.Rehearser).Models = nil })
	at := "/v1/apps/clinic/rehearsals"
	for body, says := range map[string]string{
		`{"repositories":{"desk":{}}}`: `"/repositories/desk"`, `{"repositories":{"desk":{"version":9}}}`: `"/repositories/desk/version"`,
		`{"repositories":{"desk":{"definition":{"tools":[{"name":"x y"}]}}}}`:                                             `"/repositories/desk/definition/tools/0/name"`,
		`{"repositories":{"desk":{"definition":{"tools":[{"name":"x","request":{"auth":"module","moduleId":"gone"}}]}}}}`: `"/repositories/desk/definition/tools/0/`,
		`{"tests":["gone"]}`: `"/tests/0"`, `{"messages":1001}`: `"/messages"`, `{"messages":51,"model":"default"}`: "the limit is 50 with a model", `{"model":"default"}`: "no model is configured here",
	} {
		require.Contains(t, string(w.Call("POST", at, body).Is(400, "").Body), says, body)
	}
	w.Call("POST", "/v1/apps/nobody/rehearsals", `{}`).Is(404, "")
	for scopes, status := range map[string]int{`["messages"]`: 200, `["tools"]`: 403, `["messages:read"]`: 403} {
		key := w.Call("POST", "/v1/apps/clinic/keys", `{"scopes":`+scopes+`}`).Made()
		require.Equal(t, status, w.Post(at, `{}`, key.Key).StatusCode, scopes)
	}
}

func TestAThousandMessagesAreRehearsed(t *testing.T) {
	w := desk(t, redistest.Mini(t))
	for i := range 1000 {
		w.Call("POST", fmt.Sprintf("/v1/apps/clinic/sessions/t%d/messages", i%50), fmt.Sprintf(`{"actor":"user","text":"can you squeeze me in on Friday, number %d"}`, i)).Is(200, "")
	}
	found := rehearse(w, `{"repositories":{"desk":{"definition":`+deskTools(squeezed)+`}}}`)
	require.Equal(t, 1000, found.Messages.Tried)
}

func TestAModelIsAskedForFewMessagesAndItsTokensAreCounted(t *testing.T) {
	server := llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Call("book", `{"day":"Friday"}`) })
	model := chain.New(llm.Options{BaseURL: server.URL(), Key: secret.New("k"), Model: "m"})
	w := desk(t, redistest.Mini(t), func(o *api.Options) { o.Rehearser.(*trial.Rehearser).Models = model })
	for i := range 60 {
		w.Call("POST", "/v1/apps/clinic/sessions/s5/messages", fmt.Sprintf(`{"actor":"user","text":"is there room on Friday, %d"}`, i)).Is(200, "")
	}
	found := rehearse(w, `{"model":"default"}`)
	require.Equal(t, 50, found.Messages.Tried)
	require.EqualValues(t, 50, found.Before.ModelRequests)
	require.Equal(t, 50, server.Count())
	require.Equal(t, "default", found.Model)
}

func TestTestsAreKeptListedAndDeleted(t *testing.T) {
	onServers(t, func(t *testing.T, server *redistest.Server) {
		w := desk(t, server)
		const at, body = "/v1/apps/clinic/tests", `{"chat":[{"user":"hello","expect":{"none":true}}]}`
		w.Call("PUT", at+"/b", body).Is(201, "")
		w.Call("PUT", at+"/b", body).Is(200, "")
		w.Call("PUT", at+"/a%2Fslash", body).Is(201, "")
		require.Contains(t, string(w.Call("GET", at+"/a%2Fslash", "").Is(200, "").Body), `"name":"a/slash"`)
		first := bodyOf[pageOf[store.Test]](w.Call("GET", at+"?limit=1", "").Is(200, ""))
		require.Equal(t, "a/slash", first.Items[0].Name)
		second := bodyOf[pageOf[store.Test]](w.Call("GET", at+"?after="+first.Next, "").Is(200, ""))
		require.Equal(t, "b", second.Items[0].Name)
		w.Call("PUT", at+"/c", `{"chat":[{"user":"hello","expect":{"toool":"x"}}],"app":"other"}`).Is(400, "")
		w.Call("PUT", at+"/c", `{"chat":[{"user":"hello"}],"app":"other"}`).Problem(400, "1 error")
		w.Call("PUT", at+"/%20c", body).Is(400, "")
		w.Call("DELETE", at+"/b", "").Is(204, "")
		w.Call("GET", at+"/b", "").Problem(404, "not found")
		w.Call("DELETE", at+"/b", "").Is(404, "")
		for i := range 199 {
			w.Call("PUT", fmt.Sprintf("%s/n%d", at, i), body).Is(201, "")
		}
		w.Call("PUT", at+"/b", body).Problem(422, "tests are limited to 200")
		w.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
		w.Call("GET", at, "").Is(404, "")
		w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
		require.Contains(t, string(w.Call("GET", at, "").Is(200, "").Body), `"items":[]`)
	})
}

func versionsOf(w apitest.World, id string) (all []string) {
	type version struct {
		Version, Restored  int
		Operation, By, Via string
	}
	for _, one := range bodyOf[pageOf[version]](w.Call("GET", "/v1/apps/clinic/repositories/"+id+"/versions?limit=200", "").Is(200, "")).Items {
		all = append(all, fmt.Sprint(one.Version, " ", one.Operation, " ", one.By, " ", one.Via, " ", one.Restored))
	}
	return all
}

func TestEachWriteOfARepositoryIsAVersionThatCanBeRestored(t *testing.T) {
	onServers(t, func(t *testing.T, server *redistest.Server) {
		w := desk(t, server)
		const at = "/v1/apps/clinic/repositories/desk"
		key := w.Call("POST", "/v1/apps/clinic/keys", `{"scopes":["tools"],"name":"desk"}`).Made()
		w.Call("PUT", at, `{"tools":[{"name":"ring","url":"https://ring.example/","request":{"headers":{"Authorization":"hunter2"}}}]}`, "Authorization: Bearer "+key.Key).Is(200, "")
		w.Call("PATCH", at, `{"tools":[{"name":"open"}]}`).Is(200, "")
		w.Call("DELETE", at+"/tools/ring", "").Is(204, "")
		w.Call("DELETE", at, "").Is(204, "")
		by := []string{"1 created admin rest 0", "2 updated " + key.KeyID + " rest 0", "3 updated admin rest 0", "4 updated admin rest 0", "5 deleted admin rest 0"}
		slices.Reverse(by)
		require.Equal(t, by, versionsOf(w, "desk"))
		second := string(w.Call("GET", at+"/versions/2", "").Is(200, "").Body)
		require.Contains(t, second, `"definition":{`)
		require.NotContains(t, second, "hunter2")
		require.Contains(t, string(w.Call("GET", at+"/versions/5", "").Is(200, "").Body), `"definition":null`)

		w.Call("POST", at+"/versions/5/restore", "").Problem(404, "name the one before it")
		w.Call("POST", at+"/versions/9/restore", "").Is(404, "")
		w.Call("POST", at+"/versions/0/restore", "").Is(400, "")
		w.Call("POST", at+"/versions/2/restore", "").Is(201, "")
		stored, err := w.Store.Repository(t.Context(), repositories.Scope{AppID: "clinic"}, "desk")
		require.NoError(t, err)
		require.Equal(t, "hunter2", stored.Tools[0].Request.Headers["Authorization"].Reveal(), "credentials come back")
		w.Call("POST", at+"/versions/1/restore", "", `If-Match: "another"`).Is(412, "")
		w.Call("POST", at+"/versions/1/restore", "", `If-Match: "`+stored.Revision+`"`).Is(200, "")
		require.Equal(t, []string{"7 restored admin rest 1", "6 restored admin rest 2"}, versionsOf(w, "desk")[:2])
		require.Contains(t, string(w.Call("GET", "/v1/apps/clinic/audit?action=repository.change&limit=1", "").Body), `"repositoryId":"desk"`)

		w.Call("PUT", "/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"x"}]}`).Is(201, "")
		w.Call("GET", "/v1/apps/clinic/repositories/own/versions", "").Is(404, "")
		for i := range 60 {
			w.Call("PUT", at, fmt.Sprintf(`{"tools":[{"name":"t%d"}]}`, i)).Is(200, "")
		}
		all := versionsOf(w, "desk")
		require.Len(t, all, 50)
		require.Equal(t, "67 updated admin rest 0", all[0])
		w.Call("GET", at+"/versions/7", "").Is(404, "")
		w.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
		w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
		w.Call("GET", at+"/versions", "").Is(404, "")
		keys, err := server.Client().Keys(t.Context(), "*versions*").Result()
		require.NoError(t, err)
		require.Empty(t, keys, "they go with the app")
	})
}
