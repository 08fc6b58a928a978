// Command home is the hub of a smart home: behind a router, where nobody can call it, it hears
// what fires on NATS, switches the devices, and answers what came of it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// patience is how long after a trigger its tool is still wanted: the answer.within of home.yaml.
const patience = 30 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL)); err != nil {
		log.Fatal(err)
	}
}

// run does what fires until ctx ends. The consumer is durable: what fires while the hub is
// started anew is delivered when it is back.
func run(ctx context.Context, natsURL string) error {
	conn, err := nats.Connect(natsURL, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	done, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "home-done", TTL: 24 * time.Hour})
	if err != nil {
		return err
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "EARSHOT", jetstream.ConsumerConfig{
		Durable: "home-hub", FilterSubject: "tool.trigger.home.>", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		return err
	}
	h := hub{js: js, done: done}
	running, err := consumer.Consume(func(message jetstream.Msg) { h.take(ctx, message) })
	if err != nil {
		return err
	}
	defer running.Stop()
	fmt.Println("the hub is up")
	<-ctx.Done()
	return nil
}

// hub knows what it has done: the answers that it gave, by the ids of the triggers.
type hub struct {
	js   jetstream.JetStream
	done jetstream.KeyValue
}

// firing is what we need of the payload of tool.trigger.
type firing struct {
	ID     string    `json:"id"`
	TS     time.Time `json:"ts"`
	Name   string    `json:"name"`
	Values values    `json:"values"`
	Answer struct {
		Subject string `json:"subject"`
	} `json:"answer"`
}

type values struct {
	Room    string  `json:"room"`
	State   string  `json:"state"`
	Degrees float64 `json:"degrees"`
	Length  float64 `json:"length"` // in minutes, whatever the user counted in
}

// take does what an event asks for, once, and answers it however often it comes: the first
// answer holds. It is acknowledged when all is done with it; what is not comes again.
func (h hub) take(ctx context.Context, message jetstream.Msg) {
	var fired firing
	if err := json.Unmarshal(message.Data(), &fired); err != nil {
		log.Printf("%s: %v", message.Subject(), err)
		_ = message.Term() // it would be no better the next time
		return
	}
	if told, err := message.Metadata(); err == nil && time.Since(told.Timestamp) > patience {
		log.Printf("%s %s comes too late", fired.Name, fired.ID) // no door opens an hour later
		_ = message.Term()
		return
	}
	answer, err := h.once(ctx, fired)
	if err == nil {
		_, err = h.js.Publish(ctx, fired.Answer.Subject, answer)
	}
	if err != nil {
		log.Printf("%s: %v", fired.ID, err)
		_ = message.NakWithDelay(time.Second)
		return
	}
	_ = message.Ack() // a lost one has it delivered again
}

// once returns the answer to a trigger that was done before, else does it. Where the hub dies
// in between it is done twice: so what it does is a state, not a step, and has the trigger's id.
func (h hub) once(ctx context.Context, fired firing) ([]byte, error) {
	before, err := h.done.Get(ctx, fired.ID)
	if err == nil {
		return before.Value(), nil
	}
	if !errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, err
	}
	answer := map[string]any{"ok": true}
	if result, err := do(fired); err != nil {
		answer = map[string]any{"ok": false, "error": err.Error()}
	} else {
		answer["result"] = result
		fmt.Println(result)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	_, err = h.done.Put(ctx, fired.ID, text)
	return text, err
}

// do is where devices would be switched. What it returns stands in the record and the history,
// and a model may say it.
func do(fired firing) (string, error) {
	v := fired.Values
	switch fired.Name {
	case "set-light":
		return fmt.Sprintf("the light in the %s is %s", v.Room, v.State), nil
	case "set-heating":
		if v.Room == "office" {
			return "", errors.New("the radiator in the office does not answer")
		}
		return fmt.Sprintf("the %s is heated to %g °C", v.Room, v.Degrees), nil
	case "set-timer":
		length := time.Duration(v.Length * float64(time.Minute)).Round(time.Second)
		if over := time.Until(fired.TS.Add(length)); over > 0 { // from when it was said
			time.AfterFunc(over, func() { fmt.Printf("timer %s rings\n", fired.ID) })
		}
		return fmt.Sprintf("a timer is set for %s", length), nil
	case "unlock-door":
		return "the door is unlocked", nil
	}
	return "", fmt.Errorf("the hub knows no %s", fired.Name)
}
