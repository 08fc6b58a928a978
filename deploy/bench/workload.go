package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"earshot/deploy/testbed"

	"github.com/dustin/go-humanize"
)

type workload struct {
	app      string
	tools    int // in the scope of every message
	matches  int // tools that a message calls for
	sessions int // that messages are spread over; 0: none, which only direct triggers can do
	first    int // number of the first session
	messages int // that a session gets before another takes its place; 0: no end of them
	direct   bool
	silent   bool // messages speak of tools, and call for none
}

func (w workload) spread() string {
	switch w.sessions {
	case 0:
		return "no session"
	case 1:
		return "one session"
	}
	return comma(w.sessions) + " sessions"
}

func comma(n int) string { return humanize.Comma(int64(n)) }

const repositorySize = 500

func (w workload) register(ctx context.Context, c client) error {
	body := map[string]any{"name": w.app, "settings": map[string]any{"limits": nil}}
	if err := c.send(ctx, http.MethodPut, "/v1/apps/"+w.app, body, nil); err != nil {
		return err
	}
	schema := []any{map[string]any{"parameter": "day", "type": "string", "description": "wished day", "required": true}}
	for first := 0; first < w.tools; first += repositorySize {
		var tools []any // every second one has a word that none had before, as real tools have
		for i := first; i < min(w.tools, first+repositorySize); i++ {
			tools = append(tools, map[string]any{"name": toolName(i), "description": "To " + doing(i) + ", by way of " + rare(i/2) + ", " + rare(maxTools+i/7) + " and " + rare(2*maxTools+i/50), "schema": schema})
		}
		path := fmt.Sprintf("/v1/apps/%s/repositories/tools-%d", w.app, first)
		if err := c.send(ctx, http.MethodPut, path, map[string]any{"tools": tools}, nil); err != nil {
			return err
		}
	}
	return nil
}

// post sends the i-th request and checks that all tools it calls for have fired.
func (w workload) post(ctx context.Context, replicas []client, i int) (time.Duration, error) {
	type match struct{ Event struct{ State string } }
	var answer struct {
		match
		Matches []match
	}
	c, path := replicas[i%len(replicas)], "/v1/apps/"+w.app
	if w.sessions > 0 {
		path += fmt.Sprintf("/sessions/s%d", w.session(i))
	}
	wanted := w.matches
	switch {
	case w.silent:
		wanted = 0
	case w.direct:
		wanted = 1
	}
	if w.direct {
		body := map[string]any{"name": toolName(i * 31 % w.tools), "source": "task", "values": json.RawMessage(llmArguments)}
		if err := c.send(ctx, http.MethodPost, path+"/triggers", body, &answer); err != nil {
			return 0, err
		}
		answer.Matches = []match{answer.match}
	} else if err := c.send(ctx, http.MethodPost, path+"/messages", map[string]any{"actor": "user", "text": w.text(i)}, &answer); err != nil {
		return 0, err
	}
	if len(answer.Matches) != wanted {
		return 0, fmt.Errorf("%d matches, %d were asked for", len(answer.Matches), wanted)
	}
	var err error
	for _, m := range answer.Matches {
		switch m.Event.State {
		case "published":
		case "pending":
			err = errPending
		default:
			return 0, fmt.Errorf("an event is %q", m.Event.State)
		}
	}
	return 0, err
}

// session is the number of the i-th request's session. Sessions are not all replaced at the same time.
func (w workload) session(i int) int {
	place := i % w.sessions
	if w.messages == 0 {
		return w.first + place
	}
	return w.first + (i/w.sessions+place)/w.messages*w.sessions + place
}

// text names the tools to call for the LLM, and has words that no tool knows.
func (w workload) text(i int) string {
	names, said := make([]string, w.matches), "Good morning, this is Ms Keller. Please"
	for k := range w.matches {
		tool := (i*31 + k) % w.tools
		names[k], said = toolName(tool), said+" "+doing(tool)+","
	}
	if w.silent {
		names = nil
	}
	return calling(said, names...)
}

func (w workload) tell(ctx context.Context, c client, session int) error {
	path := fmt.Sprintf("/v1/apps/%s/sessions/s%d/messages", w.app, session)
	return c.send(ctx, http.MethodPost, path, map[string]any{"actor": "agent", "text": "The " + things[session%len(things)] + " is free again this afternoon."}, nil)
}

type client struct{ testbed.Client }

// answerLimit is longer than the lease of a message.
const answerLimit = 30 * time.Second

func newClient(s *server, connections int) client {
	c := client{s.Client}
	c.HTTP = &http.Client{Timeout: answerLimit, Transport: &http.Transport{MaxIdleConnsPerHost: connections, IdleConnTimeout: 30 * time.Second}} // the server's is longer
	return c
}

func (c client) send(ctx context.Context, method, path string, body, into any, headers ...string) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := c.Ask(ctx, method, path, string(text), headers...)
	if err != nil {
		return err
	}
	if answer.Status >= 300 {
		return fmt.Errorf("%s %s: %d: %.200s", method, path, answer.Status, answer.Body)
	}
	if into == nil || len(answer.Body) == 0 {
		return nil
	}
	return json.Unmarshal(answer.Body, into)
}

// These make names as like and unlike as those of real tools, and the words of messages.
var (
	verbs  = []string{"reserve", "cancel", "clean", "open", "close", "repair", "measure", "photograph", "paint", "rent", "sell", "inspect", "lock", "warm", "light", "move", "count", "insure", "order", "describe"}
	things = []string{"table", "window", "door", "lamp", "bicycle", "printer", "elevator", "parcel", "ticket", "invoice", "camera", "garden", "kettle", "mirror", "piano", "radio", "scooter", "stove", "tent", "umbrella", "violin", "wardrobe", "carpet", "desk", "engine", "fridge", "guitar", "heater", "island", "jacket", "keyboard", "ladder", "monitor", "notebook", "oven", "pillow", "quilt", "router", "sofa", "towel", "vase", "wagon", "blanket", "candle", "drill", "faucet", "glove", "hammer", "kennel", "locker"}
	places = []string{"kitchen", "museum", "airport", "hospital", "library", "harbour", "school", "station", "theatre", "village"}
)

var maxTools = len(verbs) * len(things) * len(places)

func toolWords(i int) (verb, thing, place string) {
	rest := i / len(things)
	return verbs[(rest+i)%len(verbs)], things[i%len(things)], places[rest/len(verbs)%len(places)]
}

func toolName(i int) string {
	verb, thing, place := toolWords(i)
	return verb + "-" + thing + "-" + place
}

func doing(i int) string {
	verb, thing, place := toolWords(i)
	return verb + " the " + thing + " of the " + place
}

// rare returns the n-th of 343,000 words of three syllables.
func rare(n int) string {
	const consonants, vowels = "bdfghjklmnprstv", "aeiou"
	const syllables, prime = len(consonants) * len(vowels), 104_729
	word := ""
	for rest := n * prime % (syllables * syllables * syllables); len(word) < 6; rest /= syllables {
		word += consonants[rest%len(consonants):][:1] + vowels[rest/len(consonants)%len(vowels):][:1]
	}
	return word
}
