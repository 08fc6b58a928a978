package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api/answer"
	"earshot/deploy/testbed/apitest"
)

// cursorIn is the cursor of a place in a list, which is named by its route and the values in its path.
func cursorIn(list, place string) string {
	sum := sha256.Sum256([]byte(list))
	return base64.RawURLEncoding.EncodeToString([]byte("of:" + hex.EncodeToString(sum[:4]) + ":" + place))
}

// TestACursorIsOfItsListAlone asks every list for what no page of it said was next.
func TestACursorIsOfItsListAlone(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	for _, app := range []string{"bakery", "clinic"} {
		w.Call("PUT", "/v1/apps/"+app, `{"sources":[{"name":"a","type":"http","baseUrl":"https://a.example"},{"name":"b","type":"http","baseUrl":"https://b.example"}]}`).Is(201, "")
		for _, id := range []string{"r1", "r2"} {
			w.Call("PUT", "/v1/apps/"+app+"/repositories/"+id, `{"tools":[{"name":"`+id+`"}]}`).Is(201, "")
			w.Call("PUT", "/v1/apps/"+app+"/repositories/"+id, `{"tools":[{"name":"`+id+`","description":"d"}]}`).Is(200, "")
			w.Call("PUT", "/v1/apps/"+app+"/sessions/"+id, `{}`).Is(201, "")
			w.Call("POST", "/v1/apps/"+app+"/keys", `{"name":"`+id+`","scopes":["triggers"]}`).Is(201, "")
			w.Call("POST", "/v1/apps/"+app+"/sessions/s1/messages", `{"text":"`+id+`","actor":"user"}`).Is(200, "")
			w.Call("POST", "/v1/apps/"+app+"/sessions/s1/triggers", `{"name":"`+id+`","source":"ui"}`).Is(201, "")
		}
	}
	paged := []string{
		"/v1/apps", "/v1/apps/clinic/keys", "/v1/apps/clinic/sessions", "/v1/apps/clinic/repositories", "/v1/apps/clinic/tools", "/v1/apps/clinic/tools/usage",
		"/v1/apps/clinic/sources", "/v1/apps/clinic/triggers", "/v1/apps/clinic/audit", "/v1/apps/clinic/sessions/s1/messages", "/v1/apps/clinic/repositories/r1/versions",
	}
	others := []string{
		"/v1/apps/clinic/tests", "/v1/apps/clinic/usage", "/v1/apps/clinic/usage/hosts", "/v1/apps/clinic/sessions/s1/tools",
		"/v1/apps/bakery/keys", "/v1/apps/bakery/repositories", "/v1/apps/bakery/triggers", "/v1/apps/bakery/sessions/s1/messages", "/v1/apps/bakery/audit",
	}
	next := map[string]string{}
	for _, list := range paged {
		next[list], _ = w.Document(list + "?limit=1")["next"].(string)
		require.NotEmpty(t, next[list], list)
		require.NotEmpty(t, w.Document(list + "?limit=1&after=" + next[list])["items"], list)
	}
	for _, list := range append(others, paged...) {
		for _, cursor := range []string{"zzz", "!!!", "r1", "1", "b2Y6", cursorIn("another", "r1")} {
			refused(w, list, cursor)
		}
		for other, cursor := range next {
			if other != list {
				refused(w, list, cursor)
			}
		}
	}
	w.Call("GET", "/v1/apps/clinic/triggers?after=b2Y6&state=gone", "").Problem(400, "state", "after is not a cursor")
}

func refused(w apitest.World, list, cursor string) {
	w.T.Helper()
	got := w.Call("GET", list+"?after="+url.QueryEscape(cursor), "").Is(400, "")
	require.Contains(w.T, string(got.Body), `"code":"`+string(answer.InvalidCursor)+`"`, "%s %s", list, cursor)
}
