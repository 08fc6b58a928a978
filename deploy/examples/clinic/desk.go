package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// free are the times that a calendar would know.
var free = map[string][]string{"Monday": {"14:00"}, "Friday": {"10:00", "11:30"}}

// texts are what the desk says, by language.
var texts = map[string]struct{ offer, booked, or string }{
	"en": {"We have %s. Which suits you?", "You have an appointment at %s.", " or "},
	"de": {"Frei ist %s. Was passt Ihnen?", "Sie haben einen Termin um %s.", " oder "},
	"fr": {"Nous avons %s. Que préférez-vous ?", "Vous avez rendez-vous à %s.", " ou "},
}

// spoken is the language of texts that a browser asks for first.
func spoken(accepted string) string {
	for language := range texts {
		if strings.HasPrefix(accepted, language) {
			return language
		}
	}
	return "en"
}

// desk answers visitors in the name of the clinic. Who wants an appointment is offered the times
// that are free on that day: a tool that exists in that session alone, until one is chosen.
type desk struct{ earshot }

// run reacts to what fires until ctx ends. The consumer is durable: what fires while the
// desk is away is delivered when it is back.
func (d desk) run(ctx context.Context, natsURL string) error {
	conn, err := nats.Connect(natsURL, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "EARSHOT", jetstream.ConsumerConfig{
		Durable: "clinic-desk", AckPolicy: jetstream.AckExplicitPolicy,
		FilterSubjects: []string{"tool.trigger.clinic.*.book", "tool.trigger.clinic.*.choose-time"},
	})
	if err != nil {
		return err
	}
	running, err := consumer.Consume(func(message jetstream.Msg) { d.take(ctx, message) })
	if err != nil {
		return err
	}
	defer running.Stop()
	fmt.Println("open")
	<-ctx.Done()
	return nil
}

// firing is what we need of the payload of an event.
type firing struct {
	ID        string            `json:"id"`
	SessionID string            `json:"sessionId"`
	Name      string            `json:"name"`
	Values    map[string]string `json:"values"`
	Metadata  struct {
		Language string `json:"language"`
	} `json:"metadata"`
}

// take reacts to an event, and has it delivered again where that fails. All that is done
// may be done twice: a PUT is the same the second time, and so is a message with an id.
func (d desk) take(ctx context.Context, message jetstream.Msg) {
	var fired firing
	if err := json.Unmarshal(message.Data(), &fired); err != nil {
		_ = message.Term() // it would hold no JSON the next time either
		return
	}
	react := d.offer
	if fired.Name == "choose-time" {
		react = d.confirm
	}
	if err := react(ctx, fired); err != nil {
		log.Printf("%s: %v", fired.ID, err)
		_ = message.NakWithDelay(time.Second)
		return
	}
	_ = message.Ack()
}

// offer makes a tool of the times that are free on the wished day, and asks for one.
func (d desk) offer(ctx context.Context, fired firing) error {
	times, say := free[fired.Values["day"]], texts[fired.Metadata.Language]
	err := d.call(ctx, http.MethodPut, "/sessions/"+fired.SessionID+"/repositories/times", map[string]any{
		"options": map[string]bool{"triggerOnce": true},
		"tools": []any{map[string]any{
			"name": "choose-time", "description": "User chooses the time of the appointment",
			"schema": []any{
				map[string]any{"parameter": "time", "type": "string", "description": "chosen time", "required": true, "allowedValues": times},
				map[string]any{"parameter": "day", "type": "string", "value": fired.Values["day"], "ignore": true},
			},
			"examples": []string{"I take " + times[0], "Ich nehme " + times[0], "Je prends " + times[0]},
		}},
	}, nil)
	if err != nil {
		return err
	}
	return d.say(ctx, fired, fmt.Sprintf(say.offer, strings.Join(times, say.or)))
}

// confirm says what was chosen; this is where it would be written into a calendar.
func (d desk) confirm(ctx context.Context, fired firing) error {
	return d.say(ctx, fired, fmt.Sprintf(texts[fired.Metadata.Language].booked, fired.Values["time"]))
}

// say posts what the desk says, and the page shows it as it shows all that is said. The id
// makes it one message, however often it is sent.
func (d desk) say(ctx context.Context, fired firing, text string) error {
	return d.call(ctx, http.MethodPost, "/sessions/"+fired.SessionID+"/messages",
		map[string]string{"messageId": "reply-" + fired.ID, "actor": "agent", "text": text}, nil)
}

// earshot is the app of a service, with a key of scopes tools and messages.
type earshot struct{ app, key string }

// call makes a request below the app, and reads its answer into what is given.
func (e earshot) call(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, e.app+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+e.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
