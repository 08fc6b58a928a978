package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Deeds of agents that call a tool without its values, and give them when they are asked: such a
// call is a task from the first moment on (MCP, revision 2026-07-28, with the extension for
// tasks). Each value begins with a word of its task, which no other has.

// formTools are the tools of which values are missing. Both need all of formValues.
var (
	formTools  = []string{"form", "form-busy"}
	formValues = []string{"day", "desk", "hour"}
)

// taskHead is what an agent says of itself with each request.
const taskHead = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"faults","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// rpcRequest is the body of a request, and the headers that go with it.
func rpcRequest(method, name, params, more string) (body string, header []string) {
	body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{%s%s}}}`, method, params, taskHead, more)
	return body, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name}
}

// taskSeen is a task as an agent is told of it.
type taskSeen struct {
	ResultType, TaskID, Status string
	InputRequests              map[string]json.RawMessage
	Result                     json.RawMessage
}

func taskIn(answer string) (t taskSeen) {
	var wrapped struct{ Result taskSeen }
	_ = json.Unmarshal([]byte(answer), &wrapped) // what cannot be read is no task
	return wrapped.Result
}

// aTask is one that a speaker follows.
type aTask struct {
	*speaker
	app, session, id, word string
	path                   string
}

// value is what the agent gives for a parameter.
func (t *aTask) value(parameter string) string { return t.word + "." + parameter }

// fill has an agent call a tool without its values, and give them: one after the other, several at
// once, differently at the same time, or not all of them.
func (s *speaker) fill(ctx context.Context) {
	t := s.beginTask(ctx)
	if t == nil {
		return // the books will tell
	}
	switch s.dice.IntN(8) {
	case 0, 1:
		t.give(ctx, s, "desk")
		t.give(ctx, s, "day", "hour")
	case 2, 3:
		t.atOnce(func(s *speaker) { t.give(ctx, s, "day", "desk") }, func(s *speaker) { t.give(ctx, s, "hour") })
	case 4:
		t.give(ctx, s, "day", "hour")
		t.atOnce(func(s *speaker) { t.give(ctx, s, "desk") }, func(s *speaker) { t.giveAll(ctx, s, map[string]string{"desk": t.value("other")}) })
	case 5:
		t.give(ctx, s, "day") // and nobody knows the rest
		return
	case 6:
		t.give(ctx, s, "hour")
		t.end(ctx, s)
	case 7:
		t.give(ctx, s, "day", "desk")
		t.atOnce(func(s *speaker) { t.give(ctx, s, "hour") }, func(s *speaker) { t.end(ctx, s) })
	}
	t.follow(ctx)
}

// beginTask calls the tool with some of the values at most; nil where that is no task. Half of the
// agents are in a session, and most name the task themselves: the others may make another one
// where they were not answered.
func (s *speaker) beginTask(ctx context.Context) *aTask {
	t := &aTask{speaker: s, app: s.app, word: s.id("form")}
	if s.dice.IntN(2) == 0 {
		t.session = s.session
	}
	t.path = sessionPath(t.app, t.session) + "/mcp"
	given, more := map[string]string{}, ""
	if s.dice.IntN(4) == 0 {
		given["hour"] = t.value("hour")
	}
	if s.dice.IntN(4) > 0 {
		more = fmt.Sprintf(`,"earshot/triggerId":%q`, t.word)
	}
	tool := formTools[s.dice.IntN(len(formTools))]
	arguments, _ := json.Marshal(given) // texts always marshal
	body, header := rpcRequest("tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments), more)
	o := s.do(ctx, s.dice, &operation{App: t.app, Session: t.session, ID: t.word, Kind: "task", Expects: tool, Path: t.path, Body: body, Given: given}, http.MethodPost, header...)
	if t.id = taskIn(o.Answer).TaskID; t.id == "" {
		return nil
	}
	return t
}

// give gives the agent's values for parameters.
func (t *aTask) give(ctx context.Context, by *speaker, names ...string) {
	values := map[string]string{}
	for _, name := range names {
		values[name] = t.value(name)
	}
	t.giveAll(ctx, by, values)
}

func (t *aTask) giveAll(ctx context.Context, by *speaker, values map[string]string) {
	var responses []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		responses = append(responses, fmt.Sprintf(`%q:{"action":"accept","content":{%q:%q}}`, name, name, values[name]))
	}
	t.ask(ctx, by, "given", "tasks/update", fmt.Sprintf(`,"inputResponses":{%s}`, strings.Join(responses, ",")), values)
}

// end takes the task back.
func (t *aTask) end(ctx context.Context, by *speaker) {
	t.ask(ctx, by, "ended", "tasks/cancel", "", nil)
}

func (t *aTask) ask(ctx context.Context, by *speaker, kind, method, more string, values map[string]string) {
	body, header := rpcRequest(method, t.id, fmt.Sprintf(`"taskId":%q%s`, t.id, more), "")
	by.do(ctx, by.dice, &operation{App: t.app, Kind: kind, Trigger: t.id, Path: t.path, Body: body, Given: values}, http.MethodPost, header...)
}

// atOnce has several speakers do something at the same time.
func (t *aTask) atOnce(do ...func(*speaker)) {
	var group sync.WaitGroup
	for _, one := range do {
		fork := t.fork()
		group.Go(func() { one(fork) })
	}
	group.Wait()
}

// follow asks for the task until it has ended. One that still asks for values is not asked for
// again: it has all that it is to get.
func (t *aTask) follow(ctx context.Context) {
	body, header := rpcRequest("tasks/get", t.id, fmt.Sprintf(`"taskId":%q`, t.id), "")
	t.do(ctx, t.dice, &operation{
		App: t.app, Kind: "followed", Trigger: t.id, Path: t.path, Body: body,
		sound: func(answer string) error {
			if taskIn(answer).Status == "working" {
				wait(ctx, 100*time.Millisecond)
				return errors.New("it is under way")
			}
			return nil
		},
	}, http.MethodPost, header...)
}

// lookAtTasks asks for every task that was accepted, when all is quiet.
func (c *clients) lookAtTasks(ctx context.Context) map[string]taskSeen {
	all := map[string]taskSeen{}
	for i, o := range c.done {
		id := taskIn(o.Answer).TaskID
		if o.Kind != "task" || id == "" {
			continue
		}
		body, header := rpcRequest("tasks/get", id, fmt.Sprintf(`"taskId":%q`, id), "")
		url := c.world.replicas[i%len(c.world.replicas)].url()
		if _, answer, err := c.ask(ctx, url+o.Path, http.MethodPost, body, header...); err == nil {
			all[id] = taskIn(answer)
		}
	}
	return all
}
