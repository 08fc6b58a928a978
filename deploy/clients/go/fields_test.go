package earshot_test

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	earshot "earshot/deploy/clients/go"
)

// types are those of the client, by their names in /openapi.json.
var types = map[string]any{
	"App": earshot.AppDefinition{}, "Module": earshot.Module{}, "AuthService": earshot.AuthService{}, "Source": earshot.Source{}, "SourceAuth": earshot.SourceAuth{},
	"Settings": earshot.Settings{}, "Repository": earshot.Repository{}, "Options": earshot.Options{}, "Tool": earshot.Tool{}, "Request": earshot.Request{},
	"Basic": earshot.Basic{}, "Bearer": earshot.Bearer{}, "Parameter": earshot.Parameter{}, "ToolboxParameter": earshot.Parameter{}, "Claim": earshot.Claim{},
	"Answer": earshot.Answer{}, "Match": earshot.Match{}, "CallState": earshot.CallState{}, "EventState": earshot.EventState{}, "Rejected": earshot.Rejected{},
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
var beyond = map[string][]string{"Parameter": {"name"}, "ToolboxParameter": {"parameter", "ignore", "value"}}

func TestTheFieldsAreThoseOfTheService(t *testing.T) {
	service(t)
	response := got(http.Get(os.Getenv("EARSHOT_URL") + "/openapi.json"))(t)
	defer response.Body.Close()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	must(t, json.NewDecoder(response.Body).Decode(&document))
	for name, value := range types {
		here := fieldsOf(reflect.TypeOf(value))
		there := document.Components.Schemas[name].Properties
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
