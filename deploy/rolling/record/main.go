// Command record fills a Redis by a build of an earlier version and writes down what it holds, for
// the test that this version works on:
//
//	go run ./deploy/rolling/record -from PROGRAM_OR_COMMIT -at 127.0.0.1:PORT -to testdata/NAME.jsonl
//	go run ./deploy/rolling/record -first -from f8c110a -at 127.0.0.1:PORT -to testdata/first/f8c110a.jsonl
//
// Files of versions that know drafts and tasks are in testdata/tasks.
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

	"earshot/deploy/rolling/stage"
)

func main() {
	from := flag.String("from", "", "`COMMIT`, or the path of a program, of the earlier version")
	to := flag.String("to", "", "`FILE` to write")
	at := flag.String("at", "127.0.0.1:18923", "`ADDRESS` of the endpoints, where the test listens as well: what is sealed is sealed for it")
	first := flag.Bool("first", false, "the build is one of the first versions, which had calls and events alone")
	flag.Parse()
	if err := run(context.Background(), *from, *at, *to, *first); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, from, at, to string, first bool) (err error) {
	dir, err := os.MkdirTemp("", "earshot-record-")
	if err != nil {
		return err
	}
	program, err := stage.Build(ctx, dir, from)
	if err != nil {
		return err
	}
	s, err := stage.New(dir, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(dir)) }()
	replica, err := s.NewReplica("earlier")
	if err != nil {
		return err
	}
	defer replica.Kill()
	if err := replica.Start(program); err != nil {
		return err
	}
	r := &recording{stage: s, base: "http://" + replica.Addr}
	if first {
		r.fillFirst()
	} else {
		r.fill()
		r.fillTasks()
		r.leave()
	}
	replica.Kill()
	if r.err != nil {
		return r.err
	}
	return write(ctx, s, r.key, to)
}

// recording is one who uses the service until something is not as it should be.
type recording struct {
	stage *stage.Stage
	base  string
	key   string // of the app
	err   error
}

const (
	app     = "/v1/apps/clinic"
	session = app + "/sessions/s1"
	tools   = `{"tools":[
		{"name":"ring","description":"Ring the bell at the desk","examples":["Ring the bell"],"url":"http://SINK/ok"},
		{"name":"book","description":"Book an appointment","examples":["I want an appointment"],"url":"http://SINK/booked","request":{"auth":"module","moduleId":"calendar"},
			"schema":[{"parameter":"day","type":"string","description":"the wished day","required":true}]},
		{"name":"busy","url":"http://SINK/busy","request":{"retryFor":"24h"}},
		{"name":"dead","url":"http://SINK/dead"},
		{"name":"refund","url":"http://SINK/refund","confirm":"always","schema":[{"parameter":"sum","type":"integer"}]},
		{"name":"lamp","url":"http://SINK/lamp","settle":"10s"},
		{"name":"ask","answer":{"within":"24h"}},
		{"name":"alarm","url":"http://SINK/alarm","dedupe":{"within":"24h","scope":"app"}}]}`
)

// fill leaves something of every kind.
func (r *recording) fill() {
	r.stage.Sink.Answer("/busy", http.StatusServiceUnavailable)
	r.stage.Sink.Answer("/dead", http.StatusNotFound)
	r.ask(http.MethodPut, app, `{"name":"Clinic","settings":{"limits":null},"signingSecret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"modules":[{"moduleId":"calendar","secret":"the secret","tokenUrl":"http://SINK/token"}]}`, http.StatusCreated)
	r.ask(http.MethodPut, app+"/repositories/desk", tools, http.StatusCreated)
	r.ask(http.MethodPut, app+"/repositories/once", `{"options":{"triggerOnce":true},"tools":[{"name":"gift"}]}`, http.StatusCreated)
	r.ask(http.MethodPut, session+"/repositories/own", `{"tools":[{"name":"knock","examples":["Knock at the door"],"url":"http://SINK/ok"}]}`, http.StatusCreated)
	r.key = r.ask(http.MethodPost, app+"/keys", `{"name":"back-end","scopes":["messages","triggers","app"]}`, http.StatusCreated)
	r.say("m1", "user", "Ring the bell")
	r.say("m2", "agent", "It rings")
	r.say("m3", "user", "Knock at the door")
	r.trigger("t-dead", "dead", `{}`)
	r.trigger("t-refund", "refund", `{"sum":20}`)
	r.trigger("t-ask", "ask", `{}`)
	r.trigger("t-alarm", "alarm", `{}`)
	r.trigger("t-gift", "gift", `{}`)
	r.trigger("t-busy", "busy", `{}`)
}

// fillTasks leaves a draft, and the task of a call by MCP that lacks a value.
func (r *recording) fillTasks() {
	r.ask(http.MethodPut, drafted+"/repositories/forms", `{"tools":[{"name":"form","url":"http://SINK/form","schema":[
		{"parameter":"day","type":"string","required":true},{"parameter":"desk","type":"string","required":true}]}]}`, http.StatusCreated)
	r.ask(http.MethodPost, drafted+"/messages", draft, http.StatusOK)
	r.ask(http.MethodPost, drafted+"/mcp", rpc("tools/call", `"name":"form","arguments":{},`, `,"earshot/triggerId":"t-task"`), http.StatusOK, rpcHeaders("tools/call", "form")...)
}

// leave loses NATS, and leaves what happens after that.
func (r *recording) leave() {
	if r.err == nil {
		r.err = r.stage.NATS.Close()
	}
	r.say("m4", "user", "Ring the bell")
	r.trigger("t-lamp", "lamp", `{}`)
	time.Sleep(time.Second) // what is written behind the answers
}

// drafted is the session of the draft and the task.
const drafted, draft = app + "/sessions/s2", `{"messageId":"d1","actor":"user","text":"Ring the bell","final":false}`

// rpc is the body of a request of an agent that knows tasks.
func rpc(method, params, more string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"record","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}` + more + `}}}`
}

// rpcHeaders are the headers that go with it, each name before its value.
func rpcHeaders(method, name string) []string {
	return []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name, "Accept", "application/json, text/event-stream"}
}

// fillFirst leaves what a build of the first versions can: owed calls, more of them than are read at
// once, calls that are over, and events from after NATS went away.
func (r *recording) fillFirst() {
	r.stage.Sink.Answer("/busy", http.StatusServiceUnavailable)
	r.stage.Sink.Answer("/dead", http.StatusNotFound)
	r.ask(http.MethodPut, app, `{"name":"Clinic"}`, http.StatusCreated)
	r.ask(http.MethodPut, app+"/repositories/desk", `{"tools":[
		{"name":"ring","description":"Ring the bell at the desk","examples":["Ring the bell"],"url":"http://SINK/ok"},
		{"name":"busy","url":"http://SINK/busy","request":{"auth":"basic","basic":{"username":"u","password":"p"},"retryFor":"24h"}},
		{"name":"dead","url":"http://SINK/dead"}]}`, http.StatusCreated)
	r.key = r.ask(http.MethodPost, app+"/keys", `{"name":"back-end","scopes":["messages","triggers","app"]}`, http.StatusCreated)
	r.say("m1", "user", "Ring the bell")
	r.trigger("t-dead", "dead", `{}`)
	for n := range firstOwed {
		r.trigger(fmt.Sprintf("t-busy-%d", n), "busy", `{}`)
	}
	if r.err == nil {
		r.err = r.stage.NATS.Close()
	}
	r.say("m4", "user", "Ring the bell")
	time.Sleep(time.Second) // what is written behind the answers
}

// firstOwed is how many calls fillFirst leaves.
const firstOwed = 40

func (r *recording) say(id, actor, text string) {
	r.ask(http.MethodPost, session+"/messages", fmt.Sprintf(`{"messageId":%q,"actor":%q,"text":%q}`, id, actor, text), http.StatusOK)
}

func (r *recording) trigger(id, name, values string) {
	r.ask(http.MethodPost, session+"/triggers", fmt.Sprintf(`{"triggerId":%q,"name":%q,"source":"ui","values":%s}`, id, name, values), http.StatusCreated)
}

// ask returns the key that an answer shows, if it shows one.
func (r *recording) ask(method, path, body string, want int, headers ...string) (key string) {
	if r.err != nil {
		return ""
	}
	request, err := http.NewRequest(method, r.base+path, strings.NewReader(strings.ReplaceAll(body, "SINK", r.stage.Sink.Addr)))
	if err != nil {
		r.err = err
		return ""
	}
	request.Header.Set("Authorization", "Bearer "+stage.AdminKey)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.err = err
		return ""
	}
	defer response.Body.Close()
	var shown struct{ Key string }
	_ = json.NewDecoder(response.Body).Decode(&shown) // most show none
	if response.StatusCode != want {
		r.err = fmt.Errorf("%s %s %s: %s", method, path, body, response.Status)
	}
	return shown.Key
}
