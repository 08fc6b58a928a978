package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories/keyspace"
)

func TestStoppingFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"message", "message over NATS", "call"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := serving(t, 1, "--nats-ingress", "on")
			r, conn := w.replicas[0], w.nats.Connect()
			r.log.Await(t, `ingress\.(listening)`)
			arrived, release := make(chan struct{}), make(chan struct{})
			hold := func() {
				close(arrived)
				<-release
			}
			tool := `{"name":"book"}`
			if what == "call" {
				tool = `{"name":"book","url":"` + newEndpoint(t, func(http.ResponseWriter, received) { hold() }).URL + `"}`
			} else {
				w.llm.Handle(func(request llmtest.Request) llmtest.Reply { hold(); return obey(request) })
			}
			w.put("/v1/apps/clinic/repositories/desk", `{"tools":[`+tool+`]}`)
			answers := make(chan string, 1)
			go func() {
				body := messageBody("m1", "call book {}")
				if what == "message over NATS" {
					answers <- string(over(t, conn, "earshot.v1.message.clinic.s1", body).Data)
				} else {
					answers <- w.ask(r, "POST", messagesPath("s1"), body).Body
				}
			}()
			within(t, arrived)
			r.end()
			w.until("it takes no more requests", func() bool { return w.ask(r, "GET", "/healthz", "").Err != nil })
			w.until("nor over NATS", func() bool {
				_, err := conn.Request("earshot.v1.message.clinic.s2", nil, glance)
				return errors.Is(err, nats.ErrNoResponders)
			})
			select {
			case <-r.ended:
				t.Fatal("it ended while a message was under way")
			default:
			}
			close(release)
			require.Zero(t, r.wait())
			found := read[posted](t, within(t, answers)).Matches[0]
			require.Equal(t, "published", found.Event.State)
			if what == "call" {
				require.Equal(t, "delivered", found.Call.State)
				require.Len(t, w.events("tool.result.clinic.s1.book"), 1)
			}
		})
	}
}

func within[T any](t *testing.T, channel <-chan T) T {
	t.Helper()
	select {
	case value := <-channel:
		return value
	case <-time.After(patience):
		t.Fatal("it did not happen")
		panic("unreachable")
	}
}

func TestReplicaThatEndsWritesTheReadsThatItHasAnswered(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	sink := newEndpoint(t, func(out http.ResponseWriter, _ received) { _, _ = io.WriteString(out, `"free"`) })
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"look","url":"`+sink.URL+`","request":{"method":"GET"}}]}`)
	const clients, before = 4, 20
	var fired sync.WaitGroup
	ids, many := make(chan string, 1<<16), make(chan struct{}, clients)
	for i := range clients {
		fired.Go(func() {
			for n := 0; ; n++ {
				got := w.ask(w.replicas[0], "POST", fmt.Sprintf("/v1/apps/clinic/sessions/s%d/triggers", i), `{"name":"look","source":"task"}`)
				if got.Status != http.StatusCreated {
					return
				}
				ids <- read[matched](t, got.Body).TriggerID
				if n == before {
					many <- struct{}{}
				}
			}
		})
	}
	for range clients {
		within(t, many)
	}
	require.Zero(t, w.replicas[0].stop())
	fired.Wait()
	close(ids)
	w.rest()
	answered := 0
	for id := range ids {
		answered++
		got := w.ask(w.replicas[1], "GET", "/v1/apps/clinic/triggers/"+id, "")
		require.Equal(t, http.StatusOK, got.Status, got.Body)
		require.Equal(t, "published", read[matched](t, got.Body).Event.State)
	}
	require.Greater(t, answered, clients*before)
	require.Len(t, w.events("tool.result.clinic.*.look"), answered)
}

func TestWhatAReplicaLeavesBehindAnotherDelivers(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.rest()
	w.nats.Stop()
	require.Equal(t, "pending", w.say("s1", "m1", "call book {}").Matches[0].Event.State)
	require.Zero(t, w.replicas[0].stop(), "what is owed and cannot be done now holds no stop up")
	w.nats.Start()
	w.rest()
	require.Len(t, w.events("tool.trigger.clinic.s1.book"), 1)
}

// crashing starts a replica as a process of the program built for crash tests, and waits until it is ready.
func (w *world) crashing(built string, variables ...string) (*replica, *testbed.Process) {
	process := w.process(built, variables...)
	require.NoError(w.t, process.Start())
	r := &replica{t: w.t, url: process.Await(w.t, startedAt)}
	w.ready(r)
	return r, process
}

// TestCallThatMustNotBeMadeTwiceSurvivesAKill kills the calling replica: while it waits for the answer, and
// after the answer before it is recorded.
func TestCallThatMustNotBeMadeTwiceSurvivesAKill(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	program := testbed.Program(t, "crashtest")
	for _, point := range []string{"request.sent", "attempt.done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w, sink := serving(t, 1), newSink(t)
			w.put("/v1/apps/clinic/repositories/shop", `{"tools":[
				{"name":"pay","url":"`+sink.URL+`","request":{"idempotent":false,"timeout":"1s"}}]}`)
			w.rest()
			w.replicas[0].stop() // so that the other replica makes the call
			first, process := w.crashing(program, "EARSHOT_CRASH="+point)
			require.Error(t, w.ask(first, "POST", messagesPath("s1"), messageBody("m1", "call pay {}")).Err)
			<-process.Gone()
			require.True(t, process.End().Killed)

			w.replicas = nil
			w.serve()
			type list struct{ Items []struct{ matched } }
			var failed list
			w.until("it is given up", func() bool {
				failed = read[list](t, w.call(200, "GET", "/v1/apps/clinic/triggers?state=failed", "").Body)
				return len(failed.Items) == 1
			})
			require.Equal(t, "outcome_unknown", failed.Items[0].Call.Reason)
			require.LessOrEqual(t, len(sink.requests()), 1)
			before := len(sink.requests())
			w.call(202, "POST", "/v1/apps/clinic/triggers/"+failed.Items[0].TriggerID+"/retry", "")
			w.rest()
			require.Len(t, sink.requests(), before+1)
			results := w.events("tool.result.clinic.s1.pay")
			require.Equal(t, "outcome_unknown", results[0].Payload["reason"])
			require.Equal(t, true, results[1].Payload["ok"])
		})
	}
}

// fill sets Redis's maxmemory below its usage, so that every write fails.
func (w *world) fill() {
	require.NoError(w.t, w.client().ConfigSet(w.t.Context(), "maxmemory", "1mb").Err())
	require.ErrorContains(w.t, w.client().Set(w.t.Context(), "more", strings.Repeat("x", 100), 0).Err(), "OOM")
}

func (w *world) drain() {
	require.NoError(w.t, w.client().ConfigSet(w.t.Context(), "maxmemory", "0").Err())
}

func TestWithRedisFullWhatFreesOrRevokesStillWorks(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`"}]}`)
	w.put("/v1/apps/clinic/repositories/old", `{"tools":[{"name":"old"}]}`)
	w.put("/v1/apps/other", `{}`)
	w.put("/v1/apps/other/repositories/desk", `{"tools":[{"name":"book"}]}`)
	key := read[struct{ KeyID, Key string }](t, w.call(201, "POST", "/v1/apps/clinic/keys", `{"name":"stolen","scopes":["messages"]}`).Body)
	with := func(status int, method, path, body string) httpAnswer {
		return w.call(status, method, path, body, "Authorization", "Bearer "+key.Key)
	}
	with(200, "POST", messagesPath("s1"), messageBody("m1", "hello"))
	w.say("s2", "m1", "hello")
	w.rest()
	w.nats.Stop() // later events stay pending
	require.Equal(t, "pending", w.fire("s1", "book", "{}").Event.State)

	w.fill()
	got := with(503, "POST", messagesPath("s1"), messageBody("m2", "hello"))
	require.Contains(t, got.Body, "Redis is full")
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	require.Contains(t, w.call(503, "PUT", "/v1/apps/clinic/repositories/new", `{"tools":[]}`).Body, "Redis is full")
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "redis is full")
	w.until("the metric and the log say it", func() bool {
		return strings.Contains(w.call(200, "GET", "/metrics", "").Body, "\nearshot_redis_full 1\n") &&
			strings.Count(w.replicas[0].log.String(), "redis.full") == 1
	})

	w.nats.Start()
	w.until("what was owed is delivered", func() bool { return len(w.events("tool.trigger.clinic.s1.book")) == 1 })
	w.until("its record says so", func() bool {
		return strings.Contains(w.call(200, "GET", "/v1/apps/clinic/triggers", "").Body, `"state":"published"`)
	})
	w.call(204, "DELETE", "/v1/apps/clinic/keys/"+key.KeyID, "")
	with(401, "GET", messagesPath("s1"), "")
	w.call(204, "DELETE", "/v1/apps/clinic/repositories/old", "")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1", "")
	require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", messagesPath("s1"), "").Body)
	keys := keyspace.KeysOf("clinic")
	require.NoError(t, w.client().Eval(t.Context(), "#!lua flags=allow-oom\nredis.call('ZADD', KEYS[1], 1, 'clinic/s2') redis.call('HSET', KEYS[2], 'used', 1) return 1",
		[]string{keys.Idle(), keys.Turns("s2")}).Err())
	w.until("the other session expires", func() bool {
		return w.client().Exists(t.Context(), keys.Turns("s2")).Val() == 0
	})
	w.call(204, "DELETE", "/v1/apps/other", "")
	w.call(404, "GET", "/v1/apps/other", "")
	w.rest()
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "redis is full", "so far it was")

	w.drain()
	w.ready(w.replicas[0])
	require.Len(t, w.say("s1", "m2", "call book {}").Matches, 1)
	w.until("the metric says it", func() bool {
		return strings.Contains(w.call(200, "GET", "/metrics", "").Body, "\nearshot_redis_full 0\n")
	})
}

func TestKeyThatWasNotUsedForAWhileIsGoodWithRedisFull(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	key := read[struct{ KeyID, Key string }](t, w.call(201, "POST", "/v1/apps/clinic/keys", `{"scopes":["app"]}`).Body)
	long := strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)
	require.NoError(t, w.client().HSet(t.Context(), keyspace.KeysOf("clinic").KeyUses(), key.KeyID, long).Err())
	w.fill()
	w.call(204, "DELETE", "/v1/apps/clinic/keys/"+key.KeyID, "", "Authorization", "Bearer "+key.Key)
	w.drain()
}

func TestAFullStreamIsSeenAndWhatIsOwedGoesOutWhenItIsEmptied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_STREAM_MAX_BYTES"] = "64KiB"
	r := w.serve()
	w.put("/v1/apps/clinic", `{"name":"Clinic"}`)
	w.tool(`"schema":[{"parameter":"n","type":"string"}]`)
	fired := 0
	var pending matched
	w.until("the stream is full", func() bool {
		fired++
		pending = w.fire("s1", "book", fmt.Sprintf(`{"n":"%d %s"}`, fired, strings.Repeat("x", 9000)))
		return pending.Event.State == "pending"
	})
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "nats refuses events: its stream is full")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "\nearshot_stream_full 1\n")
	require.Equal(t, 1, strings.Count(r.log.String(), `"msg":"stream.full"`))
	before := w.events("tool.trigger.>")

	w.nats.Purge(emitter.Stream)
	w.rest()
	after := w.events("tool.trigger.>")
	require.Equal(t, fired, len(before)+len(after), "none was lost, none was dropped for a newer one")
	require.Equal(t, pending.TriggerID, after[len(after)-1].Payload["id"])
	w.call(200, "GET", "/readyz", "")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "\nearshot_stream_full 0\n")
	require.Equal(t, 1, strings.Count(r.log.String(), `"msg":"stream.room"`))
}

func TestTheStreamTakesTheLimitsOfTheFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		flags []string
		age   time.Duration
		bytes int64
	}{
		{nil, 168 * time.Hour, 4 << 30},
		{[]string{"--stream-max-age", "1s", "--stream-max-bytes", "1000000"}, time.Second, 1000000},
		{[]string{"--stream-max-age=48h", "--stream-max-bytes=512MiB"}, 48 * time.Hour, 512 << 20},
	} {
		require.Zero(t, w.serve(c.flags...).stop())
		config := w.nats.StreamConfig(emitter.Stream)
		require.Equal(t, c.age, config.MaxAge)
		require.Equal(t, c.bytes, config.MaxBytes)
		require.Equal(t, jetstream.DiscardNew, config.Discard)
	}
}

func TestAnEventThatIsDeniedIsGivenUpAndItsSessionGoesOn(t *testing.T) {
	t.Parallel()
	operator, user := &server.User{Username: "operator", Password: "o"}, &server.User{Username: "earshot", Password: "p"}
	user.Permissions = &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"app.clinic.desk.ring"}}}
	w := newWorld(t, func(o *server.Options) {
		o.Username, o.Password, o.Users = operator.Username, operator.Password, []*server.User{operator, user}
	})
	w.env["NATS_URL"] = strings.Replace(w.nats.URL(), "nats://", "nats://earshot:p@", 1)
	w.serve()
	w.put("/v1/apps/clinic", `{"name":"Clinic"}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","emitter":"desk.ring"},{"name":"wave"}]}`)
	denied := w.fire("s1", "book", "{}")
	require.Equal(t, "published", denied.Event.State)
	require.Equal(t, "pending", denied.Emitter.State)
	behind := w.fire("s1", "wave", "{}")
	require.Equal(t, "pending", behind.Event.State, "events of a session keep their order")
	require.Equal(t, "published", w.fire("s2", "wave", "{}").Event.State, "other sessions go on")

	body := w.call(http.StatusServiceUnavailable, "GET", "/readyz", "").Body
	require.Contains(t, body, "nats refuses events: it denies them to the user")
	require.NotContains(t, body, "clinic", "a probe tells strangers nothing of apps")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "\nearshot_publish_denied 1\n")

	// Work that is due for a quarter of an hour is given up. The test moves the time.
	for _, key := range w.client().Keys(t.Context(), "*:effect:clinic:*").Val() {
		require.NoError(t, w.client().HIncrBy(t.Context(), key, "created", -15*time.Minute.Milliseconds()).Err())
	}
	w.until("the session goes on", func() bool { return len(w.events("tool.trigger.clinic.s1.wave")) == 1 })
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers?state=failed", "").Body, denied.TriggerID)
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers/"+denied.TriggerID, "").Body, "has no permission for")
	require.Empty(t, w.events("app.>"))

	user.Permissions = nil
	w.nats.Restart()
	w.call(http.StatusAccepted, "POST", "/v1/apps/clinic/triggers/"+denied.TriggerID+"/retry", "")
	w.until("it is published", func() bool { return len(w.events("app.clinic.desk.ring")) == 1 })
	w.until("all is well", func() bool { return w.ask(w.replicas[0], "GET", "/readyz", "").Status == http.StatusOK })
}

func (w *world) publishAnswer(triggerID, body string) {
	w.t.Helper()
	js := natstest.JetStream(w.t, w.nats.URL())
	w.until("it is published", func() bool { // the stream is created asynchronously
		_, err := js.Publish(w.t.Context(), "answer.clinic."+triggerID, []byte(body))
		return err == nil
	})
}

// inShop returns a service with tools whose triggers are held or duplicates.
func inShop(t *testing.T) *world {
	w := devInFolder(t)
	write(t, "tools.yaml", shopFile)
	w.ok("apply", "-f", "tools.yaml", "--app", "shop")
	return w
}

func (w *world) only(state string) (triggerID string) {
	return read[matched](w.t, w.ok("triggers", "--state", state, "--json")).TriggerID
}

func TestChatShowsWhatWaitsAndWhatWasThereBefore(t *testing.T) {
	w := inShop(t)
	r := typing(t, w.env, "refund my order\nyes\nrefund my order\nno\nturn the lamp on\norder the usual\norder the usual\n/history\n", "chat", "--session", "s1").good(t)
	said, history, _ := strings.Cut(r.out, "user: ")
	require.Regexp(t, `  asks first default/refund {}\n    until \d\d:\d\d:\d\d: .+\? \(yes / no\)\n`+
		`  fired default/refund {}\n    event tool.trigger.shop.s1.refund published\n`+
		`  asks first default/refund {}\n    .+\n`+
		`  cancelled default/refund {}\n`+
		`  settles default/lamp {}\n    until \d\d:\d\d:\d\d; earshot triggers cancel [0-9a-f]{32} takes it back\n`+
		`  fired default/order {}\n    event tool.trigger.shop.s1.order published\n`+
		`  done before default/order {}\n    of [0-9a-f]{32}\n`, said)
	require.Contains(t, history, "  cancelled default/refund {}\n")
	require.Contains(t, history, "  done before default/order {}\n")
	shown := w.ok("listen", "tool.*.shop.s1.>", "--since", "1h", "--count", "6")
	require.Regexp(t, `confirm +shop/s1 +refund +.+\? \(yes / no\)\n`, shown)
	require.Regexp(t, `cancelled +shop/s1 +refund +deny\n`, shown)
	require.Regexp(t, `duplicate +shop/s1 +order +of [0-9a-f]{32}\n`, shown)
}

func TestWaitingTriggersAreConfirmedDeniedAndCancelled(t *testing.T) {
	w := inShop(t)
	w.ok("chat", "refund my order", "--session", "s1")
	require.Regexp(t, `(?m) confirming +default/refund +s1 +[0-9a-f]{32} +.+\? \(yes / no\)$`, w.ok("triggers", "--state", "confirming"))
	id := w.only("confirming")
	r := failing(t, w.env, "triggers", "confirm", id)
	require.Equal(t, "earshot: "+id+" is not confirmed: there is no terminal to ask at; give --yes to confirm\n", r.err)
	require.Regexp(t, `^confirming default/refund {}, until \d\d:\d\d:\d\d\n  .+\? \(yes / no\)\n$`, r.out)
	require.Contains(t, w.ok("triggers", "confirm", id, "--yes"), id+" is confirmed, and delivered\n")
	require.Equal(t, id+" was confirmed before, and is delivered\n", w.ok("triggers", "confirm", id, "--yes"), "the same again changes nothing")
	require.Contains(t, w.run("triggers", "deny", id).err, id+" is not denied: ")

	w.ok("chat", "refund my order", "--session", "s1")
	id = w.only("confirming")
	require.Equal(t, id+" is cancelled\n", w.ok("triggers", "deny", id))
	require.Equal(t, id+" is cancelled\n", w.ok("triggers", "deny", id), "the same again changes nothing")
	w.ok("chat", "turn the lamp on", "--session", "s1")
	id = w.only("pending")
	require.Regexp(t, id+` +settles until \d\d:\d\d:\d\d\n$`, w.ok("triggers", "--state", "pending"))
	require.Equal(t, id+" is cancelled\n", w.ok("triggers", "cancel", id))
	require.Equal(t, id+" is cancelled\n", w.ok("triggers", "cancel", id), "the same again changes nothing")
	require.Contains(t, w.run("triggers", "confirm", id, "--yes").err, "does not wait for a confirmation")
	counted := w.call(200, "GET", "/metrics", "").Body
	for _, line := range []string{`{state="confirming"} 2`, `{state="due"} 1`, `{state="settling"} 1`, `{state="cancelled"} 2`} {
		require.Contains(t, counted, "\nearshot_triggers_total"+line+"\n")
	}
	for _, word := range []string{"confirm", "deny", "cancel"} {
		require.Contains(t, w.run("triggers", word, "absent").err, "absent is not ")
		require.Contains(t, w.run("triggers", word, "a b").err, `"a b" is not an id`)
		require.Equal(t, 1, w.run("triggers", word).code)
	}
}

func TestAPersonIsAskedBeforeATriggerIsConfirmed(t *testing.T) {
	w := inShop(t)
	w.ok("chat", "refund my order", "--session", "s1")
	id := w.only("confirming")
	for _, said := range []struct {
		keys, shown string
		code        int
	}{{"\r", "the answer was not yes", 1}, {keyEnd, "the answer was not yes", 1}, {"y\r", "is confirmed, and delivered", 0}} {
		p := sitting(t, w.env, "triggers", "confirm", id)
		p.sees("confirm it? [y/N]", 1)
		p.types(said.keys)
		p.sees(said.shown, 1)
		require.Equal(t, said.code, p.wait())
	}
}
