package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// talking returns a service with the tool book, and its endpoint.
func talking(t *testing.T) (*world, *endpoint) {
	w, e := devInFolder(t), newSink(t)
	write(t, "tools.yaml", strings.ReplaceAll(bookFile, "URL", e.URL))
	w.ok("apply", "-f", "tools.yaml")
	return w, e
}

func TestChatShowsWhatFiresAndWhyNothingDoes(t *testing.T) {
	w, _ := talking(t)
	r := typing(t, w.env, "/tools\n\nI want an appointment\nthe weather is fine\n/history\n/quit\nnever said\n", "chat", "--session", "s1").good(t)
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

func TestChatShowsWhatAToolAsks(t *testing.T) {
	w := devInFolder(t)
	write(t, "tools.yaml", "kind: tool\nname: book\ndescription: Book an appointment\nexamples: [I want an appointment]\n"+
		"schema: [{parameter: day, type: string, required: true, ask: Which day suits you?}]\n---\nkind: app\nname: clinic\n")
	w.ok("apply", "-f", "tools.yaml")
	require.Contains(t, w.ok("chat", "I want an appointment"), "  not fired default/book {}\n    day is required\n    asks: Which day suits you?\n")
}

func TestChatExplainsTheLastMessage(t *testing.T) {
	w, _ := talking(t)
	r := typing(t, w.env, "I want an appointment\n/why\nmy appointment was fine\n/why\n", "chat").good(t)
	require.Contains(t, r.out, "  Fired booking/book. (exact)\n  fired book {} The text is that of the tool")
	require.Regexp(t, `  nothing fired: the message .*\. In scope: booking/book \(0\.\d\d\)\n  Nothing fired: the message .*\. \(offline\)\n  in scope booking/book \(0\.\d\d\)\n`, r.out)
	require.Contains(t, typing(t, w.env, "/why\n", "chat").err, "there is no message yet")
}

func TestChatForPrograms(t *testing.T) {
	w, _ := talking(t)
	r := typing(t, w.env, "I want an appointment\nhello\n", "chat", "--json").good(t)
	var answers []map[string]any
	for line := range strings.Lines(r.out) {
		answers = append(answers, read[map[string]any](t, line))
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
	require.Equal(t, "earshot: the service has several apps; name one with --app: one, two\n", w.run("chat", "hello").err)
	require.Contains(t, w.run("chat", "--app", "three", "hello").err, "404")
	for i := range 9 {
		w.request("PUT", fmt.Sprintf("/v1/apps/a%d", i), `{}`)
	}
	require.Contains(t, w.run("chat", "hello").err, "--app: a0, a1, a2, a3, a4, a5, a6, a7, a8, one, …\n", "there are more")
	require.Contains(t, w.run("chat", "--app", "one", "--session", "a b", "hello").err, `--session "a b" is not an id`)
	require.Equal(t, 1, typing(t, w.env, "/what\n", "chat", "--app", "one").code)
}

func TestListenShowsEventsOfASubjectFromATimeOn(t *testing.T) {
	w, _ := talking(t)
	w.ok("listen", "tool.changed.>", "--since", "1h", "--count", "1") // of the app; a session's events are not affected
	w.ok("chat", "I want an appointment", "--session", "s1")
	all := w.ok("listen", "--since", "1h", "--count", "2")
	require.Regexp(t, `^\d\d:\d\d:\d\d  changed      clinic    booking  created, tools: 1\n\d\d:\d\d:\d\d  trigger      clinic/s1  book\n$`, all)
	found := read[eventLine](t, w.ok("listen", "tool.result.>", "--since", "2026-01-01T00:00:00Z", "--count", "1", "--json"))
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
		r := failing(t, nil, strings.Fields(args)...)
		require.Contains(t, r.err, want)
		require.NotContains(t, r.err, "pw@")
	}
}

func TestListenBeginsAtATimeOrSoLongAgo(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"10m": noon.Add(-10 * time.Minute), "0s": noon, "2026-12-01T09:00:00Z": noon.Add(-3 * time.Hour),
	} {
		require.True(t, want.Equal(testbed.Got(timeOf("--since", text, noon))(t)), text)
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
	require.Equal(t, "no triggers were found\n", w.ok("triggers"))
	e.answer(400)
	w.ok("chat", "I want an appointment", "--session", "s1")
	failed := w.ok("triggers", "--state", "failed")
	require.Regexp(t, `(?m)^TIME +STATE +TOOL +SESSION +ID +LAST ATTEMPT\n\S+ \S+ +failed +booking/book +s1 +[0-9a-f]+ +.*$`, failed)
	require.Equal(t, "no triggers were found\n", w.ok("triggers", "--state", "delivered"))

	trigger := w.only("failed")
	e.answer(200)
	require.Equal(t, trigger+" is tried again\n", w.ok("triggers", "retry", trigger))
	w.until("it is delivered", func() bool { return strings.Contains(w.ok("triggers", "--state", "delivered"), trigger) })

	w.ok("chat", "I want an appointment", "--session", "s2")
	for of, args := range map[string][]string{
		"s1 s2": {"--oldest"}, "s2 s1": {"--name", "book"}, "s1": {"--session", "s1"}, "s2": {"--session", "s2", "--since", "1h", "--until", "0s"},
		"": {"--since", "2030-01-01T00:00:00Z"}, " ": {"--name", "other"}, "  ": {"--until", "24h"},
	} {
		var sessions []string
		for line := range strings.Lines(w.ok(append([]string{"triggers", "--json"}, args...)...)) {
			sessions = append(sessions, read[struct{ SessionID string }](t, line).SessionID)
		}
		require.Equal(t, strings.Fields(of), append([]string{}, sessions...), "%q", args)
	}
	require.Contains(t, w.run("triggers", "--until", "soon").err, `--until is "soon"; it must be a duration`)

	require.Contains(t, w.run("triggers", "--state", "fialed").err, `state "fialed" is none of pending, delivered, failed`)
	require.Contains(t, w.run("triggers", "retry", "nowhere").err, "nowhere is not tried again: the service answers 404")
	require.Contains(t, w.run("triggers", "retry", trigger).err, "is delivered: nothing of it has failed")
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
	first := atDev(t, nil) // may use NATS's default port
	second := atDev(t, nil, "--nats-port", "0")
	for _, w := range []*world{first, second} {
		w.put("/v1/apps/clinic", `{}`)
		w.put("/v1/apps/clinic/repositories/"+cond(w == first, "first", "second"), `{"tools":[]}`)
	}
	for _, w := range []*world{first, second} {
		r := command(t, map[string]string{"EARSHOT_URL": w.env["EARSHOT_URL"]}, "listen", "--since", "1h", "--count", "1").good(t)
		require.Equal(t, "listening at "+w.env["NATS_URL"]+" for >\n", r.err)
		require.Contains(t, r.out, cond(w == first, "  first  ", "  second  "))
	}
}

func TestCommandsTakeTheAppFromTheirKey(t *testing.T) {
	w := serving(t, 1)
	w.put("/v1/apps/other", `{}`)
	key := w.request("POST", "/v1/apps/clinic/keys", `{"name":"desk","scopes":["messages","tools","triggers"]}`)["key"].(string)
	w.env["EARSHOT_URL"] = w.replicas[0].url
	require.Contains(t, w.run("chat", "hello").err, "the service has several apps; name one with --app")
	require.Contains(t, w.ok("chat", "hello", "--key", key), "nothing fired: no tool is in scope")
	require.Equal(t, "no triggers were found\n", w.ok("triggers", "--key", key))
	require.Contains(t, w.run("chat", "hello", "--key", "wrong").err, "401")
}

type person struct {
	*replica
	keys *os.File
}

// sitting starts a command on a terminal of 80 columns.
func sitting(t *testing.T, variables map[string]string, args ...string) person {
	keys, screen, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(screen, &pty.Winsize{Rows: 24, Cols: 80}))
	world, log := around(variables, screen, screen, ""), &testbed.Lines{}
	world.in = screen
	var shown sync.WaitGroup
	shown.Go(func() { _, _ = io.Copy(log, keys) }) // ends when the terminal is closed
	t.Cleanup(func() {
		_, _ = keys.WriteString("\r") // ends a pending line
		require.NoError(t, screen.Close())
		shown.Wait()
		require.NoError(t, keys.Close())
	})
	return person{begin(t, log, world, args...), keys}
}

func (p person) types(text string) { testbed.Got(p.keys.WriteString(text))(p.t) }

// sees waits until a text has appeared that often.
func (p person) sees(text string, times int) {
	require.Eventually(p.t, func() bool { return strings.Count(p.log.String(), text) >= times }, patience, glance, "no %q in\n%s", text, p.log)
}

const (
	keyUp, keyBackspace, keyTab, keyEnd = "\x1b[A", "\x7f", "\t", "\x04"
)

func TestAPersonEditsLinesAndGoesBackToEarlierOnes(t *testing.T) {
	w, _ := talking(t)
	p := sitting(t, w.env, "chat", "--session", "s1")
	p.sees("/help lists commands", 1)
	p.types("I want an appointmentX" + keyBackspace + "\r")
	p.sees("fired", 1)
	p.types(keyUp + "\r")
	p.sees("fired", 2)
	require.Len(t, w.request("GET", "/v1/apps/clinic/sessions/s1/messages", "")["items"], 2)
	p.types("/he" + keyTab + "\r")
	p.sees("The arrow keys move in a line", 1)
	p.types("/hlep\r")
	p.sees(`unknown command /hlep; the commands are /help, /why, /tools, /history, /quit; did you mean "/help"?`, 1)
	p.types("/tools\r")
	p.sees("  booking/book\r\n", 1)
	require.Contains(t, p.log.String(), "\x1b[32mfired\x1b[0m")
	p.sees("> \x1b[0m", 6) // before that, the terminal itself handles the key
	p.types(keyEnd)
	require.Zero(t, p.wait())

	again := sitting(t, w.env, "chat", "--session", "s1")
	again.sees("fired", 2) // of the history
	again.types(keyUp + "\r")
	again.sees("fired", 3)
	again.end() // like a signal
	require.Zero(t, again.wait())
}

func TestDevShowsAPersonWhatHappens(t *testing.T) {
	e := newSink(t)
	p := sitting(t, map[string]string{"NO_COLOR": "1"}, "dev", "--addr", "127.0.0.1:0")
	p.url = p.log.Await(t, `Earshot listens on (http://127\.0\.0\.1:\d+)`)
	w := &world{t: t, env: map[string]string{}, replicas: []*replica{p.replica}}
	w.ready(p.replica)
	w.put("/v1/apps/clinic", `{}`)
	w.say("s0", "m0", "hello")
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+e.URL+`/book","examples":["I want an appointment"]},
		{"name":"cancel","examples":["cancel it"],"schema":[{"parameter":"day","type":"string","required":true}]}]}`)
	w.say("s1", "m1", "I want an appointment")
	e.answer(400)
	w.say("s2", "m2", "I want an appointment")
	w.say("s3", "m3", "my cat is asleep")
	w.say("s4", "m4", "cancel it")
	for _, line := range []string{
		`message +clinic/s0  no tool in scope  "hello"`, `changed +clinic +desk  created, tools: 2`,
		`message +clinic/s1  match \(\w+\)  "I want an appointment"`, `trigger +clinic/s1  book`, `call +clinic/s1  POST 127\.0\.0\.1:\d+/book  200`, `result +clinic/s1  book  200 {"ok":true}`,
		`call +clinic/s2  POST 127\.0\.0\.1:\d+/book  400 failed: `, `result +clinic/s2  book  failed \(request\): `,
		`message +clinic/s3  no match \(offline\)  "my cat is asleep"`, `notmatching +clinic/s3  none of book, cancel`,
		`message +clinic/s4  values missing \(\w+\)  "cancel it"`, `rejected +clinic/s4  cancel  day is required`,
	} {
		p.log.Await(t, `(?m)^\d\d:\d\d:\d\d  `+line)
	}
	require.NotContains(t, p.log.String(), "\x1b", "no colours with NO_COLOR")
	require.NotContains(t, p.log.String(), "{\"time\"", "no log")
	p.end()
	require.Zero(t, p.wait())
}

func TestDevLogsJSONForPrograms(t *testing.T) {
	t.Parallel()
	p := sitting(t, nil, "dev", "--addr", "127.0.0.1:0", "--json")
	p.sees(`"msg":"service.started"`, 1)
	p.end()
	require.Zero(t, p.wait())
}

func TestDevReadsNoFilesFromStandardInput(t *testing.T) {
	require.Contains(t, command(t, nil, "dev", "-f", "-").err, "earshot: dev cannot read -f - (standard input), because it reads its files again when they change")
}

func TestAddressesCertificatesAndKeysAreCheckedAtStart(t *testing.T) {
	folder := t.TempDir()
	env := map[string]string{
		"EARSHOT_TLS_CERT": folder + "/cert.pem", "EARSHOT_TLS_KEY": folder + "/key.pem", "OPENAI_BASE_URL": "http://user:pass word@host/v1", "EARSHOT_ADMIN_KEY": "two words",
		"ANTHROPIC_BASE_URL": "api.anthropic.com", "GEMINI_BASE_URL": "ftp://host", "COHERE_BASE_URL": "http://",
		"EARSHOT_SQLITE_DIR": folder + "/none",
	}
	require.Contains(t, command(t, map[string]string{"EARSHOT_SQLITE_DIR": folder + "/none", "REDIS_URL": "redis://127.0.0.1:1"}, "doctor").err, `--sqlite-dir (EARSHOT_SQLITE_DIR) is "`+folder+`/none"`)
	for _, name := range []string{"serve", "dev"} {
		said := command(t, env, name).err
		for _, want := range []string{
			`OPENAI_BASE_URL (--openai-base-url) is "http://xxxxx@host/v1"; it must be a URL with http or https, as in https://`,
			`ANTHROPIC_BASE_URL (--anthropic-base-url) is "api.anthropic.com"`, `GEMINI_BASE_URL (--gemini-base-url) is "ftp://host"`, `COHERE_BASE_URL (--cohere-base-url) is "http://"`,
			`EARSHOT_TLS_CERT (--tls-cert) is "` + folder + `/cert.pem"`, "EARSHOT_ADMIN_KEY (--admin-key) has a space",
			`--sqlite-dir (EARSHOT_SQLITE_DIR) is "` + folder + `/none", which is not a folder`,
		} {
			require.Contains(t, said, want)
		}
		require.NotContains(t, said, "pass word")
	}
	cert, key, _ := newCertificate(t)
	_, other, _ := newCertificate(t)
	require.ErrorContains(t, (&config{TLSCert: cert, TLSKey: other}).checkFiles(time.Now()), "cannot be used")
	require.ErrorContains(t, (&config{TLSCert: cert, TLSKey: key}).checkFiles(time.Now().Add(48*time.Hour)), "expired on")
}

func TestAWeakAdminKeyIsWarnedOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_ADMIN_KEY"] = "change-me"
	w.serve().log.Await(t, regexp.QuoteMeta(`"msg":"admin_key.weak"`))
	w.env["EARSHOT_ADMIN_KEY"] = testAdminKey
	require.NotContains(t, w.serve().log.String(), "admin_key.weak")
}
