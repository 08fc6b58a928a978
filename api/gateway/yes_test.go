package gateway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/matcher"
	"earshot/trigger/query"
)

// chatYeses are the rows of the table "When a yes is one" in confirm.md about chats: the mode, who asks, the
// model's text after the question, and whether a yes then confirms.
var chatYeses = map[string]struct {
	mode     string
	visitor  bool
	repeats  bool
	confirms bool
}{
	"chat: the model said something else in `watch`": {mode: "watch"},
	"chat: the model asked the question in `watch`":  {mode: "watch", repeats: true, confirms: true},
	"chat: a session's token in `watch`":             {mode: "watch", visitor: true, repeats: true},
	"chat: the model said something else in `act`":   {mode: "act"},
	"chat: the model asked the question in `act`":    {mode: "act", repeats: true, confirms: true},
}

func TestWhenAYesInAChatIsOne(t *testing.T) {
	document, err := os.ReadFile("../../deploy/docs/confirm.md")
	require.NoError(t, err)
	require.Equal(t, len(chatYeses), strings.Count(string(document), "\n| chat: "))
	for name, row := range chatYeses {
		require.Contains(t, string(document), "\n| "+name+" | ")
		t.Run(name, func(t *testing.T) {
			w := refunding(t, row.mode)
			as := "Authorization: Bearer " + credentialsOf(w, "clinic")["messages"]
			if row.visitor {
				as = "Authorization: Bearer " + credentialsOf(w, "clinic")["token"]
			}
			talk := []string{"refund order A1"}
			chat(w, as, talk...)
			asked := waiting(w)
			says := "Shall I tell you the weather of today?"
			if row.repeats {
				says = "One thing before that. " + asked.Question
			}
			chat(w, as, append(talk, says, "yes")...)
			decided(w, "yes")
			want := query.StateConfirming
			if row.confirms {
				want = query.StateDelivered
			}
			var now query.Record
			require.Eventually(t, func() bool { // effects are recorded after the answer
				require.NoError(t, json.Unmarshal(w.Call("GET", "/v1/apps/clinic/triggers/"+asked.TriggerID, "").Is(200, "").Body, &now))
				return now.State != query.StatePending
			}, time.Minute, time.Millisecond)
			require.Equal(t, want, now.State)
			require.Len(t, w.Triggers("s1"), 1)
		})
	}
}

// refunding is a clinic in whose chats a refund needs confirmation. In act the model calls it once.
func refunding(t *testing.T, mode string) apitest.World {
	rounds := []string{calling("null", [2]string{"refund", `{"order":"A1"}`}), booked}
	if mode == "act" {
		w, _ := acts(t, rounds...)
		return w
	}
	match := func(request matcher.Request) (matcher.Result, error) {
		if request.Text != "refund order A1" {
			return matcher.Result{Stage: matcher.StageLLM}, nil
		}
		return apitest.Everything(request)
	}
	w := apitest.Live(t, match, newChatModel(t, nil).behind)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/shop", `{"tools":[{"name":"refund","description":"Refund","confirm":"always","url":"https://example.org/refund"}]}`).Is(201, "")
	return w
}

// chat sends a conversation to the model, beginning with the user.
func chat(w apitest.World, as string, turns ...string) {
	w.T.Helper()
	var messages []string
	for i, text := range turns {
		quoted, _ := json.Marshal(text)
		messages = append(messages, fmt.Sprintf(`{"role":%q,"content":%s}`, []string{"user", "assistant"}[i%2], quoted))
	}
	require.Equal(w.T, 200, w.Ask("POST", sessionChatPath, `{"model":"m","messages":[`+strings.Join(messages, ",")+`]}`, as).StatusCode)
}

// waiting returns the waiting trigger once it exists.
func waiting(w apitest.World) (asked query.Record) {
	w.T.Helper()
	require.Eventually(w.T, func() bool {
		list := w.Triggers("s1")
		if len(list) == 1 {
			asked = list[0]
		}
		return len(list) == 1
	}, time.Minute, time.Millisecond)
	require.Equal(w.T, query.StateConfirming, asked.State)
	return asked
}

// decided waits until a message of the session is decided.
func decided(w apitest.World, text string) {
	w.T.Helper()
	require.Eventually(w.T, func() bool {
		var history struct{ Items []query.Entry }
		require.NoError(w.T, json.Unmarshal(w.Call("GET", apitest.MessagesPath, "").Is(200, "").Body, &history))
		for _, entry := range history.Items {
			if entry.Text == text && entry.State == query.EntryDecided {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
}
