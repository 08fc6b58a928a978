package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keyOf makes a key of the app clinic and returns the header that sends it.
func (w *world) keyOf(body string, headers ...string) []string {
	w.t.Helper()
	made := read[struct{ Key string }](w.t, w.call(201, "POST", "/v1/apps/clinic/keys", body, headers...))
	return []string{"Authorization", "Bearer " + made.Key}
}

// named is the server under another name.
func (s *stranger) named(host string) string { return strings.Replace(s.URL, "127.0.0.1", host, 1) }

const tokenOfTheModule = "t0ken-of-the-module"

func TestModuleIsUsedTowardsItsHostsAloneByWhomeverMayOnlyWriteTools(t *testing.T) {
	w := serving(t, 1)
	home, evil := newStranger(t), newStranger(t)
	app := func(hosts, base string) {
		w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"`+home.URL+`/token","hosts":[`+hosts+`]}],
			"sources":[{"name":"crm","type":"http","baseUrl":"`+base+`"}]}`)
	}
	app(``, home.URL)
	author := w.keyOf(`{"scopes":["tools"]}`)
	there := onlyTool(`"url":"` + evil.named("localhost") + `/x","request":{"auth":"module","moduleId":"calendar"}`)
	onSource := onlyTool(`"type":"http","source":"crm","method":"GET","path":"x","request":{"moduleId":"calendar"}`)
	const all, session = "/v1/apps/clinic/repositories", "/v1/apps/clinic/sessions/s1/repositories"
	refused := func(method, path, body, pointer string, key []string) {
		t.Helper()
		got := w.call(400, method, path, body, key...).Body
		require.Contains(t, got, `"pointer":"`+pointer+`"`)
		require.Contains(t, got, `have \"localhost\" added to the hosts of the module`)
	}
	everywhere := func(body, pointer string) {
		t.Helper()
		for _, in := range []string{all, session} {
			for _, query := range []string{"", "?dryRun=true"} {
				refused("PUT", in+"/r"+query, body, pointer, author)
			}
			refused("PATCH", in+"/r", body, pointer, author)
			refused("POST", in, body, pointer, author)
		}
	}
	everywhere(there, "/tools/0/url")
	app(``, evil.named("localhost"))
	everywhere(onSource, "/tools/0/source")
	app(``, home.URL)

	w.call(201, "PUT", session+"/r", strings.ReplaceAll(there, evil.named("localhost"), home.URL), author...)
	require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State, "the host of tokenUrl needs no mention")
	require.Contains(t, home.all(), tokenOfTheModule, "the test can see it")
	app(`"localhost"`, home.URL)
	w.call(200, "PUT", session+"/r", there, author...)
	require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State)
	require.Equal(t, 1, strings.Count(evil.all(), tokenOfTheModule))

	app(``, home.URL)                                                            // the host is taken back
	w.call(200, "PATCH", session+"/r", `{"tools":[{"name":"more"}]}`, author...) // its tools are held to it as well
	call := w.fire("s1", "t", `{}`).Call
	require.Equal(t, "failed auth", call.State+" "+call.Reason)
	require.Contains(t, call.Error, `the hosts of module "calendar" do not name localhost`)
	w.call(200, "PUT", session+"/r", onSource, author...)
	app(``, evil.named("localhost")) // the source is moved below the tool
	require.Equal(t, "failed", w.fire("s1", "t", `{}`).Call.State)
	require.Equal(t, 1, strings.Count(evil.all(), tokenOfTheModule))
}

func TestWhatTheOwnerPointedElsewhereStaysAsLongAsItIsTheSame(t *testing.T) {
	w := serving(t, 1)
	home, other := newStranger(t), newStranger(t)
	w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"`+home.URL+`/token"}]}`)
	author, owner := w.keyOf(`{"scopes":["tools"]}`), w.keyOf(`{"scopes":["tools","app"]}`)
	const path = "/v1/apps/clinic/sessions/s1/repositories/r"
	there := onlyTool(`"url":"` + other.named("localhost") + `/x","request":{"auth":"module","moduleId":"calendar"}`)
	for i, key := range [][]string{nil, owner} { // nil is the admin
		w.call(201, "PUT", path, there, key...)
		w.call(200, "PUT", path, strings.Replace(there, "/x", "/y", 1), author...)
		w.call(200, "PATCH", path, `{"tools":[{"name":"more"}]}`, author...)
		require.Equal(t, "delivered", w.fire("s1", "t", `{}`).Call.State)
		require.Equal(t, i+1, strings.Count(other.all(), tokenOfTheModule))
		w.call(400, "PUT", path, strings.Replace(there, "localhost", "ip6-localhost", 1), author...)
		w.call(204, "DELETE", path, "", author...)
		w.call(400, "PUT", path, there, author...)
	}
}
