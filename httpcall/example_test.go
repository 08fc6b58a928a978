package httpcall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// A call fills the placeholders of its URL and posts the trigger event. The endpoint's answer is the result;
// the endpoint recognizes repeats by the Idempotency-Key.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.Method, r.RequestURI, r.Header.Get("Idempotency-Key"), string(body))
		fmt.Fprint(w, `{"booked":"09:30"}`)
	}))
	defer server.Close()
	loopback, err := guard.ParsePolicy("127.0.0.0/8") // otherwise endpoints on this machine are blocked
	if err != nil {
		log.Fatal(err)
	}
	caller := httpcall.New(httpcall.Options{
		Apps:   effecttest.Apps{"clinic": &repositories.App{ID: "clinic"}}, // a *store.Store in a service
		Policy: loopback,
	})
	defer caller.CloseIdleConnections()

	outcome := caller.Deliver(context.Background(), effect.Effect{
		ID: "t1-call", Kind: effect.KindCall, AppID: "clinic", TriggerID: "t1", Attempt: 1,
		Call: &effect.Call{
			URL:    server.URL + "/apps/:appId/slots?day=:day",
			Values: map[string]any{"day": "Friday & Saturday"},
			Event:  json.RawMessage(`{"id":"t1"}`),
		},
	})
	fmt.Println(outcome.Verdict == effect.Done, outcome.Status, string(outcome.Result))
	// Output:
	// POST /apps/clinic/slots?day=Friday+%26+Saturday t1 {"id":"t1"}
	// true 200 {"booked":"09:30"}
}

// A non-public endpoint is blocked unless the operator's policy allows it. The call is dead: another attempt
// would end in the same way.
func Example_privateAddress() {
	caller := httpcall.New(httpcall.Options{Apps: effecttest.Apps{"clinic": &repositories.App{ID: "clinic"}}})
	outcome := caller.Deliver(context.Background(), effect.Effect{
		Kind: effect.KindCall, AppID: "clinic", TriggerID: "t1", Attempt: 1,
		Call: &effect.Call{URL: "http://169.254.169.254/latest/meta-data"},
	})
	fmt.Println(outcome.Verdict == effect.Dead, outcome.Reason)
	fmt.Println(outcome.Error)
	// Output:
	// true blocked
	// POST http://169.254.169.254: calls must not reach 169.254.169.254 (cloud metadata); an operator can open it with EARSHOT_PRIVATE_URLS=169.254.169.254/32
}
