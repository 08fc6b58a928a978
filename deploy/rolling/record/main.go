// Command record fills a Redis by a build of an earlier version and writes down what it holds, for
// the test that this version works on:
//
//	go run ./deploy/rolling/record -from PROGRAM_OR_COMMIT -at 127.0.0.1:PORT -to testdata/NAME.jsonl
//
// Files of versions that know drafts and tasks are in testdata/tasks. Those in testdata/first are of the first versions,
// which had calls and events alone: more pending calls than one read takes, ended calls, and events without NATS. They
// were recorded by this command at 5b537ff4.
//
// It needs a redis-server. The build leaves what an upgrade in the middle of the day meets: an app
// with credentials and a key, a session with its history and its own repository, triggers that
// were delivered, that failed, that wait for a yes, for an answer, for their time, calls that an
// endpoint does not take, and events from after NATS went away. It ends by SIGKILL.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

func main() {
	from := flag.String("from", "", "`COMMIT`, or the path of a program, of the earlier version")
	to := flag.String("to", "", "`FILE` to write")
	at := flag.String("at", "127.0.0.1:18923", "`ADDRESS` of the endpoints, where the test listens as well: what is sealed is sealed for it")
	flag.Parse()
	folder, err := os.MkdirTemp("", "earshot-record-")
	if err == nil {
		err = testbed.Run(context.Background(), folder, func(rig *testbed.Rig) error {
			statuses := map[string]int{"/busy": http.StatusServiceUnavailable, "/dead": http.StatusNotFound}
			s := newStage(rig, folder, testbed.ProgramOf(rig, folder, *from), *at, statuses)
			if err := s.replica.Up(rig.Context()); err != nil {
				return err
			}
			s.fill()
			s.fillTasks()
			s.leave()
			s.replica.Kill()
			return write(rig.Context(), s.redis, head{time.Now().UnixMilli(), *at, s.key}, *to)
		})
		err = errors.Join(err, os.RemoveAll(folder), testbed.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

type stage struct {
	t       testbed.TB
	redis   *redis.Client
	nats    *natstest.Server
	sink    *testbed.Sink
	url     string // of the sink
	replica *testbed.Replica
	key     string // of the app
}

// newStage has a sink at an address answer as statuses say, and else with 200.
func newStage(t testbed.TB, folder, program, at string, statuses map[string]int) *stage {
	t.Helper()
	store := redistest.Run(t, "--appendfsync", "always")
	s := &stage{t: t, redis: store.Client().(*redis.Client), nats: natstest.Run(t), sink: &testbed.Sink{Token: "token-of-the-stage"}}
	s.sink.Answer = func(out http.ResponseWriter, _ *http.Request, call testbed.Call) {
		status, told := statuses[call.Path]
		if !told {
			status = http.StatusOK
		}
		out.WriteHeader(status)
		_ = json.NewEncoder(out).Encode(map[string]any{"status": status}) // the caller may be gone
	}
	s.url = testbed.Serve(t, at, s.sink)
	s.replica = testbed.NewReplica(t, folder, "replica", program, "REDIS_URL="+store.URL(), "NATS_URL="+s.nats.URL(), "EARSHOT_STREAM_MAX_BYTES=256MiB")
	return s
}

const (
	app     = "/v1/apps/clinic"
	session = app + "/sessions/s1"
	tools   = `{"tools":[
		{"name":"ring","description":"Ring the bell at the desk","examples":["Ring the bell"],"url":"SINK/ok"},
		{"name":"book","description":"Book an appointment","examples":["I want an appointment"],"url":"SINK/booked","request":{"auth":"module","moduleId":"calendar"},
			"schema":[{"parameter":"day","type":"string","description":"the wished day","required":true}]},
		{"name":"busy","url":"SINK/busy","request":{"retryFor":"24h"}},
		{"name":"dead","url":"SINK/dead"},
		{"name":"refund","url":"SINK/refund","confirm":"always","schema":[{"parameter":"sum","type":"integer"}]},
		{"name":"lamp","url":"SINK/lamp","settle":"10s"},
		{"name":"ask","answer":{"within":"24h"}},
		{"name":"alarm","url":"SINK/alarm","dedupe":{"within":"24h","scope":"app"}}]}`
)

func (s *stage) fill() {
	s.ask(http.MethodPut, app, `{"name":"Clinic","settings":{"limits":null},"signingSecret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"modules":[{"moduleId":"calendar","secret":"the secret","tokenUrl":"SINK/token"}]}`, http.StatusCreated)
	s.ask(http.MethodPut, app+"/repositories/desk", tools, http.StatusCreated)
	s.ask(http.MethodPut, app+"/repositories/once", `{"options":{"triggerOnce":true},"tools":[{"name":"gift"}]}`, http.StatusCreated)
	s.ask(http.MethodPut, session+"/repositories/own", `{"tools":[{"name":"knock","examples":["Knock at the door"],"url":"SINK/ok"}]}`, http.StatusCreated)
	s.key = s.ask(http.MethodPost, app+"/keys", `{"name":"back-end","scopes":["messages","triggers","app"]}`, http.StatusCreated)
	s.say("m1", "user", "Ring the bell")
	s.say("m2", "agent", "It rings")
	s.say("m3", "user", "Knock at the door")
	s.trigger("t-dead", "dead", `{}`)
	s.trigger("t-refund", "refund", `{"sum":20}`)
	s.trigger("t-ask", "ask", `{}`)
	s.trigger("t-alarm", "alarm", `{}`)
	s.trigger("t-gift", "gift", `{}`)
	s.trigger("t-busy", "busy", `{}`)
}

func (s *stage) fillTasks() {
	s.ask(http.MethodPut, drafted+"/repositories/forms", `{"tools":[{"name":"form","url":"SINK/form","schema":[
		{"parameter":"day","type":"string","required":true},{"parameter":"desk","type":"string","required":true}]}]}`, http.StatusCreated)
	s.ask(http.MethodPost, drafted+"/messages", draft, http.StatusOK)
	body, headers := testbed.RPC("tools/call", "form", `"name":"form","arguments":{}`, `"earshot/triggerId":"t-task"`)
	s.ask(http.MethodPost, drafted+"/mcp", body, http.StatusOK, headers...)
}

func (s *stage) leave() {
	s.nats.Stop()
	s.say("m4", "user", "Ring the bell")
	s.trigger("t-lamp", "lamp", `{}`)
	time.Sleep(time.Second) // what is written behind the answers
}

const drafted, draft = app + "/sessions/s2", `{"messageId":"d1","actor":"user","text":"Ring the bell","final":false}`

func (s *stage) say(id, actor, text string) {
	s.ask(http.MethodPost, session+"/messages", fmt.Sprintf(`{"messageId":%q,"actor":%q,"text":%q}`, id, actor, text), http.StatusOK)
}

func (s *stage) trigger(id, name, values string) {
	s.ask(http.MethodPost, session+"/triggers", fmt.Sprintf(`{"triggerId":%q,"name":%q,"source":"ui","values":%s}`, id, name, values), http.StatusCreated)
}

func (s *stage) ask(method, path, body string, want int, headers ...string) (key string) {
	s.t.Helper()
	answer, err := s.replica.Ask(s.t.Context(), method, path, strings.ReplaceAll(body, "SINK", s.url), headers...)
	if err != nil || answer.Status != want {
		s.t.Fatalf("%s %s %s: %d %s %v", method, path, body, answer.Status, answer.Body, err)
	}
	var shown struct{ Key string }
	_ = json.Unmarshal(answer.Body, &shown) // most show none
	return shown.Key
}
