package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"earshot/deploy/testbed"
)

// formTools lack values: a call of one is a task at once (MCP 2026-07-28). Both need all of formValues.
var (
	formTools  = []string{"form", "form-busy"}
	formValues = []string{"day", "desk", "hour"}
)

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

type task struct{ app, id, word, path string }

// fill calls the tool with at most some of the values, and then gives more of them. Half of the agents are in a session,
// and most name the task themselves.
func (c *client) fill() {
	session, word := "", c.id("form")
	if c.dice.IntN(2) == 0 {
		session = c.session
	}
	t := &task{app: c.app, word: word, path: pathOf(c.app, session) + "/mcp"}
	given, more := map[string]string{}, ""
	if c.dice.IntN(4) == 0 {
		given["hour"] = word + ".hour"
	}
	if c.dice.IntN(4) > 0 {
		more = fmt.Sprintf(`"earshot/triggerId":%q`, word)
	}
	tool := formTools[c.dice.IntN(len(formTools))]
	arguments, _ := json.Marshal(given) // texts always marshal
	body, header := testbed.RPC("tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments), more)
	o := c.do(http.MethodPost, &operation{App: c.app, Session: session, ID: word, Kind: "task", Expects: tool, Path: t.path, Body: body, Given: given}, header...)
	if t.id = taskIn(o.Answer).TaskID; t.id == "" {
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
		c.atOnce(giving("desk"), giving("desk=other"))
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
	c.askAbout(t, "followed", "tasks/get", "", nil)
}

// give answers what a task asks for. A value is the parameter's name behind the task's word, or another name.
func (c *client) give(t *task, names ...string) {
	values, responses := map[string]string{}, []string{}
	for _, given := range names {
		name, other, _ := strings.Cut(given, "=")
		values[name] = t.word + "." + cmp.Or(other, name)
		responses = append(responses, fmt.Sprintf(`%q:{"action":"accept","content":{%q:%q}}`, name, name, values[name]))
	}
	c.askAbout(t, "given", "tasks/update", fmt.Sprintf(`,"inputResponses":{%s}`, strings.Join(responses, ",")), values)
}

func (c *client) askAbout(t *task, kind, method, more string, values map[string]string) {
	body, header := testbed.RPC(method, t.id, fmt.Sprintf(`"taskId":%q%s`, t.id, more), "")
	o := &operation{App: t.app, Kind: kind, Trigger: t.id, Path: t.path, Body: body, Given: values}
	o.sound = func(answer string) error {
		if kind == "followed" && taskIn(answer).Status == "working" { // until it has ended, or asks for values
			testbed.Wait(c.ctx, 100*time.Millisecond)
			return errors.New("it is under way")
		}
		return nil
	}
	c.do(http.MethodPost, o, header...)
}

var chatTools = []string{"note", "book", "lookup", "charge"}

// chatSuffix ends the names of the sessions of chats, which have no other messages.
const chatSuffix = "-chat"

// chat says something to the model in act, sometimes twice at the same time. The model may refuse at first, or call
// with other values when it is asked again.
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

func (c *client) converse(tool string, conversation []object, streams bool) *operation {
	body, _ := json.Marshal(object{"model": "scripted", "stream": streams, "messages": conversation}) // plain values always marshal
	session := c.session + chatSuffix
	return c.do(http.MethodPost, &operation{
		App: c.app, Session: session, Kind: "chat", Expects: tool, Path: pathOf(c.app, session) + "/openai/v1/chat/completions", Body: string(body),
		sound: func(answer string) error {
			text, is := strings.CutPrefix(contentOf(answer), reported)
			var result struct{ Status, Error string }
			switch {
			case !is || json.Unmarshal([]byte(text), &result) != nil:
				return errors.New("it has no result of a tool")
			case result.Status == "": // a call that has failed has its status
				return errors.New("a call was not carried out: " + result.Error)
			}
			return nil
		},
	})
}

// contentOf returns the text of a completion; empty if the answer broke off.
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
