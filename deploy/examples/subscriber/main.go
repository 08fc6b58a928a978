// Command subscriber prints the tools that fire, from a durable consumer: what happens while
// it is away is delivered when it is back. It answers those that wait for an answer.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// firing is what we need of the payload of tool.trigger.
type firing struct {
	ID        string         `json:"id"` // the same on every delivery: what was done once is not done again
	SessionID string         `json:"sessionId"`
	Name      string         `json:"name"`
	Values    map[string]any `json:"values"`
	Answer    struct {
		Subject string `json:"subject"` // empty where none is waited for
	} `json:"answer"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := subscribe(ctx, os.Getenv("NATS_URL")); err != nil {
		log.Fatal(err)
	}
}

// subscribe prints what fires until ctx ends.
func subscribe(ctx context.Context, url string) error {
	conn, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "EARSHOT", jetstream.ConsumerConfig{
		Durable: "example-go", FilterSubject: "tool.trigger.clinic.>", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		return err
	}
	fmt.Println("subscribed")
	running, err := consumer.Consume(func(message jetstream.Msg) { take(ctx, js, message) })
	if err != nil {
		return err
	}
	defer running.Stop()
	<-ctx.Done()
	return nil
}

// take handles an event. It is acknowledged when all is done with it; what is not is delivered again.
func take(ctx context.Context, js jetstream.JetStream, message jetstream.Msg) {
	var fired firing
	if err := json.Unmarshal(message.Data(), &fired); err != nil {
		log.Printf("%s holds no JSON: %v", message.Subject(), err)
		_ = message.Term() // it would not hold any the next time either
		return
	}
	values, _ := json.Marshal(fired.Values) // came out of JSON
	fmt.Printf("%s in %s: %s\n", fired.Name, fired.SessionID, values)
	if fired.Answer.Subject != "" { // the first answer holds, so that a second delivery does no harm
		if _, err := js.Publish(ctx, fired.Answer.Subject, []byte(`{"ok": true, "result": "printed"}`)); err != nil {
			log.Print(err)
			return // it comes again
		}
	}
	_ = message.Ack() // a lost one has it delivered again
}
