package earshot_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	earshot "earshot/deploy/clients/go"
)

// appointment is what the tool asks for.
type appointment struct {
	Day string `json:"day"`
}

// TestAUserAsksForAnAppointment is the story that the clients for TypeScript and Python live as
// well: tools are put, a call lacks a value, the user gives it, and everybody hears of it.
func TestAUserAsksForAnAppointment(t *testing.T) {
	calls := make(chan string, 1)
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var fired struct{ Values appointment }
		if json.NewDecoder(r.Body).Decode(&fired) == nil {
			calls <- r.Header.Get("webhook-id")
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"booked": fired.Values.Day})
	}))
	defer desk.Close()
	app := service(t).App("go-story")
	t.Cleanup(func() { _ = app.Delete(context.Background()) }) // the one of the test has ended
	_, err := app.Put(t.Context(), earshot.AppDefinition{Name: "Clinic"})
	must(t, err)
	_, err = app.PutRepository(t.Context(), earshot.Repository{RepositoryID: "booking", Tools: []earshot.Tool{{
		Name: "request-for-appointment", Description: "User needs an appointment", URL: desk.URL,
		Examples: []string{"I want an appointment", "Can I come in on [Monday](day)?"},
		Schema:   []earshot.Parameter{{Parameter: "day", Type: "string", Required: earshot.Ptr(true), Ask: "Which day suits you?", AllowedValues: []any{"Monday", "Friday"}}},
	}}})
	must(t, err)

	token := got(app.Session("s1").Token(t.Context(), time.Hour))(t)
	page := got(earshot.FromEnvironment(earshot.WithKey(token.Token)))(t)
	visit := page.App("go-story").Session("s1")
	events := got(visit.Follow(t.Context(), ""))(t)
	defer events.Close()

	asked := got(visit.Say(t.Context(), "I want an appointment"))(t)
	equal(t, 0, len(asked.Matches))
	equal(t, "Which day suits you?", asked.Rejected[0].Ask)
	given := got(visit.Say(t.Context(), "on Friday, please"))(t)
	equal(t, `{"booked":"Friday"}`, given.Matches[0].Call.Text())
	equal(t, given.Matches[0].TriggerID, <-calls)

	var fired appointment
	for event, err := range events.All() {
		must(t, err)
		payload := got(event.Payload())(t)
		if event.Kind == "tool.trigger" {
			must(t, payload.Values.Into(&fired))
		}
		if event.Kind == "tool.result" {
			equal(t, `{"booked":"Friday"}`, string(payload.Result))
			break
		}
	}
	equal(t, "Friday", fired.Day)
	record := got(app.Trigger(t.Context(), given.Matches[0].TriggerID))(t)
	equal(t, "delivered", record.State)
}
