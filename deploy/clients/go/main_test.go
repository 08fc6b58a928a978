package earshot_test

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	earshot "earshot/deploy/clients/go"
)

// TestMain runs the examples where there is a service, which EARSHOT_URL names: an earshot dev.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("EARSHOT_URL") == "" && flag.Lookup("test.run").Value.String() == "" {
		_ = flag.Set("test.run", "^Test")
	}
	os.Exit(m.Run())
}

// service is the one that EARSHOT_URL names, without which the test is skipped.
func service(t *testing.T) *earshot.Client {
	t.Helper()
	if os.Getenv("EARSHOT_URL") == "" {
		t.Skip("EARSHOT_URL names no service: EARSHOT_URL=http://127.0.0.1:8080 go test ./... beside an earshot dev")
	}
	return got(earshot.FromEnvironment())(t)
}

func clinic(t *testing.T, through *earshot.Client, id string) *earshot.App {
	t.Helper()
	app := through.App(id)
	t.Cleanup(func() { _ = service(t).App(id).Delete(context.Background()) }) // the one of the test has ended
	_, err := app.Put(t.Context(), earshot.AppDefinition{Name: "Clinic"})
	must(t, err)
	_, err = app.PutRepository(t.Context(), earshot.Repository{RepositoryID: "desk", Tools: []earshot.Tool{{
		Name: "book", Description: "Book an appointment", Examples: []string{"I want an appointment on Friday"},
		Parameters: []earshot.Parameter{{Name: "day", Type: "string", Description: "wished day", AllowedValues: []any{"Monday", "Friday"}}},
	}}})
	must(t, err)
	return app
}

// losing is a client behind a proxy that loses answers after the service has given them.
func losing(t *testing.T, lose func(*http.Request) bool) (*earshot.Client, *atomic.Int32) {
	service(t)
	to := got(url.Parse(os.Getenv("EARSHOT_URL")))(t)
	var seen atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(response *http.Response) error {
		if lose(response.Request) {
			seen.Add(1)
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return got(earshot.New(server.URL, earshot.WithKey(os.Getenv("EARSHOT_KEY")), earshot.WithHTTPClient(server.Client())))(t), &seen
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got is a value that comes with an error, which ends the test.
func got[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

func equal[T comparable](t *testing.T, want, got T) {
	t.Helper()
	if want != got {
		t.Fatalf("want %v\n got %v", want, got)
	}
}

// types are those of the client, by their names in /openapi.json.
var types = map[string]any{
	"App": earshot.AppDefinition{}, "Module": earshot.Module{}, "AuthService": earshot.AuthService{}, "Source": earshot.Source{}, "SourceAuth": earshot.SourceAuth{},
	"Settings": earshot.Settings{}, "Repository": earshot.Repository{}, "Options": earshot.Options{}, "Tool": earshot.Tool{}, "Request": earshot.Request{},
	"Basic": earshot.Basic{}, "Bearer": earshot.Bearer{}, "Parameter": earshot.Parameter{}, "ToolboxParameter": earshot.Parameter{}, "Claim": earshot.Claim{},
	"Answer": earshot.Answer{}, "Match": earshot.Match{}, "CallState": earshot.CallState{}, "EventState": earshot.EventState{}, "Rejected": earshot.Rejected{}, "Retracted": earshot.Retracted{},
	"Entry": earshot.Entry{}, "Record": earshot.Record{}, "Attempt": earshot.Attempt{}, "Sent": earshot.Sent{}, "Moved": earshot.Moved{}, "Retried": earshot.Retried{},
	"Session": earshot.SessionState{}, "SessionRequest": earshot.SessionDefinition{}, "OpenCall": earshot.OpenCall{}, "Message": earshot.Message{}, "Earlier": earshot.Earlier{}, "Direct": earshot.Direct{},
	"MadeKey": earshot.Key{}, "KeyRequest": earshot.KeyRequest{}, "MadeToken": earshot.Token{}, "Caller": earshot.Caller{}, "FoundTool": earshot.ScopedTool{},
	"Problem": earshot.Problem{},
}

// without are fields of the service that the client says in another way.
var without = map[string][]string{
	"Message": {"final"},                                 // Session.Draft
	"Problem": {"services"},                              // of probes, which it does not ask
	"Tool":    {"inputSchema", "input_schema", "strict"}, // Parameters
}

// beyond are fields of the client that belong to a type beside it.
var beyond = map[string][]string{"Parameter": {"name", "requiredInBody"}, "ToolboxParameter": {"parameter", "ignore", "value"}}

type schema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Enum       []string                   `json:"enum"`
}

func schemasOf(t *testing.T) map[string]schema {
	t.Helper()
	service(t)
	response := got(http.Get(os.Getenv("EARSHOT_URL") + "/openapi.json"))(t)
	defer response.Body.Close()
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	must(t, json.NewDecoder(response.Body).Decode(&document))
	return document.Components.Schemas
}

func TestTheFieldsAreThoseOfTheService(t *testing.T) {
	schemas := schemasOf(t)
	for name, value := range types {
		here := fieldsOf(reflect.TypeOf(value))
		there := schemas[name].Properties
		for field := range there {
			if !slices.Contains(here, field) && !slices.Contains(without[name], field) {
				t.Errorf("%T has no field %q, as the service's %s has", value, field, name)
			}
		}
		for _, field := range here {
			if _, known := there[field]; !known && !slices.Contains(beyond[name], field) {
				t.Errorf("%T has a field %q that the service's %s has not", value, field, name)
			}
		}
	}
}

func fieldsOf(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

type appointment struct {
	Day string `json:"day"`
}

// TestAUserAsksForAnAppointment is also the test of the TypeScript and Python clients: a call lacks a value, and gets it.
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
	equal(t, "delivered", got(app.Trigger(t.Context(), given.Matches[0].TriggerID))(t).State)
}

func TestTheCodesAreThoseOfTheService(t *testing.T) {
	there := schemasOf(t)["ProblemCode"].Enum
	source := got(os.ReadFile("codes.go"))(t)
	var here []string
	for _, code := range regexp.MustCompile(`Code = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		here = append(here, code[1])
	}
	slices.Sort(here)
	slices.Sort(there)
	equal(t, strings.Join(there, " "), strings.Join(here, " "))
}
