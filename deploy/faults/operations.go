package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// apps are the tenants of a world. Everything that is done is done in one of them.
var apps = []string{"clinic", "museum"}

// speaker is a client with a session that is its own.
type speaker struct {
	*clients
	app, session string
	dice         *rand.Rand
}

// deed is a kind of operation with how often it comes.
type deed struct {
	weight int
	do     func(*speaker, context.Context)
}

var deeds = []deed{
	{28, func(s *speaker, ctx context.Context) { s.say(ctx, "note", `call note {"day":"monday"}`) }},
	{16, func(s *speaker, ctx context.Context) { s.say(ctx, "book", `call book {"day":"monday"}`) }},
	{6, func(s *speaker, ctx context.Context) { s.say(ctx, "order", `call order {"day":"monday"}`) }},
	{5, (*speaker).dare},
	{2, func(s *speaker, ctx context.Context) { s.say(ctx, "hang", `call hang {"day":"monday"}`) }},
	{1, func(s *speaker, ctx context.Context) { s.say(ctx, "drip", `call drip {"day":"monday"}`) }},
	{1, func(s *speaker, ctx context.Context) { s.say(ctx, "giga", `call giga {"day":"monday"}`) }},
	{6, func(s *speaker, ctx context.Context) { s.say(ctx, "charge", `call charge {"day":"monday"}`) }},
	{4, func(s *speaker, ctx context.Context) { s.fire(ctx, s.session, "charge") }},
	{1, func(s *speaker, ctx context.Context) { s.say(ctx, "pledge", `call pledge {"day":"monday"}`) }},
	{6, func(s *speaker, ctx context.Context) { s.say(ctx, "", "what a day") }},
	{5, func(s *speaker, ctx context.Context) { s.say(ctx, "", `call note {}`) }},
	{4, (*speaker).flaky},
	{4, (*speaker).later},
	{3, (*speaker).agent},
	{10, func(s *speaker, ctx context.Context) { s.fire(ctx, s.session, "book") }},
	{5, func(s *speaker, ctx context.Context) { s.fire(ctx, "", "note") }},
	{6, (*speaker).call},
	{6, (*speaker).contend},
	{3, (*speaker).visit},
	{3, (*speaker).reform},
}

// agents are deeds by MCP and in chats, and those that an MCP server carries out. Most calls of that
// one go well at once: a server that failed time and again would be left alone for some time.
var agents = []deed{
	{4, (*speaker).fill},
	{5, (*speaker).chat},
	{7, func(s *speaker, ctx context.Context) { s.say(ctx, "lookup", `call lookup {"day":"monday"}`) }},
	{1, func(s *speaker, ctx context.Context) { s.fire(ctx, s.session, "stuck") }},
	{1, func(s *speaker, ctx context.Context) { s.say(ctx, "lose", `call lose {"day":"monday"}`) }},
	{1, func(s *speaker, ctx context.Context) { s.say(ctx, "refuse", `call refuse {"day":"monday"}`) }},
	{1, func(s *speaker, ctx context.Context) { s.fire(ctx, s.session, "wire") }},
}

// everything is all deeds.
var everything = slices.Concat(deeds, turns, agents)

// speak does one deed after the other until ctx ends. What was begun is finished.
func (s *speaker) speak(ctx, patient context.Context, mix []deed) {
	total := 0
	for _, d := range mix {
		total += d.weight
	}
	for ctx.Err() == nil {
		at := s.dice.IntN(total)
		for _, d := range mix {
			if at -= d.weight; at < 0 {
				d.do(s, patient)
				break
			}
		}
		wait(ctx, time.Duration(s.dice.IntN(40))*time.Millisecond)
	}
}

func sessionPath(app, session string) string {
	if session == "" {
		return "/v1/apps/" + app
	}
	return "/v1/apps/" + app + "/sessions/" + session
}

// say posts a message that calls for a tool, or for none.
func (s *speaker) say(ctx context.Context, expects, text string) *operation {
	return s.sayIn(ctx, s.session, expects, text, true)
}

func (s *speaker) sayIn(ctx context.Context, session, expects, text string, ordered bool, header ...string) *operation {
	id := s.id("m")
	body, _ := json.Marshal(map[string]string{"messageId": id, "actor": "user", "text": text}) // strings always marshal
	return s.do(ctx, s.dice, &operation{
		App: s.app, Session: session, ID: id, Kind: "message", Expects: expects, Ordered: ordered,
		Path: sessionPath(s.app, session) + "/messages", Body: string(body),
	}, http.MethodPost, header...)
}

// fire sets a tool off without the model; in the app if there is no session.
func (s *speaker) fire(ctx context.Context, session, tool string) *operation {
	return s.fireAs(ctx, s.dice, session, tool, `{"day":"monday"}`, session != "")
}

func (s *speaker) fireAs(ctx context.Context, dice *rand.Rand, session, tool, values string, ordered bool) *operation {
	id := s.id("d")
	return s.do(ctx, dice, &operation{
		App: s.app, Session: session, ID: id, Kind: "direct", Expects: tool, Ordered: ordered,
		Path: sessionPath(s.app, session) + "/triggers",
		Body: fmt.Sprintf(`{"name":%q,"source":"task","triggerId":%q,"values":%s}`, tool, id, values),
	}, http.MethodPost)
}

// call has an agent call a tool by MCP, under an id of its own: a direct trigger, whose answer
// is wrapped.
func (s *speaker) call(ctx context.Context) {
	id := s.id("d")
	s.do(ctx, s.dice, &operation{
		App: s.app, Session: s.session, ID: id, Kind: "direct", Expects: "note", Ordered: true, Path: sessionPath(s.app, s.session) + "/mcp",
		Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note","arguments":{"day":"monday"},"_meta":{"earshot/triggerId":%q}}}`, id),
	}, http.MethodPost)
}

// flaky says something to which the model has no answer at first.
func (s *speaker) flaky(ctx context.Context) {
	s.say(ctx, "note", fmt.Sprintf(`call note {"day":"flaky %s"}`, s.id("f")))
}

// later posts a message without waiting for what comes of it.
func (s *speaker) later(ctx context.Context) {
	o := s.sayIn(ctx, s.session+"-later", "note", `call note {"day":"later"}`, false, "Prefer", "respond-async")
	o.Kind = "later"
}

func (s *speaker) agent(ctx context.Context) { s.agentSays(ctx, `"text":"how may I help"`) }

// agentSays posts a message of an agent, with these fields.
func (s *speaker) agentSays(ctx context.Context, fields string) {
	id := s.id("a")
	s.do(ctx, s.dice, &operation{
		App: s.app, Session: s.session, ID: id, Kind: "message", Path: sessionPath(s.app, s.session) + "/messages",
		Body: fmt.Sprintf(`{"messageId":%q,"actor":"agent",%s}`, id, fields),
	}, http.MethodPost)
}

// dare has a call fail for good, and retries it by hand.
func (s *speaker) dare(ctx context.Context) {
	o := s.say(ctx, "risky", `call risky {"day":"monday"}`)
	var answer struct{ Matches []struct{ TriggerID string } }
	if json.Unmarshal([]byte(o.Answer), &answer) != nil || len(answer.Matches) == 0 {
		return // the books will tell
	}
	s.do(ctx, s.dice, &operation{
		App: s.app, Kind: "retry", Path: sessionPath(s.app, "") + "/triggers/" + answer.Matches[0].TriggerID + "/retry",
	}, http.MethodPost)
}

// contend registers a repository that fires once, and lets messages and direct
// triggers go for it at the same time, in the session or in the whole app.
func (s *speaker) contend(ctx context.Context) {
	name, scope := s.id("once"), s.session+"-once"
	if s.dice.IntN(2) == 0 {
		scope = ""
	}
	s.put(ctx, scope, name, s.world.once(name))
	var group sync.WaitGroup
	for i := range 4 {
		fork := &speaker{s.clients, s.app, s.session, rand.New(rand.NewPCG(s.dice.Uint64(), 0))}
		session := fmt.Sprintf("%s-once", s.session)
		if scope == "" {
			session = fmt.Sprintf("%s-once-%d", s.session, i)
		}
		group.Go(func() {
			if i%2 == 0 {
				fork.sayIn(ctx, session, "", "call "+name+"-a {}; "+name+"-b {}", false)
				return
			}
			fork.fireAs(ctx, fork.dice, session, name+"-a", "{}", false)
		})
	}
	group.Wait()
	s.remove(ctx, scope, name) // should it be there again
}

// visit opens a session with a repository of its own, uses it, and closes it.
func (s *speaker) visit(ctx context.Context) {
	session := s.id("visit")
	s.put(ctx, session, "own", `{"tools":[{"name":"own"}]}`)
	s.sayIn(ctx, session, "own", `call own {}`, false)
	s.do(ctx, s.dice, &operation{App: s.app, Kind: "close", Path: sessionPath(s.app, session)}, http.MethodDelete)
}

// reform changes a repository while its tools are called for.
func (s *speaker) reform(ctx context.Context) {
	fork := &speaker{s.clients, s.app, s.session, rand.New(rand.NewPCG(s.dice.Uint64(), 0))}
	var group sync.WaitGroup
	group.Go(func() {
		for range 3 {
			fork.put(ctx, s.session, "own", `{"tools":[{"name":"own"}]}`)
		}
	})
	s.say(ctx, "", `call own {}`)
	s.say(ctx, "", `call own {}`)
	group.Wait()
}

// put registers a repository in a session, or in the app.
func (s *speaker) put(ctx context.Context, session, name, body string) {
	s.do(ctx, s.dice, &operation{
		App: s.app, Session: session, Kind: "register", Expects: name, Path: sessionPath(s.app, session) + "/repositories/" + name, Body: body,
	}, http.MethodPut)
}

func (s *speaker) remove(ctx context.Context, session, name string) {
	s.do(ctx, s.dice, &operation{
		App: s.app, Session: session, Kind: "remove", Path: sessionPath(s.app, session) + "/repositories/" + name,
	}, http.MethodDelete)
}
