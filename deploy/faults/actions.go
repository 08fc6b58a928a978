package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// action is a kind of operation with how often it comes.
type action struct {
	weight int
	do     func(*client)
}

// saying is the action of saying what calls for a tool on monday.
func saying(weight int, tool string) action {
	return action{weight, func(c *client) { c.say(tool, "call "+tool+` {"day":"monday"}`) }}
}

// direct is the action of firing a tool without the model.
func direct(weight int, tool string) action {
	return action{weight, func(c *client) { c.fire(c.session, tool) }}
}

// basic are messages, direct triggers, and changes of what is registered.
var basic = []action{
	saying(28, "note"), saying(16, "book"), saying(6, "order"), {5, (*client).dare}, saying(2, "hang"), saying(1, "drip"), saying(1, "giga"),
	saying(6, "charge"), direct(4, "charge"), saying(1, "pledge"),
	{6, func(c *client) { c.say("", "what a day") }},
	{5, func(c *client) { c.say("", `call note {}`) }},
	{4, func(c *client) { c.say("note", fmt.Sprintf(`call note {"day":"flaky %s"}`, c.id("f"))) }}, // the model has no answer at first
	{4, (*client).later}, {3, (*client).agent},
	direct(10, "book"), {5, func(c *client) { c.fire("", "note") }},
	{6, (*client).call}, {6, (*client).contend}, {3, (*client).visit}, {3, (*client).reform},
}

// turns are about triggers that are held, taken back, answered, or stand for nothing, and about messages
// that may still change. What was said comes from outside; a client that asked twice and is told no
// cannot tell which of the two it was.
var turns = []action{
	{10, (*client).draft}, {6, (*client).settle}, {5, (*client).interrupt}, {9, (*client).consent},
	{3, func(c *client) { c.same(6) }}, {3, (*client).guard}, {6, (*client).ask}, saying(1, "mute"),
}

// agents are actions by MCP and in chats, and those that an MCP server carries out. Most calls of that
// one go well at once: a server that failed time and again would be left alone for some time.
var agents = []action{
	{4, (*client).fill}, {5, (*client).chat}, saying(7, "lookup"), direct(1, "stuck"), saying(1, "lose"), saying(1, "refuse"), direct(1, "wire"),
}

// everything is all actions; plain are those that come to the same whenever they are done, and clustered
// those of which Redis's replicas are known to have what was answered.
var (
	everything = slices.Concat(basic, turns, agents)
	plain      = []action{
		saying(6, "note"), saying(3, "book"), {2, func(c *client) { c.say("", `call note {}`) }}, direct(2, "book"), {1, (*client).agent},
	}
	clustered = slices.Concat(plain, agents, []action{saying(2, "charge"), {2, (*client).ask}})
)

// say posts a message that calls for a tool, or for none.
func (c *client) say(expects, text string) *operation {
	return c.sayIn(c.session, expects, text, true)
}

func (c *client) sayIn(session, expects, text string, ordered bool, header ...string) *operation {
	id := c.id("m")
	body, _ := json.Marshal(map[string]string{"messageId": id, "actor": "user", "text": text}) // strings always marshal
	return c.do(http.MethodPost, &operation{
		App: c.app, Session: session, ID: id, Kind: "message", Expects: expects, Ordered: ordered,
		Path: pathOf(c.app, session) + "/messages", Body: string(body),
	}, header...)
}

// fire sets a tool off without the model; in the app if there is no session.
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

// call has an agent call a tool by MCP, under an id of its own: a direct trigger, whose answer is
// wrapped.
func (c *client) call() {
	id := c.id("d")
	c.do(http.MethodPost, &operation{
		App: c.app, Session: c.session, ID: id, Kind: "direct", Expects: "note", Ordered: true, Path: pathOf(c.app, c.session) + "/mcp",
		Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note","arguments":{"day":"monday"},"_meta":{"earshot/triggerId":%q}}}`, id),
	})
}

// later posts a message without waiting for what comes of it.
func (c *client) later() {
	o := c.sayIn(c.session+"-later", "note", `call note {"day":"later"}`, false, "Prefer", "respond-async")
	o.Kind = "later"
}

func (c *client) agent() { c.agentSays(`"text":"how may I help"`) }

// agentSays posts a message of an agent, with these fields.
func (c *client) agentSays(fields string) {
	id := c.id("a")
	c.do(http.MethodPost, &operation{
		App: c.app, Session: c.session, ID: id, Kind: "message", Path: pathOf(c.app, c.session) + "/messages",
		Body: fmt.Sprintf(`{"messageId":%q,"actor":"agent",%s}`, id, fields),
	})
}

// dare has a call fail for good, and retries it by hand.
func (c *client) dare() {
	if risky, is := c.say("risky", `call risky {"day":"monday"}`).only(); is {
		c.do(http.MethodPost, &operation{App: c.app, Kind: "retry", Path: pathOf(c.app, "") + "/triggers/" + risky.TriggerID + "/retry"})
	}
}

// contend registers a repository of which one tool fires, and then it is gone, and lets messages and
// direct triggers go for it at the same time, in the session or in the whole app.
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

// register puts a repository into a session, or into the app.
func (c *client) register(session, name, body string) {
	c.do(http.MethodPut, &operation{App: c.app, Session: session, Kind: "register", Expects: name, Path: pathOf(c.app, session) + "/repositories/" + name, Body: body})
}

// visit opens a session with a repository of its own, uses it, and closes it.
func (c *client) visit() {
	session := c.id("visit")
	c.register(session, "own", `{"tools":[{"name":"own"}]}`)
	c.sayIn(session, "own", `call own {}`, false)
	c.do(http.MethodDelete, &operation{App: c.app, Kind: "close", Path: pathOf(c.app, session)})
}

// reform changes a repository while its tools are called for.
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

// Texts of drafts. What only a draft says must never be done.
const (
	interim = `call book {"day":"interim"}`
	final   = `call note {"day":"monday"}`
)

// keptFor is how long a draft is certainly kept.
const keptFor = 45 * time.Second

// draft says something bit by bit, and decides it or takes it back. If an attempt was cut short, an older
// text may arrive late: then it says what is to be decided.
func (c *client) draft() {
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
}

// act asks for something about a trigger. alone says that nobody else does.
func (c *client) act(kind, triggerID, body string, alone bool) *operation {
	return c.do(http.MethodPost, &operation{
		App: c.app, Kind: kind, Trigger: triggerID, Alone: alone, Body: body, Path: pathOf(c.app, "") + "/triggers/" + triggerID + "/" + kind,
	})
}

// matched is what a message has set off, as far as actions need it.
type matched struct{ TriggerID, State, Digest string }

// yes is the body that confirms it.
func (m matched) yes() string { return fmt.Sprintf(`{"digest":%q}`, m.Digest) }

// only is the one match of an answer; what is not as it should be is left to the books.
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

// either says what calls for a tool, or fires it directly.
func (c *client) either(said bool, tool string) *operation {
	if said {
		return c.say(tool, "call "+tool+` {"day":"monday"}`)
	}
	return c.fire(c.session, tool)
}

// settle fires a tool that can be taken back for 300 ms, and may take it back at about the instant at
// which it takes effect.
func (c *client) settle() {
	lamp, is := c.either(c.dice.IntN(2) == 0, "lamp").only()
	if !is || c.dice.IntN(3) == 0 {
		return
	}
	wait(c.ctx, time.Duration(c.dice.IntN(400))*time.Millisecond)
	c.act("cancel", lamp.TriggerID, "", false)
}

// interrupt fires a tool that the next message takes back.
func (c *client) interrupt() {
	c.say("mail", `call mail {"day":"monday"}`)
	if c.dice.IntN(3) == 0 {
		wait(c.ctx, time.Duration(500+c.dice.IntN(600))*time.Millisecond)
	}
	c.say("", "what a day")
}

// consent fires a tool that waits for a yes, and says yes, no, both, nothing, or yes to something else. If
// no message fired it nobody has heard its question: an agent asks it, so that words count.
func (c *client) consent() {
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
}

// plainly says yes or no in words, and notes which trigger that is about.
func (c *client) plainly(tool, triggerID, word string) {
	o := c.say(tool, word)
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Trigger, o.Consent = triggerID, word
}

// quarrel has a trigger confirmed, denied and cancelled at the same time.
func (c *client) quarrel(asked matched) {
	c.atOnce(
		func(c *client) { c.act("confirm", asked.TriggerID, asked.yes(), false) },
		func(c *client) { c.act("deny", asked.TriggerID, "", false) },
		func(c *client) { c.act("cancel", asked.TriggerID, "", false) },
		func(c *client) { c.plainly("", asked.TriggerID, "yes") },
	)
}

// quarrelsome fires a tool that waits for a yes, and says everything at once.
func (c *client) quarrelsome() {
	if asked, is := c.either(true, "refund").only(); is {
		c.quarrel(asked)
	}
}

// same has many ask for the same at the same time, in sessions of their own.
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

// guard asks for the same again and again, while the first waits for a yes, and when it was denied.
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

// ask fires a tool whose answer is given, over REST or NATS, once or twice.
func (c *client) ask() {
	asked, is := c.say("ask", `call ask {"day":"monday"}`).only()
	if !is {
		return
	}
	for range 1 + c.dice.IntN(2) {
		body := fmt.Sprintf(`{"ok":true,"result":{"page":%q}}`, c.id("page"))
		if c.dice.IntN(2) == 0 {
			c.act("answer", asked.TriggerID, body, true)
		} else {
			c.publish(asked.TriggerID, body)
		}
	}
}

// ackLimit is how long a publisher waits for the stream to say that it has a message. A server that is
// killed never says it; what then was not said in time is published again.
const ackLimit = 5 * time.Second

// publish answers on NATS until the stream has it, under one id, as a careful publisher does.
func (c *client) publish(triggerID, body string) {
	ctx, cancel := context.WithTimeout(c.ctx, stubborn)
	defer cancel()
	o := &operation{App: c.app, ID: c.id("p"), Kind: "published", Trigger: triggerID, Body: body}
	for ctx.Err() == nil {
		attempt, end := context.WithTimeout(ctx, ackLimit)
		_, err := c.system.js.Publish(attempt, "answer."+c.app+"."+triggerID, []byte(body), jetstream.WithMsgID(o.ID))
		end()
		if err == nil {
			o.Status = http.StatusOK
			c.keep(&c.done, o)
			return
		}
		o.Answer = err.Error()
		wait(ctx, 30*time.Millisecond)
	}
	c.keep(&c.lost, o)
}
