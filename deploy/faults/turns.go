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

	"github.com/nats-io/nats.go/jetstream"
)

// Deeds about triggers that are held, taken back, answered, or stand for nothing, and about
// messages that may still change. What was said comes from outside; whoever is told no by a
// client that asked twice cannot tell which of the two it was.

// turns are those deeds.
var turns = []deed{
	{10, (*speaker).draft},
	{6, (*speaker).settle},
	{5, (*speaker).interrupt},
	{9, (*speaker).consent},
	{3, func(s *speaker, ctx context.Context) { s.same(ctx, 6) }},
	{3, (*speaker).guard},
	{6, (*speaker).ask},
	{1, func(s *speaker, ctx context.Context) { s.say(ctx, "mute", `call mute {"day":"monday"}`) }},
}

// Texts of drafts. What only a draft says must never be done.
const (
	interim = `call book {"day":"interim"}`
	final   = `call note {"day":"monday"}`
)

// keptFor is how long a draft is certainly kept.
const keptFor = 45 * time.Second

// draft says something bit by bit, and decides it or takes it back. Where an attempt was cut
// short, an older text may arrive late: then it says what is to be decided.
func (s *speaker) draft(ctx context.Context) {
	id, path, sure, begun := s.id("m"), sessionPath(s.app, s.session)+"/messages", true, time.Now()
	post := func(kind, text string, is bool) *operation {
		o := &operation{
			App: s.app, Session: s.session, ID: id, Kind: kind, Path: path, Broken: !sure,
			Body: fmt.Sprintf(`{"messageId":%q,"actor":"user","text":%q,"final":%t}`, id, text, is),
		}
		if is {
			o.Expects = "note"
		}
		s.do(ctx, s.dice, o, http.MethodPost)
		sure = sure && !o.Broken
		return o
	}
	for _, text := range []string{"I would like", interim, final}[s.dice.IntN(3):] {
		post("draft", text, false)
	}
	o := &operation{App: s.app, Session: s.session, ID: id, Path: path + "/" + id, Broken: !sure}
	switch {
	case s.dice.IntN(4) == 0:
		o.Kind, o.Broken = "taken", o.Broken || time.Since(begun) > keptFor
		s.do(ctx, s.dice, o, http.MethodDelete)
	case sure && time.Since(begun) < keptFor && s.dice.IntN(3) > 0:
		o.Kind, o.Expects, o.Path = "message", "note", o.Path+"/commit"
		s.do(ctx, s.dice, o, http.MethodPost)
	default:
		post("message", final, true)
	}
}

// act asks for something about a trigger. Alone says that nobody else does.
func (s *speaker) act(ctx context.Context, kind, triggerID, body string, alone bool) *operation {
	return s.do(ctx, s.dice, &operation{
		App: s.app, Kind: kind, Trigger: triggerID, Alone: alone, Body: body,
		Path: sessionPath(s.app, "") + "/triggers/" + triggerID + "/" + kind,
	}, http.MethodPost)
}

// fork is the same client with dice of its own, to ask at the same time.
func (s *speaker) fork() *speaker {
	return &speaker{s.clients, s.app, s.session, rand.New(rand.NewPCG(s.dice.Uint64(), 0))}
}

// matched is what a message has set off, as far as deeds need it.
type matched struct{ TriggerID, State, Digest string }

// only is the one match of an answer; what is not as it should be is left to the books.
func (o *operation) only() (matched, bool) {
	var answer struct {
		matched
		Matches []matched
	}
	if json.Unmarshal([]byte(o.Answer), &answer) != nil {
		return matched{}, false
	}
	if o.Kind == "direct" {
		return answer.matched, o.Status < 300
	}
	if len(answer.Matches) != 1 {
		return matched{}, false
	}
	return answer.Matches[0], true
}

// either says what calls for a tool, or fires it directly.
func (s *speaker) either(ctx context.Context, said bool, tool string) *operation {
	if said {
		return s.say(ctx, tool, "call "+tool+` {"day":"monday"}`)
	}
	return s.fire(ctx, s.session, tool)
}

// settle fires a tool that can be taken back for 300 ms, and may take it back at about the
// instant at which it takes effect.
func (s *speaker) settle(ctx context.Context) {
	said := s.dice.IntN(2) == 0
	lamp, is := s.either(ctx, said, "lamp").only()
	if !is || s.dice.IntN(3) == 0 {
		return
	}
	wait(ctx, time.Duration(s.dice.IntN(400))*time.Millisecond)
	s.act(ctx, "cancel", lamp.TriggerID, "", false)
}

// interrupt fires a tool that the next message takes back.
func (s *speaker) interrupt(ctx context.Context) {
	s.say(ctx, "mail", `call mail {"day":"monday"}`)
	if s.dice.IntN(3) == 0 {
		wait(ctx, time.Duration(500+s.dice.IntN(600))*time.Millisecond)
	}
	s.say(ctx, "", "what a day")
}

// consent fires a tool that waits for a yes, and says yes, no, both, nothing, or yes to something
// else. Where no message fired it nobody has heard its question: an agent asks it, so that words count.
func (s *speaker) consent(ctx context.Context) {
	said := s.dice.IntN(4) > 0
	asked, is := s.either(ctx, said, "refund").only()
	if !is {
		return
	}
	if !said {
		s.agentSays(ctx, fmt.Sprintf(`"text":"may I","metadata":{"asks":%q}`, asked.TriggerID))
	}
	yes := fmt.Sprintf(`{"digest":%q}`, asked.Digest)
	switch s.dice.IntN(8) {
	case 0, 1:
		s.act(ctx, "confirm", asked.TriggerID, yes, true)
	case 2:
		s.act(ctx, "deny", asked.TriggerID, "", true)
	case 3:
		s.plainly(ctx, "refund", asked.TriggerID, "yes", true)
	case 4:
		s.plainly(ctx, "refund", asked.TriggerID, "no", true)
	case 5:
		s.quarrel(ctx, asked.TriggerID, yes)
	case 6:
		s.agentSays(ctx, `"text":"would you like our newsletter"`)
		s.say(ctx, "", "yes")
	}
}

// quarrelsome fires a tool that waits for a yes, and says everything at once.
func (s *speaker) quarrelsome(ctx context.Context) {
	if asked, is := s.either(ctx, true, "refund").only(); is {
		s.quarrel(ctx, asked.TriggerID, fmt.Sprintf(`{"digest":%q}`, asked.Digest))
	}
}

// plainly says yes or no in words. Alone says that nobody else answers the question.
func (s *speaker) plainly(ctx context.Context, tool, triggerID, word string, alone bool) {
	if !alone {
		tool = ""
	}
	s.keepConsent(word, s.say(ctx, tool, word), triggerID)
}

// keepConsent notes which trigger an answer in words was about.
func (s *speaker) keepConsent(word string, o *operation, triggerID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Trigger, o.Consent = triggerID, word
}

// quarrel has a trigger confirmed, denied and cancelled at the same time.
func (s *speaker) quarrel(ctx context.Context, triggerID, yes string) {
	var group sync.WaitGroup
	for kind, body := range map[string]string{"confirm": yes, "deny": "", "cancel": ""} {
		fork := s.fork()
		group.Go(func() { fork.act(ctx, kind, triggerID, body, false) })
	}
	fork := s.fork()
	group.Go(func() { fork.plainly(ctx, "", triggerID, "yes", false) })
	group.Wait()
}

// same has many ask for the same at the same time, in sessions of their own.
func (s *speaker) same(ctx context.Context, many int) {
	values := fmt.Sprintf(`{"day":%q}`, s.id("equal"))
	var group sync.WaitGroup
	for i := range many {
		fork, session := s.fork(), fmt.Sprintf("%s-same-%d", s.session, i%8)
		group.Go(func() {
			if i%2 == 0 {
				fork.sayIn(ctx, session, "alarm", "call alarm "+values, false)
				return
			}
			fork.fireAs(ctx, fork.dice, session, "alarm", values, false)
		})
	}
	group.Wait()
}

// guard asks for the same again and again, while the first waits for a yes, and when it was
// denied.
func (s *speaker) guard(ctx context.Context) {
	values, words := fmt.Sprintf(`{"day":%q}`, s.id("equal")), []string{"no", "yes", "yes"}
	for _, word := range words[s.dice.IntN(2):] {
		asked, is := s.say(ctx, "guard", "call guard "+values).only()
		if !is || asked.State != "confirming" {
			continue
		}
		s.say(ctx, "guard", "call guard "+values)
		kind, body := "confirm", fmt.Sprintf(`{"digest":%q}`, asked.Digest)
		if word == "no" {
			kind, body = "deny", ""
		}
		s.act(ctx, kind, asked.TriggerID, body, true)
	}
}

// ask fires a tool whose answer is given, over REST or NATS, once or twice.
func (s *speaker) ask(ctx context.Context) {
	asked, is := s.say(ctx, "ask", `call ask {"day":"monday"}`).only()
	if !is {
		return
	}
	for range 1 + s.dice.IntN(2) {
		body := fmt.Sprintf(`{"ok":true,"result":{"page":%q}}`, s.id("page"))
		if s.dice.IntN(2) == 0 {
			s.act(ctx, "answer", asked.TriggerID, body, true)
			continue
		}
		s.publish(ctx, asked.TriggerID, body)
	}
}

// ackLimit is how long a publisher waits for the stream to say that it has a message. A
// server that is killed never says it; what then was not said in time is published again.
const ackLimit = 5 * time.Second

// publish answers on NATS until the stream has it, under one id, as a careful publisher does.
func (s *speaker) publish(ctx context.Context, triggerID, body string) {
	ctx, cancel := context.WithTimeout(ctx, stubborn)
	defer cancel()
	o := &operation{App: s.app, ID: s.id("p"), Kind: "published", Trigger: triggerID, Body: body}
	for ctx.Err() == nil {
		if err := s.publishOnce(ctx, o); err != nil {
			o.Answer = err.Error()
			wait(ctx, 30*time.Millisecond)
			continue
		}
		o.Status = http.StatusOK
		s.keep(&s.done, o)
		return
	}
	s.keep(&s.lost, o)
}

func (s *speaker) publishOnce(ctx context.Context, o *operation) error {
	ctx, cancel := context.WithTimeout(ctx, ackLimit)
	defer cancel()
	_, err := s.world.js.Publish(ctx, "answer."+s.app+"."+o.Trigger, []byte(o.Body), jetstream.WithMsgID(o.ID))
	return err
}

// heldTools wait before they take effect, so that their events stand wherever that was.
var heldTools = []string{"lamp", "mail", "refund", "guard"}

// late reports whether a tool's trigger takes effect later than it is decided.
func late(tool string) bool { return slices.Contains(heldTools, tool) }
