// Command webhook is an endpoint of a tool that takes calls from Earshot alone: it verifies
// their signature (Standard Webhooks), and does nothing twice.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	// The app's signingSecret, whsec_ and 24 to 64 bytes in base64.
	verifier, err := standardwebhooks.NewWebhook(os.Getenv("SIGNING_SECRET"))
	if err != nil {
		log.Fatalf("SIGNING_SECRET is none: %v", err)
	}
	server := &http.Server{
		Addr: os.Getenv("ADDR"), Handler: &endpoint{verifier: verifier, answers: map[string]string{}}, ReadHeaderTimeout: 5 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}

// endpoint books what it is called for, once for each id. It keeps them in memory; where
// that matters, keep them with what is booked.
type endpoint struct {
	verifier *standardwebhooks.Webhook

	mu      sync.Mutex
	answers map[string]string
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, "the body did not come", http.StatusBadRequest)
		return
	}
	if err := e.verifier.Verify(body, r.Header); err != nil { // the bytes as they came, and a time that is not long ago
		http.Error(w, "the signature is not good", http.StatusUnauthorized)
		return
	}
	var fired struct {
		Values map[string]any `json:"values"`
	}
	if err := json.Unmarshal(body, &fired); err != nil {
		http.Error(w, "the body is no JSON", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, e.book(r.Header.Get("webhook-id"), fired.Values["day"]))
}

// book books a day. The id is the same on every attempt at a call, and so is the answer.
func (e *endpoint) book(id string, day any) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answers[id] == "" {
		answer, _ := json.Marshal(map[string]any{"booked": day, "number": len(e.answers) + 1}) // came out of JSON
		e.answers[id] = string(answer)
	}
	return e.answers[id]
}
