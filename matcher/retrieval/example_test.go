package retrieval_test

import (
	"context"
	"fmt"
	"log"

	"earshot/matcher"
	"earshot/matcher/retrieval"
	"earshot/repositories"
)

// With many tools in scope, a model is offered those nearest to the message. A session's own tools are first.
func ExampleRetriever_Offer() {
	var request matcher.Request
	register := func(scope repositories.Scope, body string) {
		repository, err := repositories.DecodeRepository(scope, "r", []byte(body))
		if err != nil {
			log.Fatal(err)
		}
		for i := range repository.Tools {
			request.Candidates = append(request.Candidates, matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]})
		}
	}
	register(repositories.Scope{AppID: "home"}, `{"tools": [
		{"name": "call-taxi", "description": "Call a taxi"},
		{"name": "get-weather", "description": "Get the weather forecast"},
		{"name": "order-coffee", "description": "Order a coffee"},
		{"name": "switch-lamp-on", "description": "Switch the lamp on"}]}`)
	register(repositories.Scope{AppID: "home", SessionID: "s1"}, `{"tools": [{"name": "undo", "description": "Undo the last step"}]}`)
	request.Text = "will the weather be fine?"

	kept := retrieval.New().Offer(context.Background(), request, 2)
	for _, candidate := range kept {
		fmt.Println("offer", candidate.Tool.Name)
	}
	// Output:
	// offer undo
	// offer get-weather
}
