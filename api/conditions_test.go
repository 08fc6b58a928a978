package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/repositories"
)

// etag reads the entity tag of an app or a repository.
func (w world) etag(path string) string {
	w.t.Helper()
	tag := w.call("GET", path, "").is(200, "").Header.Get("ETag")
	require.Regexp(w.t, `^"[^"]+"$`, tag)
	return tag
}

// conditional are a path, what is put there, and a patch of it.
var conditional = map[string][2]string{
	"/v1/apps/clinic":                                  {`{"name":"Clinic"}`, `{"name":"Other"}`},
	"/v1/apps/clinic/repositories/info":                {hoursBody, `{"tools":[{"name":"more"}]}`},
	"/v1/apps/clinic/sessions/s1/repositories/booking": {hoursBody, `{"tools":[{"name":"more"}]}`},
}

func TestAStaleWriteIsRefusedAndOneThatIsNotIsMade(t *testing.T) {
	t.Parallel()
	for path, body := range conditional {
		w := live(t, everything)
		w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
		w.call("PUT", path, body[0])
		read := w.etag(path)
		for _, written := range []answer{
			w.call("PUT", path, body[0], "If-Match: "+read).is(200, ""),
			w.call("PATCH", path, body[1], "If-Match: "+w.etag(path)).is(200, ""),
			w.call("PUT", path, body[0], `If-Match: "other" ,`+w.etag(path)).is(200, ""),
			w.call("PATCH", path, body[1], "If-Match: *").is(200, ""),
		} {
			require.Equal(t, 200, written.StatusCode)
			require.NotEqual(t, read, written.Header.Get("ETag"))
		}
		is := w.etag(path)
		w.call("PUT", path+"?dryRun=true", body[0], "If-Match: "+is).is(200, "")
		for _, stale := range []string{read, `"other", ` + read, "W/" + is} {
			for _, refused := range []answer{
				w.call("PUT", path, body[0], "If-Match: "+stale), w.call("PUT", path+"?dryRun=true", body[0], "If-Match: "+stale),
				w.call("PATCH", path, body[1], "If-Match: "+stale), w.call("DELETE", path, "", "If-Match: "+stale),
			} {
				refused.problem(412, is)
			}
		}
		for _, wrong := range []string{"abc", `"abc`, `"a" "b`, `*, "a"`} {
			w.call("PUT", path, body[0], "If-Match: "+wrong).problem(400, "If-Match", "is no list of entity tags")
		}
		require.Equal(t, is, w.etag(path), "nothing was written")
		w.call("DELETE", path, "", "If-Match: "+is).is(204, "")
		w.call("GET", path, "").problem(404)
	}
}

func TestAConditionOnWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := live(t, everything)
	const created, other = "If-None-Match: *", `If-None-Match: "other"`
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic/repositories/info"} {
		body := conditional[path]
		for _, tag := range []string{"*", `"x"`} {
			w.call("PUT", path, body[0], "If-Match: "+tag).problem(412, "there is nothing here")
			w.call("DELETE", path, "", "If-Match: "+tag).problem(404)
		}
		w.call("PUT", path, body[0], created).is(201, "")
		w.call("PUT", path, body[0], created).problem(412, "it is there already")
		w.call("PUT", path+"?dryRun=true", body[0], created).problem(412, "it is there already")
		w.call("PUT", path, body[0], other).is(200, "")
		w.call("PATCH", path, body[1], "If-None-Match: "+w.etag(path)).problem(412)
	}
	w.call("PATCH", "/v1/apps/absent", `{"name":"x"}`, "If-Match: *").problem(404, "absent")
	w.call("PATCH", "/v1/apps/absent", `{"name":"x"}`).problem(404, "absent")
	w.call("DELETE", "/v1/apps/clinic/repositories/absent/tools/x", "", "If-Match: *").problem(404, "absent")
}

func TestWhatIsKnownIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	w.call("PUT", "/v1/apps/clinic/repositories/info", hoursBody).is(201, "")
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic/repositories/info"} {
		is := w.etag(path)
		for _, known := range []string{is, `"other", W/` + is, "*"} {
			got := w.call("GET", path, "", "If-None-Match: "+known).is(304, "")
			require.Empty(t, got.body)
			require.Equal(t, is, got.Header.Get("ETag"))
		}
		w.call("GET", path, "", `If-None-Match: "other"`).is(200, "")
	}
}

func TestAToolIsDeletedAndTheOthersStay(t *testing.T) {
	t.Parallel()
	for owner := range owners {
		w := live(t, everything)
		w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
		path := owner + "/repositories/info"
		w.call("PUT", path, `{"tools":[{"name":"a"},{"name":"_b"}]}`).is(201, "")
		before := w.etag(path)
		w.call("DELETE", path+"/tools/c", "").problem(404, `tool "c" of repository "info"`)
		w.call("DELETE", path+"/tools/a%20b", "").problem(400, "no tool name")
		w.call("DELETE", path+"/tools/a", "", `If-Match: "other"`).problem(412, before)
		w.call("DELETE", path+"/tools/a", "", "If-Match: "+before).is(204, "")
		require.NotEqual(t, before, w.etag(path))
		require.Contains(t, string(w.call("GET", path, "").is(200, "").body), `"tools":[{"name":"_b"`)
		w.call("DELETE", path+"/tools/_b", "").is(204, "")
		require.Contains(t, string(w.call("GET", path, "").is(200, "").body), `"tools":[]`)
		w.call("DELETE", path+"/tools/_b", "").problem(404)
		require.Eventually(t, func() bool {
			told := 0
			for _, event := range w.sink.all() {
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
	w := live(t, everything, func(o *api.Options) { o.Models = known("openai/gpt-4o-mini") })
	const claude = `{"settings":{"llm":{"tools":"anthropic/claude-haiku-4-5"}}}`
	w.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	w.call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"messagesPerMinute":7}}}`, "Content-Type: application/merge-patch+json").is(200, "")
	w.call("PATCH", "/v1/apps/clinic?dryRun=true", `{"name":"Other"}`).is(200, `{"operation":"updated"}`)
	w.call("PATCH", "/v1/apps/clinic?dryRun=true", `{"settings":{"limits":{"messagesPerMinute":7}}}`).is(200, `{"operation":"unchanged"}`)
	got := w.call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token","scopes":["read"]}]}`).is(200, "")
	require.JSONEq(t, `{"appId":"clinic","name":"Clinic","signingSecret":"***","settings":{"chatModeEnabled":false,"skipToolResponse":false,"limits":{"messagesPerMinute":7}},
		"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token","scopes":["read"]}]}`, string(got.body))
	stored, err := w.store.App(t.Context(), "clinic")
	require.NoError(t, err)
	require.Equal(t, []string{"planted-and-long-enough", "whsec_plantedA"}, []string{stored.Modules[0].Secret.Reveal(), stored.SigningSecret.Reveal()}, "credentials stay")

	faults := w.call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://evil.example/token"}]}`).problem(400)
	require.Contains(t, faults["/modules/0/secret"], "give it again, since tokenUrl changed")
	require.Contains(t, w.call("PATCH", "/v1/apps/clinic", `{"setings":null}`).problem(400)["/setings"], `did you mean "settings"?`)
	require.Contains(t, w.call("PATCH", "/v1/apps/clinic", claude).problem(400)["/settings/llm/tools"], "set ANTHROPIC_API_KEY")
	w.call("PATCH", "/v1/apps/clinic", claude, "Prefer: handling=lenient").is(200, "")
	w.call("PATCH", "/v1/apps/clinic", `{"name":"Renamed"}`).is(200, "")
	w.call("PATCH", "/v1/apps/clinic", `{"name":"x"}`, "Content-Type: text/plain").problem(415)
	w.call("PATCH", "/v1/apps/absent", `{"name":"x"}`).problem(404, "absent")
	w.call("GET", "/v1/apps/absent", "").problem(404)
}

func TestNotesSayWhichOfTwoToolsWithOneNameHolds(t *testing.T) {
	t.Parallel()
	w := live(t, everything)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	noted := func(got answer) []string {
		var found struct{ Notes []string }
		require.Less(t, got.StatusCode, 300, string(got.body))
		require.NoError(t, json.Unmarshal(got.body, &found))
		return found.Notes
	}
	const twice, second = `{"tools":[{"name":"book"},{"name":"hours"}]}`, `{"tools":[{"name":"book"}]}`
	const other = "/v1/apps/clinic/sessions/s2"
	for owner := range owners {
		require.Empty(t, noted(w.call("PUT", owner+"/repositories/z", twice)))
		want := []string{`tool "book" is in repository "z" and in "a": that of "z" holds, which was created first`}
		require.Equal(t, want, noted(w.call("PUT", owner+"/repositories/a", second)))
		require.Equal(t, want, noted(w.call("PATCH", owner+"/repositories/z", `{"tools":[{"name":"more"}]}`)), "replaced or not")
		want[0] = `tool "book" is in repository "a" and in "z": that of "a" holds, which is exclusive`
		got := w.call("PATCH", owner+"/repositories/a", `{"options":{"exclusive":true}}`)
		require.Equal(t, want, noted(got))
		require.Equal(t, want, noted(w.call("PUT", owner+"/repositories/a", string(got.body))), "what was answered can be sent back")
		require.Empty(t, noted(w.call("PUT", owner+"/repositories/b", `{"tools":[{"name":"other"}]}`)), "notes are on what was written")
		require.Empty(t, noted(w.call("PUT", other+"/repositories/x", twice)), "another scope")
		w.call("DELETE", other+"/repositories/x", "").is(204, "")
	}
	app := w.call("PUT", "/v1/apps/clinic", `{"name":"Clinic"}`)
	require.Len(t, noted(app), 1, "an app has those of all its own repositories")
	require.Len(t, noted(w.call("PATCH", "/v1/apps/clinic", string(app.body))), 1)
	require.NotContains(t, string(w.call("GET", "/v1/apps/clinic", "").body), "notes")
	require.Empty(t, noted(w.call("PUT", "/v1/apps/clinic/repositories/a", `{"options":{"template":true},"tools":[{"name":"book"}]}`)), "a template is in no scope")
}

func TestStatementsOfWhatIsWrittenAreLookedAt(t *testing.T) {
	t.Parallel()
	w := live(t, everything, func(o *api.Options) {
		o.Prepare = func(_ context.Context, app *repositories.App, tools []repositories.Tool) []string {
			return []string{app.ID + " " + tools[0].Statement}
		}
	})
	w.call("PUT", "/v1/apps/clinic", `{"sources":[{"name":"db","type":"sqlite","database":"clinic.db"}]}`).is(201, "")
	const tool = `{"tools":[{"name":"find","description":"d","type":"sqlite-sql","source":"db","statement":"select 1"}]}`
	require.Contains(t, string(w.call("PUT", "/v1/apps/clinic/repositories/r", tool).is(201, "").body), `"notes":["clinic select 1"]`)
	require.Contains(t, string(w.call("PATCH", "/v1/apps/clinic/repositories/r", tool).is(200, "").body), `"notes":["clinic select 1"]`)
	require.NotContains(t, string(w.call("PUT", "/v1/apps/clinic/repositories/s", hoursBody).is(201, "").body), "notes")
}
