package emitter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"earshot/emitter"
	"earshot/trigger/effect"
)

// An event is delivered to the stream and read back from it, as a stream of events over
// HTTP does. The same effect delivered again is Done as well, and stored once.
func Example() {
	url, stop := startNATS()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	out, err := emitter.Connect(url, emitter.Options{Timeout: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer out.Close()
	booked := effect.Effect{
		ID: "t1-trigger", Kind: effect.KindEvent, AppID: "clinic", SessionID: "s1", TriggerID: "t1",
		Event: &effect.Event{
			Subject: "tool.trigger.clinic.s1.book", ID: "t1", Type: "earshot.tool.trigger",
			Source: "/apps/clinic/sessions/s1", Time: time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC),
			Data: json.RawMessage(`{"values":{"day":"Friday"}}`),
		},
	}
	fmt.Println(out.Deliver(ctx, booked).Verdict == effect.Done)
	fmt.Println(out.Deliver(ctx, booked).Verdict == effect.Done)

	tail := out.Tail(0)
	go tail.Run(ctx)
	events, err := tail.Follow(ctx, "clinic", "s1", 0) // 0: from the stream's beginning
	if err != nil {
		log.Fatal(err)
	}
	event := <-events
	fmt.Println(event.Sequence, event.Subject, string(event.Data))
	// Output:
	// true
	// true
	// 1 tool.trigger.clinic.s1.book {"values":{"day":"Friday"}}
}

// startNATS starts a server with JetStream in this process.
func startNATS() (url string, stop func()) {
	folder, err := os.MkdirTemp("", "nats")
	if err != nil {
		log.Fatal(err)
	}
	nats, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: folder, NoLog: true, NoSigs: true,
		JetStreamMaxStore: 1 << 40, // not a share of the disk that happens to be free
	})
	if err != nil {
		log.Fatal(err)
	}
	nats.Start()
	if !nats.ReadyForConnections(30 * time.Second) {
		log.Fatal("NATS did not start")
	}
	return nats.ClientURL(), func() {
		nats.Shutdown()
		nats.WaitForShutdown()
		os.RemoveAll(folder)
	}
}
