package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories"
)

// items are those of a list.
func (a answer) items() (items []map[string]any) {
	a.t.Helper()
	var list struct{ Items []map[string]any }
	require.NoError(a.t, json.Unmarshal(a.is(200, "").body, &list))
	return list.Items
}

func TestToolsAreFoundByWhatATextIsAbout(t *testing.T) {
	w := liveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	w.call("PUT", "/v1/apps/clinic/repositories/house", `{"tools":[
		{"name":"book","description":"User needs an appointment with a doctor","schema":[{"parameter":"day","type":"string","required":true},{"parameter":"desk","type":"string","value":"A"}]},
		{"name":"bill","description":"Send the bill"}]}`).is(201, "")
	w.call("PUT", "/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"call-doctor","description":"Ring the doctor on duty"}]}`).is(201, "")

	search := func(of, body string) []map[string]any {
		return w.call("POST", "/v1/apps/clinic"+of+"/tools/search", body).items()
	}
	require.Len(t, search("/sessions/s1", `{"text":"doctor"}`), 2)
	require.Len(t, search("/sessions/s1", `{"text":"doctor","limit":1}`), 1)
	require.Empty(t, search("", `{"text":"xyzzy","limit":null}`))
	found := search("", `{"text":"appointment"}`)
	require.Len(t, found, 1)
	require.Positive(t, found[0]["score"])
	delete(found[0], "score")
	require.Equal(t, w.call("GET", "/v1/apps/clinic/tools?name=book", "").items(), found, "as it is listed")

	w.call("PUT", "/v1/apps/clinic/repositories/shop", `{"tools":[{"name":"refund_order"},{"name":"return_order"},{"name":"create_order"},{"name":"create_user"},{"name":"delete_user"},{"name":"login"}]}`).is(201, "")
	for text, first := range map[string]string{
		"give money back for an order": "refund_order", "send an order back": "return_order", "register a user account": "create_user", "get rid of a user": "delete_user", "sign in": "login",
	} {
		require.Equal(t, first, search("", `{"text":"`+text+`"}`)[0]["name"], text)
	}
}

func TestSearchesForToolsThatAreRefused(t *testing.T) {
	s := start(t)
	const path = "/v1/apps/clinic/tools/search"
	for body, pointer := range map[string]string{
		`{}`: "/text", `{"text":" "}`: "/text", `{"text":7}`: "/text", `{"text":"x","limit":0}`: "/limit", `{"text":"x","limit":101}`: "/limit",
		`{"text":"x","limit":1.5}`: "/limit", `{"query":"x"}`: "/query", `{"text":"` + strings.Repeat("x", 65_537) + `"}`: "/text",
	} {
		require.Contains(t, s.call("POST", path, body).problem(400), pointer)
	}
	s.call("POST", path, ``).problem(400, "a JSON body is needed")
	require.Empty(t, s.engine.calls, "nobody was asked")
	s.engine.err = repositories.ErrNotFound
	s.call("POST", path, `{"text":"x"}`).problem(404)
}
