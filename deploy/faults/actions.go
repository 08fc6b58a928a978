package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/deploy/testbed"
)

// action is a kind of operation with how often it comes.
type action struct {
	weight int
	do     func(*client)
}

func saying(weight int, tool string) action {
	return action{weight, func(c *client) { c.say(tool, "call "+tool+` {"day":"monday"}`) }}
}

func direct(weight int, tool string) action {
	return action{weight, func(c *client) { c.fire(c.session, tool) }}
}

// basic are messages, direct triggers, and changes of what is registered.
var basic = []action{
	saying(28, "note"), saying(16, "book"), saying(6, "order"), saying(2, "hang"), saying(1, "drip"), saying(1, "giga"),
	saying(6, "charge"), direct(4, "charge"), saying(1, "pledge"),
	{6, func(c *client) { c.say("", "what a day") }},
	{5, func(c *client) { c.say("", `call note {}`) }},
	{4, func(c *client) { c.say("note", fmt.Sprintf(`call note {"day":"flaky %s"}`, c.id("f"))) }}, // the model has no answer at first
	{3, (*client).agent}, direct(10, "book"), {5, func(c *client) { c.fire("", "note") }}, {6, (*client).contend}, {3, (*client).reform},
	{4, func(c *client) {
		o := c.sayIn(c.session+"-later", "note", `call note {"day":"later"}`, false, "Prefer", "respond-async")
		o.Kind = "later"
	}},
	{5, func(c *client) {
		if risky, is := c.say("risky", `call risky {"day":"monday"}`).only(); is {
			c.do(http.MethodPost, &operation{App: c.app, Kind: "retry", Path: pathOf(c.app, "") + "/triggers/" + risky.TriggerID + "/retry"})
		}
	}},
	{6, func(c *client) { // by MCP, whose answer is wrapped
		id := c.id("d")
		c.do(http.MethodPost, &operation{
			App: c.app, Session: c.session, ID: id, Kind: "direct", Expects: "note", Ordered: true, Path: pathOf(c.app, c.session) + "/mcp",
			Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note","arguments":{"day":"monday"},"_meta":{"earshot/triggerId":%q}}}`, id),
		})
	}},
	{3, func(c *client) {
		session := c.id("visit")
		c.register(session, "own", `{"tools":[{"name":"own"}]}`)
		c.sayIn(session, "own", `call own {}`, false)
		c.do(http.MethodDelete, &operation{App: c.app, Kind: "close", Path: pathOf(c.app, session)})
	}},
}

// What only a draft says must never be done.
const (
	interim = `call book {"day":"interim"}`
	final   = `call note {"day":"monday"}`
)

// keptFor is how long a draft is certainly kept.
const keptFor = 45 * time.Second

// turns concern triggers that are held, taken back, answered or duplicates, and messages that may still change.
var turns = []action{
	{6, (*client).settle}, {5, (*client).interrupt}, {3, func(c *client) { c.same(6) }}, {3, (*client).guard}, {6, (*client).ask}, saying(1, "mute"),
	// A draft grows, and is decided or taken back. After a failed attempt an older text may arrive late.
	{10, func(c *client) {
		id, path, sure, begun := c.id("m"), pathOf(c.app, c.session)+"/messages", true, time.Now()
		post := func(kind, text string, is bool) {
			o := &operation{
				App: c.app, Session: c.session, ID: id, Kind: kind, Path: path, Broken: !sure,
				Body: fmt.Sprintf(`{"messageId":%q,"actor":"user","text":%q,"final":%t}`, id, text, is),
			}
			if is {
				o.Expects = "note"
			}
			c.do(http.MethodPost, o)
			sure = sure && !o.Broken
		}
		for _, text := range []string{"I would like", interim, final}[c.dice.IntN(3):] {
			post("draft", text, false)
		}
		o := &operation{App: c.app, Session: c.session, ID: id, Path: path + "/" + id, Broken: !sure}
		switch {
		case c.dice.IntN(4) == 0:
			o.Kind, o.Broken = "taken", o.Broken || time.Since(begun) > keptFor
			c.do(http.MethodDelete, o)
		case sure && time.Since(begun) < keptFor && c.dice.IntN(3) > 0:
			o.Kind, o.Expects, o.Path = "message", "note", o.Path+"/commit"
			c.do(http.MethodPost, o)
		default:
			post("message", final, true)
		}
	}},
	// A confirmation gets yes, no, both, nothing, or a yes to another question. If no message fired the tool, an agent asks first.
	{9, func(c *client) {
		said := c.dice.IntN(4) > 0
		asked, is := c.either(said, "refund").only()
		if !is {
			return
		}
		if !said {
			c.agentSays(fmt.Sprintf(`"text":"may I","metadata":{"asks":%q}`, asked.TriggerID))
		}
		switch c.dice.IntN(8) {
		case 0, 1:
			c.act("confirm", asked.TriggerID, asked.yes(), true)
		case 2:
			c.act("deny", asked.TriggerID, "", true)
		case 3:
			c.plainly("refund", asked.TriggerID, "yes")
		case 4:
			c.plainly("refund", asked.TriggerID, "no")
		case 5:
			c.quarrel(asked)
		case 6:
			c.agentSays(`"text":"would you like our newsletter"`)
			c.say("", "yes")
		}
	}},
}

// agents act by MCP and in chats. Most MCP calls succeed at once: one that keeps failing is skipped for a while.
var agents = []action{
	{4, (*client).fill}, {5, (*client).chat}, saying(7, "lookup"), direct(1, "stuck"), saying(1, "lose"), saying(1, "refuse"), direct(1, "wire"),
}

// plain actions have the same result on every repeat; results of clustered ones are known to be on Redis's replicas.
var (
	everything = slices.Concat(basic, turns, agents, []action{{6, (*client).peek}})
	plain      = []action{
		saying(6, "note"), saying(3, "book"), {2, func(c *client) { c.say("", `call note {}`) }}, direct(2, "book"), {1, (*client).agent},
	}
	clustered = slices.Concat(plain, agents, []action{saying(2, "charge"), {2, (*client).ask}})
)

func (c *client) say(expects, text string) *operation { return c.sayIn(c.session, expects, text, true) }

func (c *client) sayIn(session, expects, text string, ordered bool, header ...string) *operation {
	id := c.id("m")
	body, _ := json.Marshal(map[string]string{"messageId": id, "actor": "user", "text": text}) // strings always marshal
	return c.do(http.MethodPost, &operation{
		App: c.app, Session: session, ID: id, Kind: "message", Expects: expects, Ordered: ordered,
		Path: pathOf(c.app, session) + "/messages", Body: string(body),
	}, header...)
}

func (c *client) fire(session, tool string) *operation {
	return c.fireWith(session, tool, `{"day":"monday"}`, session != "")
}

func (c *client) fireWith(session, tool, values string, ordered bool) *operation {
	id := c.id("d")
	return c.do(http.MethodPost, &operation{
		App: c.app, Session: session, ID: id, Kind: "direct", Expects: tool, Ordered: ordered,
		Path: pathOf(c.app, session) + "/triggers",
		Body: fmt.Sprintf(`{"name":%q,"source":"task","triggerId":%q,"values":%s}`, tool, id, values),
	})
}

// peek fires a tool that changes nothing, some times in a row. It has no id: what is sent again is another.
func (c *client) peek() {
	session := []string{c.session, ""}[c.dice.IntN(2)]
	for range 1 + c.dice.IntN(4) {
		c.do(http.MethodPost, &operation{
			App: c.app, Session: session, Kind: "read", Path: pathOf(c.app, session) + "/triggers", Body: `{"name":"peek","source":"task","values":{"day":"monday"}}`,
		})
	}
}

func (c *client) agent() { c.agentSays(`"text":"how may I help"`) }

func (c *client) agentSays(fields string) {
	id := c.id("a")
	c.do(http.MethodPost, &operation{
		App: c.app, Session: c.session, ID: id, Kind: "message", Path: pathOf(c.app, c.session) + "/messages",
		Body: fmt.Sprintf(`{"messageId":%q,"actor":"agent",%s}`, id, fields),
	})
}

// contend lets messages and direct triggers compete for a triggerOnce repository, in the session or in the whole app.
func (c *client) contend() {
	name, scope := c.id("once"), c.session+"-once"
	if c.dice.IntN(2) == 0 {
		scope = ""
	}
	c.register(scope, name, fmt.Sprintf(`{"options":{"triggerOnce":true},"tools":[{"name":"%s-a","url":%q},{"name":"%s-b"}]}`, name, c.system.endpointURL+"/ok", name))
	var all []func(*client)
	for i := range 4 {
		session := c.session + "-once"
		if scope == "" {
			session = fmt.Sprintf("%s-once-%d", c.session, i)
		}
		all = append(all, func(c *client) {
			if i%2 == 0 {
				c.sayIn(session, "", "call "+name+"-a {}; "+name+"-b {}", false)
			} else {
				c.fireWith(session, name+"-a", "{}", false)
			}
		})
	}
	c.atOnce(all...)
	c.do(http.MethodDelete, &operation{App: c.app, Session: scope, Kind: "remove", Path: pathOf(c.app, scope) + "/repositories/" + name}) // should it be there again
}

func (c *client) register(session, name, body string) {
	c.do(http.MethodPut, &operation{App: c.app, Session: session, Kind: "register", Expects: name, Path: pathOf(c.app, session) + "/repositories/" + name, Body: body})
}

func (c *client) reform() {
	c.atOnce(func(c *client) {
		for range 3 {
			c.register(c.session, "own", `{"tools":[{"name":"own"}]}`)
		}
	}, func(c *client) {
		c.say("", `call own {}`)
		c.say("", `call own {}`)
	})
}

func (c *client) act(kind, triggerID, body string, alone bool) {
	c.do(http.MethodPost, &operation{
		App: c.app, Kind: kind, Trigger: triggerID, Alone: alone, Body: body, Path: pathOf(c.app, "") + "/triggers/" + triggerID + "/" + kind,
	})
}

type matched struct{ TriggerID, State, Digest string }

func (m matched) yes() string { return fmt.Sprintf(`{"digest":%q}`, m.Digest) }

// only returns the one match of an answer; the books judge any other answer.
func (o *operation) only() (m matched, is bool) {
	var answer struct {
		matched
		Matches []matched
	}
	switch {
	case json.Unmarshal([]byte(o.Answer), &answer) != nil:
	case o.Kind == "direct":
		return answer.matched, o.Status < 300
	case len(answer.Matches) == 1:
		return answer.Matches[0], true
	}
	return m, false
}

func (c *client) either(said bool, tool string) *operation {
	if said {
		return c.say(tool, "call "+tool+` {"day":"monday"}`)
	}
	return c.fire(c.session, tool)
}

// settle fires a tool that can be taken back for 300 ms, and may cancel it at about the moment when it takes effect.
func (c *client) settle() {
	lamp, is := c.either(c.dice.IntN(2) == 0, "lamp").only()
	if !is || c.dice.IntN(3) == 0 {
		return
	}
	testbed.Wait(c.ctx, time.Duration(c.dice.IntN(400))*time.Millisecond)
	c.act("cancel", lamp.TriggerID, "", false)
}

func (c *client) interrupt() {
	c.say("mail", `call mail {"day":"monday"}`)
	if c.dice.IntN(3) == 0 {
		testbed.Wait(c.ctx, time.Duration(500+c.dice.IntN(600))*time.Millisecond)
	}
	c.say("", "what a day")
}

func (c *client) plainly(tool, triggerID, word string) {
	o := c.say(tool, word)
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Trigger, o.Consent = triggerID, word
}

func (c *client) quarrel(asked matched) {
	c.atOnce(
		func(c *client) { c.act("confirm", asked.TriggerID, asked.yes(), false) },
		func(c *client) { c.act("deny", asked.TriggerID, "", false) },
		func(c *client) { c.act("cancel", asked.TriggerID, "", false) },
		func(c *client) { c.plainly("", asked.TriggerID, "yes") },
	)
}

func (c *client) same(many int) {
	values := fmt.Sprintf(`{"day":%q}`, c.id("equal"))
	var all []func(*client)
	for i := range many {
		session := fmt.Sprintf("%s-same-%d", c.session, i%8)
		all = append(all, func(c *client) {
			if i%2 == 0 {
				c.sayIn(session, "alarm", "call alarm "+values, false)
			} else {
				c.fireWith(session, "alarm", values, false)
			}
		})
	}
	c.atOnce(all...)
}

func (c *client) guard() {
	values, words := fmt.Sprintf(`{"day":%q}`, c.id("equal")), []string{"no", "yes", "yes"}
	for _, word := range words[c.dice.IntN(2):] {
		asked, is := c.say("guard", "call guard "+values).only()
		if !is || asked.State != "confirming" {
			continue
		}
		c.say("guard", "call guard "+values)
		if word == "no" {
			c.act("deny", asked.TriggerID, "", true)
		} else {
			c.act("confirm", asked.TriggerID, asked.yes(), true)
		}
	}
}

// ackLimit bounds the wait for an acknowledgement of the stream, which a killed server never sends.
const ackLimit = 5 * time.Second

func (c *client) ask() {
	asked, is := c.say("ask", `call ask {"day":"monday"}`).only()
	if !is {
		return
	}
	for range 1 + c.dice.IntN(2) {
		body := fmt.Sprintf(`{"ok":true,"result":{"page":%q}}`, c.id("page"))
		if c.dice.IntN(2) == 0 {
			c.act("answer", asked.TriggerID, body, true)
			continue
		}
		// On NATS it is published until the stream has it, under one id.
		o := &operation{App: c.app, ID: c.id("p"), Kind: "published", Trigger: asked.TriggerID, Body: body}
		err := testbed.Until(c.ctx, stubborn, func(ctx context.Context) error {
			attempt, end := context.WithTimeout(ctx, ackLimit)
			defer end()
			_, err := c.system.js.Publish(attempt, "answer."+c.app+"."+asked.TriggerID, []byte(body), jetstream.WithMsgID(o.ID))
			return err
		})
		if err != nil {
			o.Answer = err.Error()
			c.keep(&c.lost, o)
			continue
		}
		o.Status = http.StatusOK
		c.keep(&c.done, o)
	}
}

// formTools lack values: a call of one is a task at once (MCP 2026-07-28). Both need all of formValues.
var (
	formTools  = []string{"form", "form-busy"}
	formValues = []string{"day", "desk", "hour"}
)

type taskStatus struct {
	ResultType, TaskID, Status string
	InputRequests              map[string]json.RawMessage
}

func taskIn(answer string) (t taskStatus) {
	var wrapped struct{ Result taskStatus }
	_ = json.Unmarshal([]byte(answer), &wrapped) // what cannot be read is no task
	return wrapped.Result
}

type task struct{ app, id, word, path string }

// fill calls a tool without all values, and then gives more. Half of the agents are in a session; most name the task themselves.
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

// chat speaks to the model in act, sometimes twice at once. The model may refuse at first, or change its values on a repeat.
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
