package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories"
)

// items returns the items of a list.
func items(a apitest.Answer) (items []map[string]any) {
	a.T.Helper()
	return bodyOf[pageOf[map[string]any]](a.Is(200, "")).Items
}

func TestToolsAreFoundByWhatATextIsAbout(t *testing.T) {
	w := apitest.LiveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/house", `{"tools":[
		{"name":"book","description":"User needs an appointment with a doctor","schema":[{"parameter":"day","type":"string","required":true},{"parameter":"desk","type":"string","value":"A"}]},
		{"name":"bill","description":"Send the bill"}]}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"call-doctor","description":"Ring the doctor on duty"}]}`).Is(201, "")

	search := func(of, body string) []map[string]any {
		return items(w.Call("POST", "/v1/apps/clinic"+of+"/tools/search", body))
	}
	require.Len(t, search("/sessions/s1", `{"text":"doctor"}`), 2)
	require.Len(t, search("/sessions/s1", `{"text":"doctor","limit":1}`), 1)
	require.Empty(t, search("", `{"text":"xyzzy","limit":null}`))
	found := search("", `{"text":"appointment"}`)
	require.Len(t, found, 1)
	require.Positive(t, found[0]["score"])
	delete(found[0], "score")
	require.Equal(t, items(w.Call("GET", "/v1/apps/clinic/tools?name=book", "")), found, "as it is listed")

	w.Call("PUT", "/v1/apps/clinic/repositories/shop", `{"tools":[{"name":"refund_order"},{"name":"return_order"},{"name":"create_order"},{"name":"create_user"},{"name":"delete_user"},{"name":"login"}]}`).Is(201, "")
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
		require.Contains(t, s.Call("POST", path, body).Problem(400), pointer)
	}
	s.Call("POST", path, ``).Problem(400, "a JSON body is needed")
	require.Empty(t, s.engine.calls, "nobody was asked")
	s.engine.err = repositories.ErrNotFound
	s.Call("POST", path, `{"text":"x"}`).Problem(404)
}
