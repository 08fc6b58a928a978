package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"earshot/deploy/testbed"
)

// Actions of agents that call a tool without its values, and give them when they are asked: such a call
// is a task from the first moment on (MCP, revision 2026-07-28, with the extension for tasks). Each
// value begins with a word of its task, which no other has.

// formTools are the tools of which values are missing. Both need all of formValues.
var (
	formTools  = []string{"form", "form-busy"}
	formValues = []string{"day", "desk", "hour"}
)

// taskStatus is a task as an agent is shown it.
type taskStatus struct {
	ResultType, TaskID, Status string
	InputRequests              map[string]json.RawMessage
	Result                     json.RawMessage
}

func taskIn(answer string) (t taskStatus) {
	var wrapped struct{ Result taskStatus }
	_ = json.Unmarshal([]byte(answer), &wrapped) // what cannot be read is no task
	return wrapped.Result
}

// task is one that a client follows.
type task struct{ app, id, word, path string }

// value is what the agent gives for a parameter.
func (t *task) value(parameter string) string { return t.word + "." + parameter }

// fill has an agent call a tool without its values, and give them: one after the other, several at once,
// differently at the same time, or not all of them.
func (c *client) fill() {
	t := c.beginTask()
	if t == nil {
		return // the books will tell
	}
	giving := func(names ...string) func(*client) { return func(c *client) { c.give(t, names...) } }
	switch c.dice.IntN(8) {
	case 0, 1:
		c.give(t, "desk")
		c.give(t, "day", "hour")
	case 2, 3:
		c.atOnce(giving("day", "desk"), giving("hour"))
	case 4:
		c.give(t, "day", "hour")
		c.atOnce(giving("desk"), func(c *client) { c.giveAll(t, map[string]string{"desk": t.value("other")}) })
	case 5:
		c.give(t, "day") // and nobody knows the rest
		return
	case 6:
		c.give(t, "hour")
		c.askAbout(t, "ended", "tasks/cancel", "", nil)
	case 7:
		c.give(t, "day", "desk")
		c.atOnce(giving("hour"), func(c *client) { c.askAbout(t, "ended", "tasks/cancel", "", nil) })
	}
	c.follow(t)
}

// beginTask calls the tool with some of the values at most; nil if that is no task. Half of the agents
// are in a session, and most name the task themselves: the others may make another one if they were not
// answered.
func (c *client) beginTask() *task {
	session, word := "", c.id("form")
	if c.dice.IntN(2) == 0 {
		session = c.session
	}
	t := &task{app: c.app, word: word, path: pathOf(c.app, session) + "/mcp"}
	given, more := map[string]string{}, ""
	if c.dice.IntN(4) == 0 {
		given["hour"] = t.value("hour")
	}
	if c.dice.IntN(4) > 0 {
		more = fmt.Sprintf(`"earshot/triggerId":%q`, word)
	}
	tool := formTools[c.dice.IntN(len(formTools))]
	arguments, _ := json.Marshal(given) // texts always marshal
	body, header := testbed.RPC("tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments), more)
	o := c.do(http.MethodPost, &operation{App: c.app, Session: session, ID: word, Kind: "task", Expects: tool, Path: t.path, Body: body, Given: given}, header...)
	if t.id = taskIn(o.Answer).TaskID; t.id == "" {
		return nil
	}
	return t
}

// give gives the agent's values for parameters.
func (c *client) give(t *task, names ...string) {
	values := map[string]string{}
	for _, name := range names {
		values[name] = t.value(name)
	}
	c.giveAll(t, values)
}

func (c *client) giveAll(t *task, values map[string]string) {
	var responses []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		responses = append(responses, fmt.Sprintf(`%q:{"action":"accept","content":{%q:%q}}`, name, name, values[name]))
	}
	c.askAbout(t, "given", "tasks/update", fmt.Sprintf(`,"inputResponses":{%s}`, strings.Join(responses, ",")), values)
}

func (c *client) askAbout(t *task, kind, method, more string, values map[string]string) {
	body, header := testbed.RPC(method, t.id, fmt.Sprintf(`"taskId":%q%s`, t.id, more), "")
	c.do(http.MethodPost, &operation{App: t.app, Kind: kind, Trigger: t.id, Path: t.path, Body: body, Given: values}, header...)
}

// follow asks for the task until it has ended. One that still asks for values is not asked for again: it
// has all that it is to get.
func (c *client) follow(t *task) {
	body, header := testbed.RPC("tasks/get", t.id, fmt.Sprintf(`"taskId":%q`, t.id), "")
	c.do(http.MethodPost, &operation{
		App: t.app, Kind: "followed", Trigger: t.id, Path: t.path, Body: body,
		sound: func(answer string) error {
			if taskIn(answer).Status == "working" {
				wait(c.ctx, 100*time.Millisecond)
				return errors.New("it is under way")
			}
			return nil
		},
	}, header...)
}

// lookAtTasks asks for every task that was accepted, when all is quiet.
func (b *books) lookAtTasks() map[string]taskStatus {
	all := map[string]taskStatus{}
	for i, o := range b.done {
		id := taskIn(o.Answer).TaskID
		if o.Kind != "task" || id == "" {
			continue
		}
		body, header := testbed.RPC("tasks/get", id, fmt.Sprintf(`"taskId":%q`, id), "")
		if answer, err := b.send(b.system.ctx, i%replicas, http.MethodPost, o.Path, body, header...); err == nil {
			all[id] = taskIn(string(answer.Body))
		}
	}
	return all
}

// chatTools are the tools that a model calls in chats.
var chatTools = []string{"note", "book", "lookup", "charge"}

// chatSuffix ends the names of the sessions of chats: nothing else is said in them.
const chatSuffix = "-chat"

// chat says something to the model, whose endpoint listens and carries its calls out: whole or as a
// stream, of one message or of two, and sometimes twice at the same time, as a client does that gives up
// too soon. The model may refuse at first, or call for something else when it is asked again.
func (c *client) chat() {
	tool, word := chatTools[c.dice.IntN(len(chatTools))], []string{"flaky ", "fickle ", "", ""}[c.dice.IntN(4)]
	text := func() string { return fmt.Sprintf(`call %s {"day":"%s%s"}`, tool, word, c.id("chat")) }
	streams := c.dice.IntN(2) == 0
	conversation := []object{{"role": "user", "content": text()}}
	goOn := func(c *client) {
		o := c.converse(tool, conversation, streams)
		if c.dice.IntN(3) > 0 || o.Status != http.StatusOK {
			return
		}
		c.converse(tool, append(conversation, object{"role": "assistant", "content": contentOf(o.Answer)}, object{"role": "user", "content": text()}), streams)
	}
	if c.dice.IntN(3) > 0 {
		goOn(c)
		return
	}
	c.atOnce(goOn, func(c *client) { c.converse(tool, conversation, streams) })
}

// converse asks for the completion of a conversation until it has one.
func (c *client) converse(tool string, conversation []object, streams bool) *operation {
	body, _ := json.Marshal(object{"model": "scripted", "stream": streams, "messages": conversation}) // plain values always marshal
	session := c.session + chatSuffix
	return c.do(http.MethodPost, &operation{
		App: c.app, Session: session, Kind: "chat", Expects: tool, Path: pathOf(c.app, session) + "/openai/v1/chat/completions", Body: string(body), sound: carriedOut,
	})
}

// carriedOut says why a completion is none yet: it has no end, or the model was told that a call was not
// carried out.
func carriedOut(answer string) error {
	text, is := strings.CutPrefix(contentOf(answer), reported)
	var result struct{ Status, Error string }
	switch {
	case !is || json.Unmarshal([]byte(text), &result) != nil:
		return errors.New("it has no result of a tool")
	case result.Status == "": // a call that has failed has its status
		return errors.New("a call was not carried out: " + result.Error)
	}
	return nil
}

// contentOf is what the model has said in the end; empty if the answer broke off.
func contentOf(answer string) string {
	type words struct{ Content string }
	wordsOf := func(text string) string {
		var one struct {
			Choices []struct{ Message, Delta words }
			Error   any
		}
		if json.Unmarshal([]byte(text), &one) != nil || len(one.Choices) == 0 || one.Error != nil {
			return ""
		}
		return one.Choices[0].Message.Content + one.Choices[0].Delta.Content
	}
	if !strings.HasPrefix(answer, "data:") {
		return wordsOf(answer)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(strings.NewReader(answer)); lines.Scan(); {
		data := strings.TrimPrefix(lines.Text(), "data: ")
		if data == "[DONE]" {
			return said.String()
		}
		said.WriteString(wordsOf(data))
	}
	return ""
}
