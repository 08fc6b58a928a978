// Command doorman is the back-end of a house that knows Earshot by NATS alone: it needs the address of NATS
// and a key of its app, and no URL. It registers its tools, does what fires, and says the lines of a file.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

const tools = `{"tools": [
	{"name": "open", "description": "Open a door", "examples": ["open the garage"], "answer": {"within": "30s"},
	 "schema": [{"parameter": "door", "type": "string", "required": true, "allowedValues": ["garage", "garden"]}]},
	{"name": "lock-up", "description": "Lock all doors of the house", "examples": ["lock up"], "confirm": "always"}
]}`

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: doorman APP FILE, with NATS_URL and EARSHOT_KEY, a key of the app with the scopes tools, messages and triggers")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	conn, err := nats.Connect(os.Getenv("NATS_URL"), nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	d := doorman{conn, os.Args[1], os.Getenv("EARSHOT_KEY")}
	if err := d.work(ctx, os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

type doorman struct {
	conn     *nats.Conn
	app, key string
}

// work registers the tools, and does what fires until ctx ends.
func (d doorman) work(ctx context.Context, file string) error {
	if err := d.ask(ctx, "repository."+d.app+".doors", tools, nil); err != nil {
		return err
	}
	js, err := jetstream.New(d.conn)
	if err != nil {
		return err
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "EARSHOT", jetstream.ConsumerConfig{
		Durable: "doorman", FilterSubject: "tool.trigger." + d.app + ".>", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		return err
	}
	running, err := consumer.Consume(func(message jetstream.Msg) { d.do(ctx, message) })
	if err != nil {
		return err
	}
	defer running.Stop()
	if err := d.say(ctx, file); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// do does what has fired, and answers where that is waited for.
func (d doorman) do(ctx context.Context, message jetstream.Msg) {
	var fired struct {
		ID     string                `json:"id"`
		Name   string                `json:"name"`
		Values struct{ Door string } `json:"values"`
		Answer *struct{}             `json:"answer"` // nil where none is waited for
	}
	if err := json.Unmarshal(message.Data(), &fired); err != nil {
		_ = message.Term() // it would hold no JSON the next time either
		return
	}
	fmt.Println("does", fired.Name, fired.Values.Door)
	if fired.Answer != nil { // the first answer holds, so that a second delivery does no harm
		if err := d.ask(ctx, "answer."+d.app+"."+fired.ID, fmt.Sprintf(`{"ok": true, "result": "the %s is open"}`, fired.Values.Door), nil); err != nil {
			log.Print(err)
			return // it comes again
		}
	}
	_ = message.Ack() // a lost one has it delivered again
}

// match is what we need of a match in the answer to a message.
type match struct {
	TriggerID, Name, State, Question, Digest string
	Call                                     struct{ Result any }
}

// say posts each line of a file as a message of a user. What asks for a yes gets it.
func (d doorman) say(ctx context.Context, file string) error {
	lines, err := os.Open(file)
	if err != nil {
		return err
	}
	defer lines.Close()
	read := bufio.NewScanner(lines)
	for n := 1; read.Scan(); n++ {
		body, err := json.Marshal(map[string]string{"messageId": fmt.Sprint("line-", n), "actor": "user", "text": read.Text()})
		if err != nil {
			return err
		}
		var got struct{ Matches []match }
		if err := d.ask(ctx, "message."+d.app+".porch", string(body), &got); err != nil {
			return err
		}
		for _, one := range got.Matches {
			if one.State != "confirming" {
				fmt.Println("hears", one.Name, one.State, one.Call.Result)
				continue
			}
			fmt.Println("hears", one.Name+":", one.Question)
			if err := d.ask(ctx, "confirm."+d.app+"."+one.TriggerID, fmt.Sprintf(`{"digest": %q}`, one.Digest), nil); err != nil {
				return err
			}
		}
	}
	return read.Err()
}

// ask makes a request and reads the reply into got. Where none comes it asks again: each of these requests does
// the same however often it is made.
func (d doorman) ask(ctx context.Context, what, body string, got any) error {
	request := nats.NewMsg("earshot.v1." + what)
	request.Data = []byte(body)
	request.Header.Set("Authorization", "Bearer "+d.key)
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Minute)
		reply, err := d.conn.RequestMsgWithContext(attempt, request)
		cancel()
		switch {
		case err == nil && reply.Header.Get(micro.ErrorCodeHeader) == "":
			if got == nil {
				return nil
			}
			return json.Unmarshal(reply.Data, got)
		case err == nil && reply.Header.Get(micro.ErrorCodeHeader) != "503":
			return fmt.Errorf("%s: %s (%s)", what, reply.Header.Get(micro.ErrorHeader), reply.Header.Get("Earshot-Error-Code"))
		}
		select { // no replica is there as yet, or it is full
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
