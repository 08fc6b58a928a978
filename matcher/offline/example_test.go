package offline_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"earshot/matcher"
	"earshot/matcher/offline"
	"earshot/repositories"
)

// The words decide which tool a message calls for and what its values are. A tool without all required values is
// rejected, and if the words are not certain of any tool, nothing is found.
func ExampleMatcher_Match() {
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "desk", []byte(`{"tools": [
		{"name": "request-for-appointment", "description": "User needs an appointment",
			"examples": ["I want an appointment", "book me an appointment please"],
			"schema": [{"parameter": "day", "type": "string", "required": true, "allowedValues": ["Monday", "Friday"]}]},
		{"name": "call_taxi", "description": "Call a taxi", "examples": ["I need a taxi", "get me a cab"]}]}`))
	if err != nil {
		log.Fatal(err)
	}
	request := matcher.Request{Now: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)} // base of "tomorrow"
	for i := range repository.Tools {
		request.Candidates = append(request.Candidates, matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]})
	}
	words := offline.New()
	for _, text := range []string{"I want an appointment on Friday", "an appointment please", "how is your mother?"} {
		request.Text = text
		result, err := words.Match(context.Background(), request)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d matches, %d rejected\n", text, len(result.Matches), len(result.Rejected))
		for _, match := range result.Matches {
			fmt.Println("  fire", match.Tool.Name, match.Values)
		}
		for _, rejected := range result.Rejected {
			fmt.Println("  ask for", rejected.Missing)
		}
	}
	// Output:
	// I want an appointment on Friday: 1 matches, 0 rejected
	//   fire request-for-appointment map[day:Friday]
	// an appointment please: 0 matches, 1 rejected
	//   ask for [day]
	// how is your mother?: 0 matches, 0 rejected
}
