// Command request posts a message over NATS, and prints which tools it sets off. Where no
// answer comes it asks again, with the same messageId, so that nothing is set off twice.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// answer is what we need of the answer to a message.
type answer struct {
	Matches []struct {
		Name   string         `json:"name"`
		Values map[string]any `json:"values"`
	} `json:"matches"`
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: request SUBJECT BODY, as in: request earshot.v1.message.clinic.s1 '{\"messageId\": \"m1\", \"actor\": \"user\", \"text\": \"hello\"}'")
	}
	conn, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	got, err := ask(conn, os.Args[1], []byte(os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	for _, match := range got.Matches {
		values, _ := json.Marshal(match.Values) // came out of JSON
		fmt.Printf("%s %s\n", match.Name, values)
	}
}

// ask asks until there is an answer.
func ask(conn *nats.Conn, subject string, body []byte) (got answer, err error) {
	for range 5 {
		var reply *nats.Msg
		reply, err = conn.Request(subject, body, 10*time.Second)
		if errors.Is(err, nats.ErrTimeout) {
			continue // nobody knows whether it was done; the same messageId does it once
		}
		if errors.Is(err, nats.ErrNoResponders) {
			time.Sleep(time.Second) // there is no replica as yet
			continue
		}
		if err != nil {
			return got, err
		}
		code := reply.Header.Get(micro.ErrorCodeHeader)
		if code == "" {
			err = json.Unmarshal(reply.Data, &got)
			return got, err
		}
		err = fmt.Errorf("%s: %s\n%s", code, reply.Header.Get(micro.ErrorHeader), reply.Data)
		if code != "503" {
			return got, err
		}
		time.Sleep(time.Second) // the service is full, or Redis is away
	}
	return got, err
}
