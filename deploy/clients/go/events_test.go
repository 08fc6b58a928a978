package earshot_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	earshot "earshot/deploy/clients/go"
)

func TestEventsGoOnWhereTheConnectionEnded(t *testing.T) {
	var cut atomic.Pointer[context.CancelFunc]
	app := clinic(t, service(t), "go-events")
	through, err := earshot.FromEnvironment(earshot.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithCancel(r.Context())
		cut.Store(&cancel)
		return http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	})}))
	must(t, err)
	ctx, end := context.WithTimeout(t.Context(), time.Minute) // for one that hears nothing
	defer end()
	followed := got(through.App("go-events").Follow(ctx, ""))(t)
	defer followed.Close()
	var fired []string
	for i := range 3 {
		match := got(app.Session("s1").Fire(t.Context(), earshot.Direct{Name: "book", Values: earshot.Values{"day": "Friday"}}))(t)
		fired = append(fired, match.TriggerID)
		if i == 1 {
			(*cut.Load())() // after the second nobody hears anything
		}
	}
	for event, err := range followed.All() {
		must(t, err)
		if event.Kind == "tool.changed" {
			continue // of the repository, which was there before
		}
		payload := got(event.Payload())(t)
		equal(t, "tool.trigger", event.Kind)
		equal(t, fired[0], payload.ID)
		equal(t, "Friday", payload.Values["day"].(string))
		if fired = fired[1:]; len(fired) == 0 {
			break
		}
	}
	equal(t, 0, len(fired))
}

func TestEventsOfNothingEndWithTheProblem(t *testing.T) {
	client := service(t)
	count := 0
	for _, err := range client.App("go-none").Events(t.Context(), "") {
		count++
		equal(t, true, err != nil && strings.Contains(err.Error(), "404"))
	}
	equal(t, 1, count)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range clinic(t, client, "go-ended").Events(ctx, "") {
		t.Fatal("it has ended")
	}
}

// roundTrip is a function as a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
