package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/emitter"
	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/llm/llmtest"
)

// The evaluations play real conversations through the whole program. The double answers
// with the calls that are expected: what is measured is not a model but that nothing
// which a model says is lost or changed on its way.

// players is how many conversations are played at the same time.
const players = 8

// stage is the program with some apps. Each has a model of its own, by whose name the
// double knows which conversation a request belongs to.
type stage struct {
	*world
	free chan *player
}

// player plays one conversation after the other, each in a session of its own.
type player struct {
	stage *stage
	app   string
	mu    sync.Mutex
	reply llmtest.Reply
}

func newStage(t *testing.T) *stage {
	s := &stage{world: serving(t, 1), free: make(chan *player, players)}
	byModel := map[string]*player{}
	for i := range players {
		p := &player{stage: s, app: fmt.Sprint("eval-", i)}
		s.put("/v1/apps/"+p.app, `{"settings":{"llm":{"tools":"openai/`+p.app+`"}}}`)
		byModel[p.app] = p
		s.free <- p
	}
	s.llm.Handle(func(request llmtest.Request) llmtest.Reply { return byModel[request.Model].answers() })
	return s
}

// each plays all cases, as tests of their own, and returns when they are over.
func (s *stage) each(cases []evaldata.Case, play func(t *testing.T, p *player, c evaldata.Case)) {
	s.t.Run("cases", func(t *testing.T) {
		for _, one := range cases {
			t.Run(one.ID, func(t *testing.T) {
				t.Parallel()
				if one.Contradiction != "" {
					t.Skip(one.Contradiction)
				}
				p := <-s.free
				defer func() { s.free <- p }()
				play(t, p, one)
			})
		}
	})
}

// says sets what the model answers from now on.
func (p *player) says(t *testing.T, calls ...evaldata.Call) {
	reply := evaldata.Reply(t, calls...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reply = reply
}

func (p *player) answers() llmtest.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reply
}

// prepare registers the tools of a case and posts all its messages but the last, which
// set off nothing.
func (p *player) prepare(t *testing.T, c evaldata.Case) {
	p.ask(t, 201, "PUT", p.path(c)+"/repositories/tools", string(c.Body(t)))
	p.says(t)
	for _, message := range c.Messages[:len(c.Messages)-1] {
		require.Empty(t, p.post(t, c, message).Matches, message.Text)
	}
}

// last posts the last message of a case.
func (p *player) last(t *testing.T, c evaldata.Case) heard {
	return p.post(t, c, c.Messages[len(c.Messages)-1])
}

func (p *player) path(c evaldata.Case) string { return "/v1/apps/" + p.app + "/sessions/" + c.ID }

func (p *player) ask(t *testing.T, status int, method, path, body string) string {
	got := p.stage.world.ask(p.stage.replicas[0], method, path, body)
	require.NoError(t, got.Err)
	require.Equal(t, status, got.Status, "%s %s: %s", method, path, got.Body)
	return got.Body
}

// heard is what an answer says, numbers as they are written.
type heard struct {
	Matches  []fired
	Rejected []struct {
		Name    string
		Values  map[string]any
		Missing []string
	}
}

// fired is a trigger as an answer, a record or an event has it.
type fired struct {
	Name     string
	Values   map[string]any
	Evidence map[string]*matcher.Evidence // of a record
}

func (p *player) post(t *testing.T, c evaldata.Case, message evaldata.Message) heard {
	body, err := json.Marshal(message)
	require.NoError(t, err)
	return exactly[heard](t, p.ask(t, 200, "POST", p.path(c)+"/messages", string(body)))
}

// records are the trigger records of the session of a case, the newest last.
func (p *player) records(t *testing.T, c evaldata.Case) []fired {
	list := exactly[struct{ Items []fired }](t, p.ask(t, 200, "GET", p.path(c)+"/triggers?limit=100", "")).Items
	slices.Reverse(list)
	return list
}

// triggers are the events of all sessions, by session and in the order of the stream.
func (s *stage) triggers() map[string][]fired {
	s.rest()
	bySession := map[string][]fired{}
	for _, stored := range s.nats.Stored(emitter.Stream, "tool.trigger.>") {
		event := exactly[struct {
			SessionID string
			fired
		}](s.t, string(stored.Data))
		bySession[event.SessionID] = append(bySession[event.SessionID], event.fired)
	}
	return bySession
}

// exactly decodes JSON without a loss of digits.
func exactly[T any](t *testing.T, text string) (value T) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&value), text)
	return value
}
