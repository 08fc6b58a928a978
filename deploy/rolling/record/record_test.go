package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/emitter"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
)

func TestMain(m *testing.M) { testbed.Main(m) }

type upgraded struct {
	*stage
	t *testing.T
}

func TestDataOfEarlierVersionsIsWorkedOn(t *testing.T) {
	recorded := testbed.Got(filepath.Glob("testdata/*.jsonl"))(t)
	withTasks := testbed.Got(filepath.Glob("testdata/tasks/*.jsonl"))(t)
	require.NotEmpty(t, recorded)
	require.NotEmpty(t, withTasks)
	for _, file := range slices.Concat(recorded, withTasks) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			u := upgrade(t, file)
			if slices.Contains(withTasks, file) {
				u.commitsItsDraft()
				u.endsItsTask()
			}
			u.isRead()
			u.opens()
			u.isDelivered()
			u.goesOn()
			u.owesNothing()
		})
	}
}

// commitsItsDraft says the text of a draft in earnest, as clients do whose draft may be over.
func (u *upgraded) commitsItsDraft() {
	answer := u.ask(http.MethodPost, drafted+"/messages", strings.Replace(draft, "false", "true", 1), http.StatusOK)
	require.Len(u.t, answer["matches"], 1)
	fired := answer["matches"].([]any)[0].(map[string]any)["triggerId"].(string)
	u.until(fired, "delivered")
	require.Equal(u.t, 1, u.calls(fired))
}

func (u *upgraded) endsItsTask() {
	for _, parameter := range []string{"day", "desk"} {
		require.Equal(u.t, "input_required", u.task("tasks/get", "")["status"])
		u.task("tasks/update", fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{%q:"a %s"}}}`, parameter, parameter, parameter))
	}
	u.until("t-task", "delivered")
	require.Equal(u.t, 1, u.calls("t-task"))
	require.Equal(u.t, map[string]any{"day": "a day", "desk": "a desk"}, u.trigger("t-task")["values"])
}

func (u *upgraded) task(method, params string) map[string]any {
	body, headers := testbed.RPC(method, "t-task", `"taskId":"t-task"`+params, "")
	answer := u.ask(http.MethodPost, drafted+"/mcp", body, http.StatusOK, headers...)
	require.NotContains(u.t, answer, "error")
	return answer["result"].(map[string]any)
}

// upgrade starts this version on what was recorded, with every endpoint well.
func upgrade(t *testing.T, file string, plant ...func(*redis.Client)) *upgraded {
	h := testbed.Got(load(t.Context(), nil, file))(t)
	u := &upgraded{newStage(t, t.TempDir(), testbed.Program(t), h.Sink, nil), t}
	testbed.Got(load(t.Context(), u.redis, file))(t)
	u.key = h.Key
	for _, one := range plant {
		one(u.redis)
	}
	require.NoError(t, u.replica.Up(t.Context(), "EARSHOT_DRAIN=0s"))
	return u
}

// ask makes a request with the key of the app, and returns the object of its answer.
func (u *upgraded) ask(method, path, body string, want int, headers ...string) (object map[string]any) {
	client := u.replica.Client
	if !strings.HasSuffix(path, "/repositories/desk") { // for which that of the app has no scope
		client.Key = u.key
	}
	answer := testbed.Got(client.Ask(u.t.Context(), method, path, body, headers...))(u.t)
	require.Equal(u.t, want, answer.Status, "%s %s: %s", method, path, answer.Body)
	if len(answer.Body) > 0 {
		require.NoError(u.t, json.Unmarshal(answer.Body, &object))
	}
	return object
}

func (u *upgraded) items(path, field string) map[string]map[string]any {
	found := map[string]map[string]any{}
	for _, item := range u.ask(http.MethodGet, path, "", http.StatusOK)["items"].([]any) {
		one := item.(map[string]any)
		found[one[field].(string)] = one
	}
	return found
}

func (u *upgraded) trigger(id string) map[string]any {
	return u.ask(http.MethodGet, app+"/triggers/"+id, "", http.StatusOK)
}

func (u *upgraded) call(id string) map[string]any {
	call, _ := u.trigger(id)["call"].(map[string]any)
	return call
}

func (u *upgraded) until(id, state string) {
	require.Eventually(u.t, func() bool { return u.call(id)["state"] == state }, testbed.Patience, testbed.Glance, "%s: %v", id, u.trigger(id))
}

func (u *upgraded) calls(id string) (count int) {
	for _, call := range u.sink.Calls() {
		if call.ID == id {
			count++
		}
	}
	return count
}

func (u *upgraded) isRead() {
	require.EqualValues(u.t, format.Known(format.Steps()), number(u.t, u.redis.HGetAll(u.t.Context(), keyspace.Format).Val()["version"]))
	app1 := u.ask(http.MethodGet, app, "", http.StatusOK)
	require.Equal(u.t, "Clinic", app1["name"])
	require.Equal(u.t, "***", app1["modules"].([]any)[0].(map[string]any)["secret"])
	require.Len(u.t, u.ask(http.MethodGet, app+"/repositories/desk", "", http.StatusOK)["tools"], 8)
	require.Contains(u.t, u.items(app+"/keys", "name"), "back-end")
	require.Contains(u.t, u.items(app+"/sessions", "sessionId"), "s1", "sessions of before the lists of them")

	messages := u.items(session+"/messages", "messageId")
	require.Len(u.t, messages, 4)
	require.Equal(u.t, "It rings", messages["m2"]["text"])
	for _, id := range []string{"m1", "m3", "m4"} {
		require.Len(u.t, messages[id]["triggers"], 1, id)
	}
	require.Len(u.t, u.items(session+"/triggers", "triggerId"), 10)
	require.Equal(u.t, "failed", u.call("t-dead")["state"])
	require.Equal(u.t, "delivered", u.call("t-alarm")["state"])
	u.ask(http.MethodGet, session+"/messages/m1/explain", "", http.StatusOK)
}

// opens finds a key for all that was sealed: of apps, repositories, and calls that are owed or held.
func (u *upgraded) opens() {
	var shown string
	require.Eventually(u.t, func() bool {
		answer, err := u.replica.Ask(u.t.Context(), http.MethodGet, "/metrics", "")
		shown = string(answer.Body)
		return err == nil && strings.Contains(shown, "earshot_sealed{")
	}, testbed.Patience, testbed.Glance)
	require.Contains(u.t, shown, `earshot_sealed{key="current",what="apps"} 1`)
	for _, what := range []string{"apps", "repositories", "calls"} {
		require.Contains(u.t, shown, `earshot_sealed{key="none",what="`+what+`"} 0`)
	}
}

func number(t *testing.T, text string) (n int) {
	require.NoError(t, json.Unmarshal([]byte(text), &n))
	return n
}

// isDelivered waits for what the earlier version still owed.
func (u *upgraded) isDelivered() {
	u.until("t-busy", "delivered")
	u.until("t-lamp", "delivered")
	require.Equal(u.t, 1, u.calls("t-busy"))
	require.Equal(u.t, 1, u.calls("t-lamp"))
	last := u.items(session+"/messages", "messageId")["m4"]["triggers"].([]any)[0].(map[string]any)["triggerId"].(string)
	require.Eventually(u.t, func() bool {
		return u.trigger(last)["event"].(map[string]any)["state"] == "published"
	}, testbed.Patience, testbed.Glance)
	require.Zero(u.t, u.calls(last), "it was called before")
	published := u.published()
	require.Equal(u.t, 1, published["tool.trigger.clinic.s1.ring"])
	require.Equal(u.t, 1, published["tool.result.clinic.s1.ring"])
	require.Equal(u.t, 1, published["tool.result.clinic.s1.busy"])
}

// published counts the events in the stream, which was empty, by their subject.
func (u *upgraded) published() map[string]int {
	counts := map[string]int{}
	for _, event := range u.nats.Stored(emitter.Stream, ">") {
		counts[event.Subject]++
	}
	return counts
}

func (u *upgraded) goesOn() {
	before := len(u.sink.Calls())
	u.ask(http.MethodPost, session+"/messages", `{"messageId":"m1","actor":"user","text":"Ring the bell"}`, http.StatusOK)
	require.Len(u.t, u.sink.Calls(), before, "it has its answer")
	u.ask(http.MethodPost, session+"/messages", `{"messageId":"m1","actor":"user","text":"Another"}`, http.StatusConflict)
	knocked := u.ask(http.MethodPost, session+"/messages", `{"messageId":"m5","actor":"user","text":"Knock at the door"}`, http.StatusOK)
	require.Len(u.t, knocked["matches"], 1)

	u.fire("t-book", "book", `{"day":"Monday"}`, http.StatusCreated)
	u.until("t-book", "delivered")
	calls := u.sink.Calls()
	require.Equal(u.t, "Bearer token-of-the-stage", calls[len(calls)-1].Authorization, "the module's secret opens")
	u.fire("t-gift2", "gift", `{}`, http.StatusNotFound)
	u.fire("t-alarm2", "alarm", `{}`, http.StatusCreated)
	require.Equal(u.t, "t-alarm", u.trigger("t-alarm2")["of"])
	u.fire("t-alarm", "alarm", `{}`, http.StatusCreated)
	require.Zero(u.t, u.calls("t-alarm"), "its id is known")

	digest := u.trigger("t-refund")["digest"].(string)
	u.ask(http.MethodPost, app+"/triggers/t-refund/confirm", `{"digest":"`+digest+`"}`, http.StatusAccepted)
	u.until("t-refund", "delivered")
	u.ask(http.MethodPost, app+"/triggers/t-ask/answer", `{"ok":true,"result":"blue"}`, http.StatusOK)
	u.until("t-ask", "delivered")
	u.ask(http.MethodPost, app+"/triggers/t-dead/retry", "", http.StatusAccepted)
	u.until("t-dead", "delivered")
	for _, id := range []string{"t-refund", "t-dead", "t-book"} {
		require.Equal(u.t, 1, u.calls(id), id)
	}
}

func (u *upgraded) fire(id, name, values string, want int) {
	u.ask(http.MethodPost, session+"/triggers", `{"triggerId":"`+id+`","name":"`+name+`","source":"ui","values":`+values+`}`, want)
}

// owesNothing waits until the ledger is empty, except for the counter, which a080ffb got wrong: "earshot verify --mend" corrects it.
func (u *upgraded) owesNothing() {
	keys := keyspace.KeysOf("clinic")
	for _, lane := range []keyspace.Lane{keyspace.LaneTurns, keyspace.LaneCalls, keyspace.LaneOutboxes, keyspace.LaneHeld} {
		require.Eventually(u.t, func() bool {
			return u.redis.ZCard(u.t.Context(), keys.Lane(lane)).Val() == 0
		}, testbed.Patience, testbed.Glance, lane)
	}
	require.Empty(u.t, u.redis.Keys(u.t.Context(), "*:effect:*").Val())
	require.Zero(u.t, u.redis.HLen(u.t.Context(), keys.Dead()).Val())
	require.Zero(u.t, u.redis.ZCard(u.t.Context(), keys.InState(keyspace.Pending)).Val())
}

// firstOwed is how many calls the data of the first versions owes.
const firstOwed = 40

// TestDataOfTheFirstVersionsIsWorkedOn uses data of builds with one set for all work of a partition: pending calls and events are
// delivered once, under their ids. An unknown entry stays.
func TestDataOfTheFirstVersionsIsWorkedOn(t *testing.T) {
	recorded := testbed.Got(filepath.Glob("testdata/first/*.jsonl"))(t)
	require.NotEmpty(t, recorded)
	for _, file := range recorded {
		t.Run(filepath.Base(file), func(t *testing.T) {
			u := upgrade(t, file, func(db *redis.Client) {
				for n := range 40 { // more than are read at once
					require.NoError(t, db.ZAdd(t.Context(), keyspace.KeysOf("clinic").Due(), redis.Z{Score: 1, Member: fmt.Sprintf("queue/clinic-%d", n)}).Err())
				}
			})
			require.Len(t, u.ask(http.MethodGet, app+"/repositories/desk", "", http.StatusOK)["tools"], 3)
			messages := u.items(session+"/messages", "messageId")
			require.Len(t, messages, 2)
			for n := range firstOwed {
				id := fmt.Sprintf("t-busy-%d", n)
				u.until(id, "delivered")
				require.Equal(t, 1, u.calls(id))
			}
			require.Equal(t, "failed", u.call("t-dead")["state"])
			u.fire("t-new", "ring", `{}`, http.StatusCreated)
			u.until("t-new", "delivered")
			require.Eventually(t, func() bool { return u.published()["tool.result.clinic.s1.busy"] == firstOwed }, testbed.Patience, testbed.Glance)
			require.GreaterOrEqual(t, u.published()["tool.trigger.clinic.s1.ring"], 2, "that of m4, and the new one")
			u.ask(http.MethodPost, app+"/triggers/t-dead/retry", "", http.StatusAccepted)
			u.until("t-dead", "delivered")
			u.owesNothing()

			due := strings.Join(u.redis.ZRange(t.Context(), keyspace.KeysOf("clinic").Due(), 0, -1).Val(), " ")
			require.Equal(t, 40, strings.Count(due, "queue/clinic-"), "what nobody knows is left alone")
			require.NotContains(t, due, "e/clinic/")
			require.Equal(t, 40, strings.Count(u.replica.String(), `"ledger.unknown"`), "each is logged once")
			require.NotContains(t, u.replica.String(), "panic")
		})
	}
}
