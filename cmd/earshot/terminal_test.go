package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// talking returns a service with the tool book, and the endpoint that it calls.
func talking(t *testing.T) (*world, *endpoint) {
	t.Helper()
	w, e := devInFolder(t), newSink(t)
	write(t, "tools.yaml", strings.ReplaceAll(bookFile, "URL", e.URL))
	w.ok("apply", "-f", "tools.yaml")
	return w, e
}

func TestChatShowsWhatFiresAndWhyNothingDoes(t *testing.T) {
	w, _ := talking(t)
	r := typing(t, w.env, "/tools\n\nI want an appointment\nthe weather is fine\n/history\n/quit\nnever said\n", "chat", "--session", "s1")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, "app clinic, session s1; /help lists commands\n  booking/book\n", r.out[:strings.Index(r.out, "  fired")])
	require.Equal(t, 2, strings.Count(r.out, "  fired booking/book {}\n    event tool.trigger.clinic.s1.book published\n    call delivered, status 200, {\"ok\":true}\n"))
	require.Contains(t, r.out, "  nothing fired: ")
	require.Contains(t, r.out, "book")
	require.Equal(t, 1, strings.Count(r.out, "user: the weather is fine"))
	require.NotContains(t, r.out, "\x1b", "colours are for terminals")
	require.NotContains(t, r.out, "never said")

	again := typing(t, w.env, "", "chat", "--session", "s1")
	require.Contains(t, again.out, "user: I want an appointment\n  fired booking/book", "an old session shows what was said")
}

func TestChatExplainsTheLastMessage(t *testing.T) {
	w, _ := talking(t)
	r := typing(t, w.env, "I want an appointment\n/why\nmy appointment was fine\n/why\n", "chat")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "  Fired booking/book. (exact)\n  fired book {} The text is that of the tool")
	require.Regexp(t, `  nothing fired: the message .*\. In scope: booking/book \(0\.\d\d\)\n  Nothing fired: the message .*\. \(offline\)\n  in scope booking/book \(0\.\d\d\)\n`, r.out)
	require.Contains(t, typing(t, w.env, "/why\n", "chat").err, "nothing was said yet")
}

func TestChatForPrograms(t *testing.T) {
	w, _ := talking(t)
	r := typing(t, w.env, "I want an appointment\nhello\n", "chat", "--json")
	require.Equal(t, 0, r.code, r.err)
	var answers []map[string]any
	for line := range strings.Lines(r.out) {
		var answer map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &answer), line)
		answers = append(answers, answer)
	}
	require.Len(t, answers, 2)
	require.Len(t, answers[0]["matches"], 1)
	require.Empty(t, answers[1]["matches"])
}

func TestChatWithoutToolsOrAppsSaysSo(t *testing.T) {
	w := devInFolder(t)
	require.Equal(t, "earshot: the service has no app yet; make one with: earshot apply -f FILE\n", w.run("chat", "hello").err)
	w.request("PUT", "/v1/apps/one", `{}`)
	require.Contains(t, w.ok("chat", "hello"), "nothing fired: no tool is in scope")
	w.request("PUT", "/v1/apps/two", `{}`)
	require.Equal(t, "earshot: the service has several apps; say which with --app: one, two\n", w.run("chat", "hello").err)
	require.Contains(t, w.run("chat", "--app", "three", "hello").err, "404")
	require.Contains(t, w.run("chat", "--app", "one", "--session", "a b", "hello").err, `--session "a b" is not an id`)
	require.Equal(t, 1, typing(t, w.env, "/what\n", "chat", "--app", "one").code)
}

func TestListenShowsEventsOfASubjectFromATimeOn(t *testing.T) {
	w, _ := talking(t)
	w.ok("listen", "tool.changed.>", "--since", "1h", "--count", "1") // of the app; those of a session do not wait for it
	w.ok("chat", "I want an appointment", "--session", "s1")
	all := w.ok("listen", "--since", "1h", "--count", "2")
	require.Regexp(t, `^\d\d:\d\d:\d\d  changed      clinic    booking  created, tools: 1\n\d\d:\d\d:\d\d  trigger      clinic/s1  book\n$`, all)
	var found eventLine
	require.NoError(t, json.Unmarshal([]byte(w.ok("listen", "tool.result.>", "--since", "2026-01-01T00:00:00Z", "--count", "1", "--json")), &found))
	require.Equal(t, "tool.result.clinic.s1.book", found.Subject)
	require.NotEmpty(t, found.ID)
	require.Equal(t, "earshot.tool.result /apps/clinic/sessions/s1", found.Type+" "+found.Source)
	require.Contains(t, string(found.Data), `"ok":true`)
}

func TestListenBeforeTheFirstEventShowsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	listening := launch(t, w.env, "listen", "tool.changed.>")
	listening.log.Await(t, regexp.QuoteMeta("there was no event yet; waiting for the first"))
	w.serve()
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/one", `{"tools":[]}`)
	listening.log.Await(t, regexp.QuoteMeta("changed      clinic    one  created"))
	require.Zero(t, listening.stop())
}

func TestListenShowsWhatComesFromNowOn(t *testing.T) {
	w, _ := talking(t)
	w.ok("chat", "I want an appointment", "--session", "before")
	w.ok("listen", "tool.result.>", "--since", "1h", "--count", "1")
	listening := launch(t, w.env, "listen", "tool.trigger.>")
	w.until("an event is shown", func() bool {
		w.ok("chat", "I want an appointment", "--session", "after")
		return strings.Contains(listening.log.String(), "trigger      clinic/after  book")
	})
	require.Zero(t, listening.stop())
	require.NotContains(t, listening.log.String(), "before")
	require.NotContains(t, listening.log.String(), "result")
}

func TestListenSaysWhatIsInItsWay(t *testing.T) {
	for args, want := range map[string]string{
		"listen foo.bar":                            `no event has the subject "foo.bar"; events have these: tool.trigger.>`,
		"listen --since yesterday":                  `--since is "yesterday"; it must be a duration`,
		"listen --nats-url nats://u:pw@127.0.0.1:1": "no NATS server answers at nats://u:xxxxx@127.0.0.1:1",
		"listen --nats-url nats://u:pw@x/y@h:1":     "NATS_URL (--nats-url): NATS URL 1 cannot be read",
		"listen --nats-url ::h":                     "NATS_URL (--nats-url): NATS URL 1 cannot be read",
		"listen --nats-url nats://h?creds=c":        "NATS_CREDS_FILE",
	} {
		r := command(t, nil, strings.Fields(args)...)
		require.Equal(t, 1, r.code, args)
		require.Contains(t, r.err, want)
		require.NotContains(t, r.err, "pw@")
	}
}

func TestListenBeginsAtATimeOrSoLongAgo(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"10m": noon.Add(-10 * time.Minute), "0s": noon, "2026-12-01T09:00:00Z": noon.Add(-3 * time.Hour),
	} {
		got, err := timeOf("--since", text, noon)
		require.NoError(t, err)
		require.True(t, want.Equal(got), text)
	}
	for _, text := range []string{"-10m", "yesterday", ""} {
		_, err := timeOf("--since", text, noon)
		require.ErrorContains(t, err, "--since is")
	}
}

func TestSubjectsOverlap(t *testing.T) {
	for subject, want := range map[string]bool{
		">": true, "tool.>": true, "tool.trigger.clinic.s1.book": true, "app.clinic.calendar.request": true, "*.trigger.>": true, "app.*.*.*": true,
		"foo": false, "tool.other.>": false, "app.clinic.calendar": false, "app.a.b.c.d": false, "": false, "tool trigger": false,
	} {
		require.Equal(t, want, checkSubject(subject) == nil, subject)
	}
}

func TestTriggersAreListedAndTriedAgain(t *testing.T) {
	w, e := talking(t)
	require.Equal(t, "there are none\n", w.ok("triggers"))
	e.answer(400)
	w.ok("chat", "I want an appointment", "--session", "s1")
	failed := w.ok("triggers", "--state", "failed")
	require.Regexp(t, `(?m)^TIME +STATE +TOOL +SESSION +ID +LAST ATTEMPT\n\S+ \S+ +failed +booking/book +s1 +[0-9a-f]+ +.*$`, failed)
	require.Equal(t, "there are none\n", w.ok("triggers", "--state", "delivered"))

	var record struct {
		TriggerID string `json:"triggerId"`
	}
	require.NoError(t, json.Unmarshal([]byte(w.ok("triggers", "--state", "failed", "--json")), &record))
	e.answer(200)
	require.Equal(t, record.TriggerID+" is tried again\n", w.ok("triggers", "retry", record.TriggerID))
	w.until("it is delivered", func() bool { return strings.Contains(w.ok("triggers", "--state", "delivered"), record.TriggerID) })

	w.ok("chat", "I want an appointment", "--session", "s2")
	for of, args := range map[string][]string{
		"s1 s2": {"--oldest"}, "s2 s1": {"--name", "book"}, "s1": {"--session", "s1"}, "s2": {"--session", "s2", "--since", "1h", "--until", "0s"},
		"": {"--since", "2030-01-01T00:00:00Z"}, " ": {"--name", "other"}, "  ": {"--until", "24h"},
	} {
		var sessions []string
		for line := range strings.Lines(w.ok(append([]string{"triggers", "--json"}, args...)...)) {
			var fired struct{ SessionID string }
			require.NoError(t, json.Unmarshal([]byte(line), &fired))
			sessions = append(sessions, fired.SessionID)
		}
		require.Equal(t, strings.Fields(of), append([]string{}, sessions...), "%q", args)
	}
	require.Contains(t, w.run("triggers", "--until", "soon").err, `--until is "soon"; it must be a duration`)

	require.Contains(t, w.run("triggers", "--state", "fialed").err, `state "fialed" is none of pending, delivered, failed`)
	require.Contains(t, w.run("triggers", "retry", "nowhere").err, "nowhere is not tried again: the service answers 404")
	require.Contains(t, w.run("triggers", "retry", record.TriggerID).err, "is delivered: nothing of it has failed")
}

func TestAllFailedTriggersAreTriedAgainOrRemoved(t *testing.T) {
	w, e := talking(t)
	e.answer(400)
	for _, session := range []string{"s1", "s2", "s3"} {
		w.ok("chat", "I want an appointment", "--session", session)
	}
	require.Equal(t, "1 removed\n", w.ok("triggers", "purge", "--session", "s1"))
	require.Equal(t, "0 tried again\n", w.ok("triggers", "retry", "--all", "--name", "other"))
	require.Equal(t, "0 tried again\n", w.ok("triggers", "retry", "--all", "--until", "1h"))
	e.answer(200)
	require.Equal(t, "2 tried again\n", w.ok("triggers", "retry", "--all", "--name", "book"))
	w.until("both are delivered", func() bool { return strings.Count(w.ok("triggers", "--state", "delivered"), "booking/book") == 2 })
	require.Equal(t, "0 removed\n", w.ok("triggers", "purge"))
	for _, args := range [][]string{{"triggers", "retry"}, {"triggers", "retry", "--all", "t1"}} {
		require.Contains(t, w.run(args...).err, "--all")
	}
}

func TestTriggersFitTheScreen(t *testing.T) {
	w, e := talking(t)
	e.answer(400)
	w.ok("chat", "I want an appointment", "--session", "a-session-with-a-long-name")
	for _, columns := range []int{60, 80} {
		w.env["COLUMNS"] = fmt.Sprint(columns)
		shown := w.ok("triggers")
		for line := range strings.Lines(shown) {
			require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), columns, shown)
		}
		require.Regexp(t, `^TIME +STATE +TOOL +SESSION\n  ID  LAST ATTEMPT\n\d\d:\d\d:\d\d  failed  booking/book  a-session-with.*\n  [0-9a-f]{32}  call #1, status 400`, shown)
	}
}

func TestListenFollowsDevToItsPort(t *testing.T) {
	first := atDev(t, nil) // may have the port that NATS has by default
	second := atDev(t, nil)
	for _, w := range []*world{first, second} {
		w.put("/v1/apps/clinic", `{}`)
		w.put("/v1/apps/clinic/repositories/"+cond(w == first, "first", "second"), `{"tools":[]}`)
	}
	for _, w := range []*world{first, second} {
		r := command(t, map[string]string{"EARSHOT_URL": w.env["EARSHOT_URL"]}, "listen", "--since", "1h", "--count", "1")
		require.Zero(t, r.code, r.err)
		require.Equal(t, "listening at "+w.env["NATS_URL"]+" for >\n", r.err)
		require.Contains(t, r.out, cond(w == first, "  first  ", "  second  "))
	}
}

func TestCommandsTakeTheAppFromTheirKey(t *testing.T) {
	w := serving(t, 1)
	w.put("/v1/apps/other", `{}`)
	key := w.request("POST", "/v1/apps/clinic/keys", `{"name":"desk","scopes":["messages","tools","triggers"]}`)["key"].(string)
	w.env["EARSHOT_URL"] = w.replicas[0].url
	require.Contains(t, w.run("chat", "hello").err, "the service has several apps; say which with --app")
	require.Contains(t, w.ok("chat", "hello", "--key", key), "nothing fired: no tool is in scope")
	require.Equal(t, "there are none\n", w.ok("triggers", "--key", key))
	require.Contains(t, w.run("chat", "hello", "--key", "wrong").err, "401")
}
