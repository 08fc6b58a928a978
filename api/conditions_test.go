package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
)

// etag reads the entity tag of an app or a repository.
func etag(w apitest.World, path string) string {
	w.T.Helper()
	tag := w.Call("GET", path, "").Is(200, "").Header.Get("ETag")
	require.Regexp(w.T, `^"[^"]+"$`, tag)
	return tag
}

// conditional maps a path to its PUT body and a patch.
var conditional = map[string][2]string{
	"/v1/apps/clinic":                                  {`{"name":"Clinic"}`, `{"name":"Other"}`},
	"/v1/apps/clinic/repositories/info":                {hoursBody, `{"tools":[{"name":"more"}]}`},
	"/v1/apps/clinic/sessions/s1/repositories/booking": {hoursBody, `{"tools":[{"name":"more"}]}`},
}

func TestAStaleWriteIsRefusedAndOneThatIsNotIsMade(t *testing.T) {
	t.Parallel()
	for path, body := range conditional {
		w := atClinic(t)
		w.Call("PUT", path, body[0])
		read := etag(w, path)
		for _, written := range []apitest.Answer{
			w.Call("PUT", path, body[0], "If-Match: "+read).Is(200, ""),
			w.Call("PATCH", path, body[1], "If-Match: "+etag(w, path)).Is(200, ""),
			w.Call("PUT", path, body[0], `If-Match: "other" ,`+etag(w, path)).Is(200, ""),
			w.Call("PATCH", path, body[1], "If-Match: *").Is(200, ""),
		} {
			require.Equal(t, 200, written.StatusCode)
			require.NotEqual(t, read, written.Header.Get("ETag"))
		}
		is := etag(w, path)
		w.Call("PUT", path+"?dryRun=true", body[0], "If-Match: "+is).Is(200, "")
		for _, stale := range []string{read, `"other", ` + read, "W/" + is} {
			for _, refused := range []apitest.Answer{
				w.Call("PUT", path, body[0], "If-Match: "+stale), w.Call("PUT", path+"?dryRun=true", body[0], "If-Match: "+stale),
				w.Call("PATCH", path, body[1], "If-Match: "+stale), w.Call("DELETE", path, "", "If-Match: "+stale),
			} {
				refused.Problem(412, is)
			}
		}
		for _, wrong := range []string{"abc", `"abc`, `"a" "b`, `*, "a"`} {
			w.Call("PUT", path, body[0], "If-Match: "+wrong).Problem(400, "If-Match", "is no list of entity tags")
		}
		require.Equal(t, is, etag(w, path), "nothing was written")
		w.Call("DELETE", path, "", "If-Match: "+is).Is(204, "")
		w.Call("GET", path, "").Problem(404)
	}
}

func TestAConditionOnWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything)
	const created, other = "If-None-Match: *", `If-None-Match: "other"`
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic/repositories/info"} {
		body := conditional[path]
		for _, tag := range []string{"*", `"x"`} {
			w.Call("PUT", path, body[0], "If-Match: "+tag).Problem(412, "there is nothing here")
			w.Call("DELETE", path, "", "If-Match: "+tag).Problem(404)
		}
		w.Call("PUT", path, body[0], created).Is(201, "")
		w.Call("PUT", path, body[0], created).Problem(412, "it is there already")
		w.Call("PUT", path+"?dryRun=true", body[0], created).Problem(412, "it is there already")
		w.Call("PUT", path, body[0], other).Is(200, "")
		w.Call("PATCH", path, body[1], "If-None-Match: "+etag(w, path)).Problem(412)
	}
	w.Call("PATCH", "/v1/apps/absent", `{"name":"x"}`, "If-Match: *").Problem(404, "absent")
	w.Call("PATCH", "/v1/apps/absent", `{"name":"x"}`).Problem(404, "absent")
	w.Call("DELETE", "/v1/apps/clinic/repositories/absent/tools/x", "", "If-Match: *").Problem(404, "absent")
}

func TestWhatIsKnownIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/info", hoursBody).Is(201, "")
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic/repositories/info"} {
		is := etag(w, path)
		for _, known := range []string{is, `"other", W/` + is, "*"} {
			got := w.Call("GET", path, "", "If-None-Match: "+known).Is(304, "")
			require.Empty(t, got.Body)
			require.Equal(t, is, got.Header.Get("ETag"))
		}
		w.Call("GET", path, "", `If-None-Match: "other"`).Is(200, "")
	}
}

func TestAToolIsDeletedAndTheOthersStay(t *testing.T) {
	t.Parallel()
	for owner := range owners {
		w := atClinic(t)
		path := owner + "/repositories/info"
		w.Call("PUT", path, `{"tools":[{"name":"a"},{"name":"_b"}]}`).Is(201, "")
		before := etag(w, path)
		w.Call("DELETE", path+"/tools/c", "").Problem(404, `repository "info": tool "c"`)
		w.Call("DELETE", path+"/tools/a%20b", "").Problem(400, "no tool name")
		w.Call("DELETE", path+"/tools/a", "", `If-Match: "other"`).Problem(412, before)
		w.Call("DELETE", path+"/tools/a", "", "If-Match: "+before).Is(204, "")
		require.NotEqual(t, before, etag(w, path))
		require.Contains(t, string(w.Call("GET", path, "").Is(200, "").Body), `"tools":[{"name":"_b"`)
		w.Call("DELETE", path+"/tools/_b", "").Is(204, "")
		require.Contains(t, string(w.Call("GET", path, "").Is(200, "").Body), `"tools":[]`)
		w.Call("DELETE", path+"/tools/_b", "").Problem(404)
		require.Eventually(t, func() bool {
			told := 0
			for _, event := range w.Sink.All() {
				if event.Subject == "tool.changed.clinic.info" && strings.Contains(string(event.Data), `"operation":"updated"`) {
					told++
				}
			}
			return told == 2
		}, time.Minute, 5*time.Millisecond, "each is an event")
	}
}

func TestAnAppIsPatched(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Models = known("openai/gpt-4o-mini") })
	const claude = `{"settings":{"llm":{"tools":"anthropic/claude-haiku-4-5"}}}`
	w.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"messagesPerMinute":7}}}`, "Content-Type: application/merge-patch+json").Is(200, "")
	w.Call("PATCH", "/v1/apps/clinic?dryRun=true", `{"name":"Other"}`).Is(200, `{"operation":"updated"}`)
	w.Call("PATCH", "/v1/apps/clinic?dryRun=true", `{"settings":{"limits":{"messagesPerMinute":7}}}`).Is(200, `{"operation":"unchanged"}`)
	got := w.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token","scopes":["read"]}]}`).Is(200, "")
	require.JSONEq(t, `{"appId":"clinic","name":"Clinic","signingSecret":"***","settings":{"chatModeEnabled":false,"skipToolResponse":false,"limits":{"messagesPerMinute":7}},
		"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token","scopes":["read"]}]}`, string(got.Body))
	stored, err := w.Store.App(t.Context(), "clinic")
	require.NoError(t, err)
	require.Equal(t, []string{"planted-and-long-enough", "whsec_plantedA"}, []string{stored.Modules[0].Secret.Reveal(), stored.SigningSecret.Reveal()}, "credentials stay")

	faults := w.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://evil.example/token"}]}`).Problem(400)
	require.Contains(t, faults["/modules/0/secret"], "give it again, since tokenUrl changed")
	require.Contains(t, w.Call("PATCH", "/v1/apps/clinic", `{"setings":null}`).Problem(400)["/setings"], `did you mean "settings"?`)
	require.Contains(t, w.Call("PATCH", "/v1/apps/clinic", claude).Problem(400)["/settings/llm/tools"], "set ANTHROPIC_API_KEY")
	w.Call("PATCH", "/v1/apps/clinic", claude, "Prefer: handling=lenient").Is(200, "")
	w.Call("PATCH", "/v1/apps/clinic", `{"name":"Renamed"}`).Is(200, "")
	w.Call("PATCH", "/v1/apps/clinic", `{"name":"x"}`, "Content-Type: text/plain").Problem(415)
	w.Call("PATCH", "/v1/apps/absent", `{"name":"x"}`).Problem(404, "absent")
	w.Call("GET", "/v1/apps/absent", "").Problem(404)
}

func TestNotesSayWhichOfTwoToolsWithOneNameHolds(t *testing.T) {
	t.Parallel()
	w := atClinic(t)
	const twice, second = `{"tools":[{"name":"book"},{"name":"hours"}]}`, `{"tools":[{"name":"book"}]}`
	const other = "/v1/apps/clinic/sessions/s2"
	for owner := range owners {
		require.Empty(t, noted(w.Call("PUT", owner+"/repositories/z", twice)))
		want := []string{`tool "book" is in repository "z" and in "a": that of "z" holds, which was created first`}
		require.Equal(t, want, noted(w.Call("PUT", owner+"/repositories/a", second)))
		require.Equal(t, want, noted(w.Call("PATCH", owner+"/repositories/z", `{"tools":[{"name":"more"}]}`)), "replaced or not")
		want[0] = `tool "book" is in repository "a" and in "z": that of "a" holds, which is exclusive`
		got := w.Call("PATCH", owner+"/repositories/a", `{"options":{"exclusive":true}}`)
		require.Equal(t, want, noted(got))
		require.Equal(t, want, noted(w.Call("PUT", owner+"/repositories/a", string(got.Body))), "what was answered can be sent back")
		require.Empty(t, noted(w.Call("PUT", owner+"/repositories/b", `{"tools":[{"name":"other"}]}`)), "notes are on what was written")
		require.Empty(t, noted(w.Call("PUT", other+"/repositories/x", twice)), "another scope")
		w.Call("DELETE", other+"/repositories/x", "").Is(204, "")
	}
	app := w.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic"}`)
	require.Len(t, noted(app), 1, "an app has those of all its own repositories")
	require.Len(t, noted(w.Call("PATCH", "/v1/apps/clinic", string(app.Body))), 1)
	require.NotContains(t, string(w.Call("GET", "/v1/apps/clinic", "").Body), "notes")
	require.Empty(t, noted(w.Call("PUT", "/v1/apps/clinic/repositories/a", `{"options":{"template":true},"tools":[{"name":"book"}]}`)), "a template is in no scope")
}

func TestStatementsOfWhatIsWrittenAreLookedAt(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) {
		o.Prepare = func(_ context.Context, app *repositories.App, tools []repositories.Tool) []string {
			return []string{app.ID + " " + tools[0].Statement}
		}
	})
	w.Call("PUT", "/v1/apps/clinic", `{"sources":[{"name":"db","type":"sqlite","database":"clinic.db"}]}`).Is(201, "")
	const tool = `{"tools":[{"name":"find","description":"d","type":"sqlite-sql","source":"db","statement":"select 1"}]}`
	require.Contains(t, string(w.Call("PUT", "/v1/apps/clinic/repositories/r", tool).Is(201, "").Body), `"notes":["clinic select 1"]`)
	require.Contains(t, string(w.Call("PATCH", "/v1/apps/clinic/repositories/r", tool).Is(200, "").Body), `"notes":["clinic select 1"]`)
	require.NotContains(t, string(w.Call("PUT", "/v1/apps/clinic/repositories/s", hoursBody).Is(201, "").Body), "notes")
}
