package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"earshot/deploy/faults/endpoints"
)

// chatTools are the tools that a model calls in chats.
var chatTools = []string{"note", "book", "lookup", "charge"}

// chat says something to the model, whose endpoint listens and carries its calls out: whole or as
// a stream, of one message or of two, and sometimes twice at the same time, as a client does that
// gives up too soon. The model may refuse at first, or call for something else when it is asked
// again.
func (s *speaker) chat(ctx context.Context) {
	tool, word := chatTools[s.dice.IntN(len(chatTools))], ""
	switch s.dice.IntN(4) {
	case 0:
		word = "flaky "
	case 1:
		word = "fickle "
	}
	text := func() string { return fmt.Sprintf(`call %s {"day":"%s%s"}`, tool, word, s.id("chat")) }
	streams := s.dice.IntN(2) == 0
	conversation := []object{{"role": "user", "content": text()}}
	if s.dice.IntN(3) == 0 {
		var group sync.WaitGroup
		fork := s.fork()
		group.Go(func() { fork.converse(ctx, tool, conversation, streams) })
		defer group.Wait()
	}
	o := s.converse(ctx, tool, conversation, streams)
	if s.dice.IntN(3) > 0 || o.Status != http.StatusOK {
		return
	}
	conversation = append(conversation, object{"role": "assistant", "content": contentOf(o.Answer)}, object{"role": "user", "content": text()})
	s.converse(ctx, tool, conversation, streams)
}

type object = map[string]any

// converse asks for the completion of a conversation until it has one.
func (s *speaker) converse(ctx context.Context, tool string, conversation []object, streams bool) *operation {
	body, _ := json.Marshal(object{"model": "scripted", "stream": streams, "messages": conversation}) // plain values always marshal
	session := s.session + chatSuffix
	return s.do(ctx, s.dice, &operation{
		App: s.app, Session: session, Kind: "chat", Expects: tool, Path: sessionPath(s.app, session) + "/openai/v1/chat/completions", Body: string(body), sound: carriedOut,
	}, http.MethodPost)
}

// chatSuffix ends the names of the sessions of chats: nothing else is said in them.
const chatSuffix = "-chat"

// carriedOut says why a completion is none yet: it has no end, or the model was told that a call
// was not carried out.
func carriedOut(answer string) error {
	text, said := strings.CutPrefix(contentOf(answer), endpoints.Said)
	var result struct{ Status, Error string }
	switch {
	case !said || json.Unmarshal([]byte(text), &result) != nil:
		return errors.New("it has no result of a tool")
	case result.Status == "": // a call that has failed has its status
		return errors.New("a call was not carried out: " + result.Error)
	}
	return nil
}

// contentOf is what the model has said in the end; empty where the answer broke off.
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
		switch data := strings.TrimPrefix(lines.Text(), "data: "); data {
		case "[DONE]":
			return said.String()
		default:
			said.WriteString(wordsOf(data))
		}
	}
	return "" // it broke off
}
