// Command appointments is the back-end of a clinic. A user who wants an appointment is
// offered the times that are free on that day: a tool that exists in this session alone,
// from this moment until one of them is chosen.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// free are the times that a calendar would know.
var free = map[string][]string{"Monday": {"10:00"}, "Friday": {"9:00", "11:30"}}

const askForDay = `{"options": {"triggerOnce": true}, "tools": [{
  "name": "request-for-appointment", "description": "User needs an appointment",
  "schema": [{"parameter": "day", "type": "string", "description": "wished day", "required": true, "allowedValues": ["Monday", "Friday"]}],
  "emitter": "calendar.request", "examples": ["I want an appointment on Friday"]}]}`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := clinic{server: os.Getenv("EARSHOT_URL"), key: os.Getenv("EARSHOT_KEY")}
	if err := c.run(ctx, os.Getenv("NATS_URL"), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// clinic is the back-end, with a key of scopes tools and messages.
type clinic struct{ server, key string }

// run opens the sessions and reacts to what fires in them, until ctx ends.
func (c clinic) run(ctx context.Context, natsURL string, sessions []string) error {
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
		Durable: "appointments", AckPolicy: jetstream.AckExplicitPolicy,
		FilterSubjects: []string{"app.clinic.calendar.request", "tool.trigger.clinic.*.choose-time"},
	})
	if err != nil {
		return err
	}
	running, err := consumer.Consume(func(message jetstream.Msg) { c.take(ctx, message) })
	if err != nil {
		return err
	}
	defer running.Stop()
	for _, session := range sessions {
		if err := c.send(ctx, http.MethodPut, session+"/repositories/booking", askForDay); err != nil {
			return err
		}
	}
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
}

// take reacts to an event, and has it delivered again where that fails. All that is done
// may be done twice: a PUT is the same the second time, and so is a message with an id.
func (c clinic) take(ctx context.Context, message jetstream.Msg) {
	var fired firing
	if err := json.Unmarshal(message.Data(), &fired); err != nil {
		_ = message.Term()
		return
	}
	react := c.offer
	if fired.Name == "choose-time" {
		react = c.confirm
	}
	if err := react(ctx, fired); err != nil {
		log.Printf("%s: %v", fired.ID, err)
		_ = message.NakWithDelay(time.Second)
		return
	}
	_ = message.Ack()
}

// offer makes a tool of the times that are free on the wished day, and asks for one.
func (c clinic) offer(ctx context.Context, fired firing) error {
	times := free[fired.Values["day"]]
	tool := map[string]any{
		"options": map[string]bool{"triggerOnce": true},
		"tools": []any{map[string]any{
			"name": "choose-time", "description": "User chooses the time of the appointment",
			"schema": []any{
				map[string]any{"parameter": "time", "type": "string", "description": "chosen time", "required": true, "allowedValues": times},
				map[string]any{"parameter": "day", "type": "string", "value": fired.Values["day"], "ignore": true},
			},
			"examples": []string{"I take " + times[0], "The appointment at " + times[0] + " suits me"},
		}},
	}
	body, err := json.Marshal(tool)
	if err != nil {
		return err
	}
	if err := c.send(ctx, http.MethodPut, fired.SessionID+"/repositories/times", string(body)); err != nil {
		return err
	}
	return c.say(ctx, fired, fmt.Sprintf("On %s we have %s. Which suits you?", fired.Values["day"], strings.Join(times, " or ")))
}

// confirm says what was chosen; this is where it would be written into a calendar.
func (c clinic) confirm(ctx context.Context, fired firing) error {
	return c.say(ctx, fired, fmt.Sprintf("You have an appointment on %s at %s.", fired.Values["day"], fired.Values["time"]))
}

// say posts what the agent says. The id makes it one message, however often it is sent.
func (c clinic) say(ctx context.Context, fired firing, text string) error {
	body, err := json.Marshal(map[string]string{"messageId": "reply-" + fired.ID, "actor": "agent", "text": text})
	if err != nil {
		return err
	}
	return c.send(ctx, http.MethodPost, fired.SessionID+"/messages", string(body))
}

// send makes a request below a session of the app clinic.
func (c clinic) send(ctx context.Context, method, path, body string) error {
	request, err := http.NewRequestWithContext(ctx, method, c.server+"/v1/apps/clinic/sessions/"+path, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	problem, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, problem)
}
