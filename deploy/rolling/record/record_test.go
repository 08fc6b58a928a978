package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/rolling/stage"
	"earshot/deploy/testbed"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
)

// upgraded is this version on the data of an earlier one.
type upgraded struct {
	t       *testing.T
	stage   *stage.Stage
	replica *stage.Replica
	base    string
	key     string
}

func TestDataOfEarlierVersionsIsWorkedOn(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		testbed.Missing(t, "no redis-server on the path: install it with apt-get install redis-server, or brew install redis")
	}
	program, err := stage.Build(t.Context(), t.TempDir(), "")
	require.NoError(t, err)
	recorded, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(t, err)
	withTasks, err := filepath.Glob("testdata/tasks/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, recorded)
	require.NotEmpty(t, withTasks)
	for _, file := range slices.Concat(recorded, withTasks) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			u := upgrade(t, program, file)
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

// endsItsTask gives the values that a task waits for, one after the other.
func (u *upgraded) endsItsTask() {
	for _, parameter := range []string{"day", "desk"} {
		require.Equal(u.t, "input_required", u.task("tasks/get", "")["status"])
		u.task("tasks/update", fmt.Sprintf(`"inputResponses":{%q:{"action":"accept","content":{%q:"a %s"}}},`, parameter, parameter, parameter))
	}
	u.until("t-task", "delivered")
	require.Equal(u.t, 1, u.calls("t-task"))
	require.Equal(u.t, map[string]any{"day": "a day", "desk": "a desk"}, u.trigger("t-task")["values"])
}

// task makes a request of an agent about the task.
func (u *upgraded) task(method, params string) map[string]any {
	answer := u.ask(http.MethodPost, drafted+"/mcp", rpc(method, `"taskId":"t-task",`+params, ""), http.StatusOK, rpcHeaders(method, "t-task")...)
	require.NotContains(u.t, answer, "error")
	return answer["result"].(map[string]any)
}

// upgrade starts this version on what was recorded, with every endpoint well.
func upgrade(t *testing.T, program, file string, plant ...func(*redis.Client)) *upgraded {
	h, err := load(t.Context(), nil, file)
	require.NoError(t, err)
	s, err := stage.New(t.TempDir(), h.Sink)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = load(t.Context(), s.Redis, file)
	require.NoError(t, err)
	for _, one := range plant {
		one(s.Redis)
	}
	replica, err := s.NewReplica("present")
	require.NoError(t, err)
	t.Cleanup(replica.Kill)
	require.NoError(t, replica.Start(program, "EARSHOT_DRAIN=0s"), replica.Log())
	return &upgraded{t, s, replica, "http://" + replica.Addr, h.Key}
}

func (u *upgraded) ask(method, path, body string, want int, headers ...string) map[string]any {
	u.t.Helper()
	request, err := http.NewRequestWithContext(u.t.Context(), method, u.base+path, strings.NewReader(body))
	require.NoError(u.t, err)
	key := u.key
	if strings.HasSuffix(path, "/repositories/desk") {
		key = stage.AdminKey // that of the app has no scope for tools
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(u.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(u.t, err)
	require.Equal(u.t, want, response.StatusCode, "%s %s: %s", method, path, text)
	var answer map[string]any
	if len(text) > 0 {
		require.NoError(u.t, json.Unmarshal(text, &answer))
	}
	return answer
}

// items are those of a list, by one of their fields.
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

// until waits until a call is in a state.
func (u *upgraded) until(id, state string) {
	u.t.Helper()
	require.Eventually(u.t, func() bool { return u.call(id)["state"] == state }, testbed.Patience, testbed.Glance, "%s: %v", id, u.trigger(id))
}

// calls counts those that an endpoint got for a trigger.
func (u *upgraded) calls(id string) (count int) {
	for _, call := range u.stage.Sink.Calls() {
		if call.ID == id {
			count++
		}
	}
	return count
}

// isRead finds everything as it was left.
func (u *upgraded) isRead() {
	held := u.stage.Redis.HGetAll(u.t.Context(), keyspace.Format).Val()
	require.EqualValues(u.t, format.Known(format.Steps()), number(u.t, held["version"]))
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
		response, err := http.Get(u.base + "/metrics")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		shown = string(text)
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
	conn, err := nats.Connect(u.stage.NATS.URL())
	require.NoError(u.t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(u.t, err)
	stream, err := js.Stream(u.t.Context(), "EARSHOT")
	require.NoError(u.t, err)
	info, err := stream.Info(u.t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(u.t, err)
	counts := map[string]int{}
	for subject, n := range info.State.Subjects {
		counts[subject] = int(n)
	}
	return counts
}

// goesOn does what users do with what they had.
func (u *upgraded) goesOn() {
	before := len(u.stage.Sink.Calls())
	u.ask(http.MethodPost, session+"/messages", `{"messageId":"m1","actor":"user","text":"Ring the bell"}`, http.StatusOK)
	require.Len(u.t, u.stage.Sink.Calls(), before, "it has its answer")
	u.ask(http.MethodPost, session+"/messages", `{"messageId":"m1","actor":"user","text":"Another"}`, http.StatusConflict)
	knocked := u.ask(http.MethodPost, session+"/messages", `{"messageId":"m5","actor":"user","text":"Knock at the door"}`, http.StatusOK)
	require.Len(u.t, knocked["matches"], 1)

	u.fire("t-book", "book", `{"day":"Monday"}`, http.StatusCreated)
	u.until("t-book", "delivered")
	calls := u.stage.Sink.Calls()
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

// owesNothing waits until the ledger is empty. The counter of what is owed is not looked at: the
// build of a080ffb counted what was held back, which "earshot verify --mend" puts right.
func (u *upgraded) owesNothing() {
	keys := keyspace.KeysOf("clinic")
	for _, lane := range []keyspace.Lane{keyspace.LaneTurns, keyspace.LaneCalls, keyspace.LaneOutboxes, keyspace.LaneHeld} {
		require.Eventually(u.t, func() bool {
			return u.stage.Redis.ZCard(u.t.Context(), keys.Lane(lane)).Val() == 0
		}, testbed.Patience, testbed.Glance, lane)
	}
	require.Empty(u.t, u.stage.Redis.Keys(u.t.Context(), "*:effect:*").Val())
	require.Zero(u.t, u.stage.Redis.HLen(u.t.Context(), keys.Dead()).Val())
	require.Zero(u.t, u.stage.Redis.ZCard(u.t.Context(), keys.InState(keyspace.Pending)).Val())
}
