package trigger_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/matcher"
	"earshot/trigger/query"
)

func TestReply(t *testing.T) {
	const (
		chat   = `{"settings":{"chatModeEnabled":true}}`
		silent = `{"settings":{"chatModeEnabled":true,"skipToolResponse":true}}`
	)
	for _, test := range []struct {
		rule, app, repository, text string
		reply                       string
		skips                       bool
	}{
		{"without chat mode there is none", `{}`, `{"tools":[{"name":"greet"}]}`, "hello", "null", false},
		{"with it, the model's own text", chat, `{"tools":[{"name":"greet"}]}`, "hello", `"I heard: hello"`, false},
		{"after a match it is written with the result", chat, `{"tools":[{"name":"greet"}]}`, "greet", `"done: greet"`, false},
		{"a tool may ask for silence", chat, `{"tools":[{"name":"greet","skipResponse":true}]}`, "greet", "null", true},
		{"the app may ask for silence after matches", silent, `{"tools":[{"name":"greet"}]}`, "greet", "null", true},
		{"not after others", silent, `{"tools":[{"name":"greet"}]}`, "hello", `"I heard: hello"`, false},
		{"an exclusive repository has the turn", chat, `{"options":{"exclusive":true},"tools":[{"name":"greet"}]}`, "hello", "null", true},
		{"a result may be the reply", chat, `{"tools":[{"name":"greet","url":"http://x.example","returnDirect":true}]}`, "greet", `{"ok":true}`, false},
		{"it needs no model", `{}`, `{"tools":[{"name":"greet","url":"http://x.example","returnDirect":true}]}`, "greet", `{"ok":true}`, false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.App("clinic", test.app)
				w.Put("s1", "r", test.repository)
				answer := w.Say("m1", test.text)
				require.JSONEq(t, test.reply, string(orNull(answer.Reply)))
				history := w.History("s1")
				again := w.Say("m1", test.text)
				kind := map[bool]string{true: "json"}[strings.HasPrefix(test.reply, "{")]
				require.Equal(t, []string{kind, kind, kind}, []string{answer.ReplyType, history[0].ReplyType, again.ReplyType})
				require.Equal(t, test.skips, answer.SkipResponse)
			})
		})
	}
}

func orNull(text json.RawMessage) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return text
}

func TestReplyBelongsToTheHistory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		w.Say("m1", "hello")
		w.Say("m2", "and?")
		require.Equal(t, []matcher.Utterance{{ID: "m1", Actor: "user", Text: "hello"}, {ID: "m1.reply", Actor: "agent", Text: "I heard: hello"}}, w.Matcher.Asked[1].History)
		history := w.History("s1")
		require.Equal(t, []string{"hello", "I heard: hello", "and?", "I heard: and?"},
			[]string{history[0].Text, history[1].Text, history[2].Text, history[3].Text})
		reply := testbed.Got(w.Engine.Message(t.Context(), "clinic", "s1", "m1.reply"))(t)
		require.Equal(t, history[1], reply)
		_, err := w.Engine.Message(t.Context(), "clinic", "s1", "m3.reply")
		require.ErrorIs(t, err, query.ErrNoMessage)
	})
}

// TestReplyIsStoredBeforeItIsAnswered holds up the script that stores a reply. If the process died then, nobody would
// know a reply that a client had got.
func TestReplyIsStoredBeforeItIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		w.Put("s1", "booking", booking) // tool.notmatching is its event
		release, held := make(chan struct{}), make(chan struct{})
		var once sync.Once
		_, engine := w.Replica(enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
			if enginetest.RunsScript(cmd, "I heard: hello") {
				once.Do(func() { close(held) })
				<-release
			}
			return next(ctx, cmd)
		}})
		answers := make(chan query.Answer, 1)
		go func() {
			answer, err := w.SayOn(engine, "s1", "m1", "hello")
			assert.NoError(t, err)
			answers <- answer
		}()
		select {
		case <-held:
		case answer := <-answers:
			t.Fatalf("answered %s before it was stored", answer.Reply)
		}
		require.Empty(t, answers)
		close(release)
		answer := <-answers
		require.JSONEq(t, `"I heard: hello"`, string(answer.Reply))
		again := testbed.Got(w.SayOn(w.Engine, "s1", "m1", "hello"))(t)
		require.Equal(t, answer, again, "on another replica")
	})
}

// TestReplyAsksForMissingValues has a model that writes a text of its own beside each call.
func TestReplyAsksForMissingValues(t *testing.T) {
	const trips = `{"tools":[{"name":"greet"},{"name":"book","schema":[
		{"parameter":"people","type":"integer","required":true},
		{"parameter":"day","type":"string","required":true,"ask":"Which day suits you?"}]}]}`
	for _, test := range []struct{ rule, app, repository, text, reply string }{
		{"in the words of the tool", `{"settings":{"chatModeEnabled":true}}`, trips, `book {"people":2}`, `"I heard: book {\"people\":2}\nWhich day suits you?"`},
		{"and in no others", `{"settings":{"chatModeEnabled":true}}`, trips, `book {"people":"two?"}`, `"Which day suits you?"`},
		{"after what was done", `{"settings":{"chatModeEnabled":true}}`, trips, "greet; book {}", `"done: greet\nWhich day suits you?"`},
		{"once", `{"settings":{"chatModeEnabled":true}}`, trips, `book {"people":"Which day suits you?"}`, `"I heard: book {\"people\":\"Which day suits you?\"}"`},
		{"without chat mode it does not", `{}`, trips, `book {"people":2}`, "null"},
		{"nor where an exclusive repository has the turn", `{"settings":{"chatModeEnabled":true}}`, `{"options":{"exclusive":true},` + trips[1:], `book {"people":2}`, "null"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.App("clinic", test.app)
				w.Put("s1", "r", test.repository)
				answer := w.Say("m1", test.text)
				require.Equal(t, "Which day suits you?", answer.Rejected[0].Ask)
				require.Equal(t, "Which day suits you?", w.Events.Payloads("tool.rejected.clinic.s1.book")[0]["ask"])
				require.JSONEq(t, test.reply, string(orNull(answer.Reply)))
			})
		})
	}
}
