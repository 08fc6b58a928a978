package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// talking is a playground with the tool book that calls an toolServer.
func talking(t *testing.T) (*playground, *toolServer) {
	t.Helper()
	w, e := startPlayground(t, ""), newToolServer(t)
	write(t, "tools.yaml", strings.ReplaceAll(bookFile, "URL", e.URL))
	w.ok("apply", "-f", "tools.yaml")
	return w, e
}

func TestChatShowsWhatFiresAndWhyNothingDoes(t *testing.T) {
	w, _ := talking(t)
	r := typing(t, w.variables, "/tools\n\nI want an appointment\nthe weather is fine\n/history\n/quit\nnever said\n", "chat", "--session", "s1")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, "app clinic, session s1; /history, /tools, /quit\n  booking/book\n", r.out[:strings.Index(r.out, "  fired")])
	require.Equal(t, 2, strings.Count(r.out, "  fired booking/book {}\n    event tool.trigger.clinic.s1.book published\n    call delivered, status 200, {\"booked\":true}\n"))
	require.Contains(t, r.out, "  nothing fired: ")
	require.Contains(t, r.out, "book")
	require.Equal(t, 1, strings.Count(r.out, "user: the weather is fine"))
	require.NotContains(t, r.out, "\x1b", "colours are for terminals")
	require.NotContains(t, r.out, "never said")

	again := typing(t, w.variables, "", "chat", "--session", "s1")
	require.Contains(t, again.out, "user: I want an appointment\n  fired booking/book", "an old session shows what was said")
}

func TestChatForPrograms(t *testing.T) {
	w, _ := talking(t)
	r := typing(t, w.variables, "I want an appointment\nhello\n", "chat", "--json")
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
	w := startPlayground(t, "")
	require.Equal(t, "earshot: the service has no app yet; make one with: earshot apply -f FILE\n", w.run("chat", "hello").err)
	w.request("PUT", "/v1/apps/one", `{}`)
	require.Contains(t, w.ok("chat", "hello"), "nothing fired: there is no tool in scope")
	w.request("PUT", "/v1/apps/two", `{}`)
	require.Equal(t, "earshot: the service has several apps; say which with --app: one, two\n", w.run("chat", "hello").err)
	require.Contains(t, w.run("chat", "--app", "three", "hello").err, "404")
	require.Contains(t, w.run("chat", "--app", "one", "--session", "a b", "hello").err, `--session "a b" is not an id`)
	require.Equal(t, 1, typing(t, w.variables, "/what\n", "chat", "--app", "one").code)
}

func TestListenShowsEventsOfASubjectFromATimeOn(t *testing.T) {
	w, _ := talking(t)
	w.ok("listen", "tool.changed.>", "--since", "1h", "--count", "1") // of the app; those of a session do not wait for it
	w.ok("chat", "I want an appointment", "--session", "s1")
	all := w.ok("listen", "--since", "1h", "--count", "2")
	require.Regexp(t, `^\d\d:\d\d:\d\d tool\.changed\.clinic\.booking \{.*\}\n\d\d:\d\d:\d\d tool\.trigger\.clinic\.s1\.book \{.*\}\n$`, all)
	var found event
	require.NoError(t, json.Unmarshal([]byte(w.ok("listen", "tool.result.>", "--since", "2026-01-01T00:00:00Z", "--count", "1", "--json")), &found))
	require.Equal(t, "tool.result.clinic.s1.book", found.Subject)
	require.NotEmpty(t, found.ID)
	require.Contains(t, string(found.Data), `"ok":true`)
}

func TestListenBeforeTheFirstEventShowsIt(t *testing.T) {
	w := startPlayground(t, "")
	out := w.listening("tool.changed.>")
	w.request("PUT", "/v1/apps/clinic", `{}`)
	w.request("PUT", "/v1/apps/clinic/repositories/one", `{"tools":[]}`)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "tool.changed.clinic.one") }, 30*time.Second, 5*time.Millisecond)
}

func TestListenShowsWhatComesFromNowOn(t *testing.T) {
	w, _ := talking(t)
	w.ok("chat", "I want an appointment", "--session", "before")
	w.ok("listen", "tool.result.>", "--since", "1h", "--count", "1")
	out := w.listening("tool.trigger.>")
	require.Eventually(t, func() bool {
		w.ok("chat", "I want an appointment", "--session", "after")
		return strings.Contains(out.String(), "tool.trigger.clinic.after")
	}, 30*time.Second, 50*time.Millisecond)
	require.NotContains(t, out.String(), "before")
	require.NotContains(t, out.String(), "tool.result")
}

// listening runs listen until the test ends.
func (w *playground) listening(subject string) *screenful {
	ctx, stop := context.WithCancel(context.Background())
	out, done := &screenful{}, make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"listen", subject}, environment{out: out, err: out, lookup: lookIn(w.variables)})
	}()
	w.t.Cleanup(func() {
		stop()
		require.Equal(w.t, 0, <-done, out.String())
	})
	return out
}

func TestListenSaysWhatIsInItsWay(t *testing.T) {
	for args, want := range map[string]string{
		"listen foo.bar":                            `no event has the subject "foo.bar"; events have these: tool.trigger.>`,
		"listen --since yesterday":                  `--since is "yesterday"; it must be a duration`,
		"listen --nats-url nats://u:pw@127.0.0.1:1": "no NATS server answers at nats://u:xxxxx@127.0.0.1:1",
	} {
		r := typing(t, nil, "", strings.Fields(args)...)
		require.Equal(t, 1, r.code, args)
		require.Contains(t, r.err, want)
		require.NotContains(t, r.err, "pw@")
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
	require.Eventually(t, func() bool { return strings.Contains(w.ok("triggers", "--state", "delivered"), record.TriggerID) }, 30*time.Second, 20*time.Millisecond)

	require.Contains(t, w.run("triggers", "--state", "fialed").err, `state "fialed" is none of pending, delivered, failed`)
	require.Contains(t, w.run("triggers", "retry", "nowhere").err, "trigger nowhere: the service answers 404")
}

// commands lists all of ours.
func commands(cmd *cobra.Command) []*cobra.Command {
	found := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		found = append(found, commands(child)...)
	}
	return found
}

func TestEveryCommandHasAnExampleThatCanBeTyped(t *testing.T) {
	for _, cmd := range commands(newRoot(environment{lookup: lookIn(nil)})) {
		require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", "")) {
			_, typed, found := strings.Cut(line, "earshot ")
			require.True(t, found, line)
			named, rest, err := newRoot(environment{lookup: lookIn(nil)}).Find(words(typed))
			require.NoError(t, err, line)
			require.Equal(t, cmd.CommandPath(), strings.TrimSpace(cond(cmd.HasParent(), named.CommandPath(), cmd.CommandPath())), line)
			require.NoError(t, named.ParseFlags(rest), line)
			require.NoError(t, named.ValidateArgs(named.Flags().Args()), line)
		}
	}
}

func cond(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// words splits a line as a shell does, as far as examples need it.
func words(line string) []string {
	var found []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			found = append(found, part)
			continue
		}
		part, _, _ = strings.Cut(part, "$(")
		found = append(found, strings.Fields(part)...)
	}
	if strings.Contains(line, "$(") {
		found = append(found, "screenful")
	}
	return found
}

func TestTheShellCompletesStates(t *testing.T) {
	require.Contains(t, typing(t, nil, "", "__complete", "triggers", "--state", "").out, "failed\n")
	require.Equal(t, 0, typing(t, nil, "", "completion", "bash").code)
}

func TestAllFailedTriggersAreTriedAgainOrRemoved(t *testing.T) {
	w, e := talking(t)
	e.answer(400)
	for _, session := range []string{"s1", "s2", "s3"} {
		w.ok("chat", "I want an appointment", "--session", session)
	}
	require.Equal(t, "1 removed\n", w.ok("triggers", "purge", "--session", "s1"))
	require.Equal(t, "0 tried again\n", w.ok("triggers", "retry", "--all", "--name", "other"))
	e.answer(200)
	require.Equal(t, "2 tried again\n", w.ok("triggers", "retry", "--all", "--name", "book"))
	require.Eventually(t, func() bool { return strings.Count(w.ok("triggers", "--state", "delivered"), "booking/book") == 2 }, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, "0 removed\n", w.ok("triggers", "purge"))
	for _, args := range [][]string{{"triggers", "retry"}, {"triggers", "retry", "--all", "t1"}} {
		require.Contains(t, w.run(args...).err, "--all")
	}
}
