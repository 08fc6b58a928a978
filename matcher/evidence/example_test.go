package evidence_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/repositories"
)

// Find looks up the values of a model in the conversation, in any form. An invented value has no evidence.
func ExampleFind() {
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "booking", []byte(`{"tools": [
		{"name": "book", "description": "Book an appointment", "schema": [
			{"parameter": "day", "type": "string"},
			{"parameter": "people", "type": "integer"},
			{"parameter": "doctor", "type": "string"}]}]}`))
	if err != nil {
		log.Fatal(err)
	}
	request := matcher.Request{
		ID:      "m2",
		History: []matcher.Utterance{{ID: "m1", Actor: matcher.ActorUser, Text: "We are three."}},
		Text:    "Book us in for tomorrow, please",
		Now:     time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC),
	}
	values := map[string]any{"day": "2026-11-21", "people": json.Number("3"), "doctor": "Dr. Weber"}

	found := evidence.Find(request, values, repository.Tool("book"))
	for _, name := range []string{"day", "people", "doctor"} {
		if said := found[name]; said != nil {
			fmt.Printf("%s: %q in message %q\n", name, said.Words, said.MessageID)
		} else {
			fmt.Println(name + ": nobody said so")
		}
	}
	// Output:
	// day: "tomorrow" in message "m2"
	// people: "three" in message "m1"
	// doctor: nobody said so
}
